// SPDX-License-Identifier: MIT
// What engine hopper refuses of floating-point windows, and why; none of it needs a device.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "engines/hopper/hopper.hpp"
#include "engines/product_case.hpp"
#include "plan/h200_facts.hpp"

namespace kizami::engines {
namespace {

std::string refusal_of(const product::ProductDesc& d) {
  const auto answer = hopper_engine().query(d, plan::h200_facts());
  const auto* refusal = std::get_if<product::Refusal>(&answer);
  EXPECT_FALSE(hopper_engine().needs_workspace());
  EXPECT_TRUE(refusal != nullptr || std::get<product::Offer>(answer).workspace_bytes == 0);
  return refusal != nullptr ? refusal->reason : "";
}

TEST(HopperQuery, TakesFloatingPointWindowsWhoseSumsItsKernelsMake) {
  EXPECT_TRUE(hopper_engine().promotes_sums());
  product::ProductDesc d =
      testing::ProductCase({.m = 32, .n = 6, .k = 512, .moduli = {256}, .epilogue = product::Epilogue::kStoreAcc})
          .desc();
  d.num_windows = 1;
  d.windows[0] = {0, 0, 0, 128, 300};
  // The least sums: one stage of 128 bytes of k, of E4M3 half of one.
  for (const auto& [format, least] : {std::pair<SliceFormat, std::int64_t>{SliceFormat::kFp16, 64},
                                      {SliceFormat::kBf16, 64},
                                      {SliceFormat::kE4m3, 64},
                                      {SliceFormat::kE5m2, 128}}) {
    d.format = format;
    for (const std::int64_t exact_k : {64, 128, 256, 65536}) {
      d.exact_k = exact_k;
      EXPECT_EQ(refusal_of(d),
                exact_k >= least ? "" : "exact_k = 64, must be at least 128 for e5m2, which the kernel sums at a time");
    }
    d.exact_k = 96;
    EXPECT_EQ(refusal_of(d), "exact_k = 96, must be a power of two and at least 64");
  }
}

TEST(HopperQuery, TakesModuliThatItHasConstantsFor) {
  for (const auto& [modulus, reason] : {std::pair<std::int16_t, const char*>{256, ""},
                                        {3, ""},
                                        {2, "moduli[1] = 2, must be 256 or odd for this engine"},
                                        {254, "moduli[1] = 254, must be 256 or odd for this engine"},
                                        {257, "moduli[1] = 257, must be in 2..256"}}) {
    for (const auto epilogue : {product::Epilogue::kReduce, product::Epilogue::kReduceAdd}) {
      product::ProductDesc d =
          testing::ProductCase({.m = 32, .n = 6, .k = 512, .moduli = {256, 255}, .epilogue = epilogue}).desc();
      d.moduli[1] = modulus;
      EXPECT_EQ(refusal_of(d), reason);
    }
  }
}

}  // namespace
}  // namespace kizami::engines
