// SPDX-License-Identifier: MIT
// What the engine "cublaslt" keeps of the products that it has made. That they are right is for product_test.cpp.
#include <string>
#include <variant>

#include "engines/cublaslt/cublaslt.hpp"
#include "gpu/product_on_device.hpp"

namespace kizami::engines {
namespace {

using CublasLtEngine = gpu_test::Sm90Test;

void expect_right(const CaseSpec& spec) {
  const HostProduct p(spec);
  const auto answer = cublaslt_engine().query(p.desc, sm_90_facts());
  ASSERT_TRUE(std::holds_alternative<Offer>(answer)) << std::get<Refusal>(answer).reason;
  const Offer offer = std::get<Offer>(answer);
  const DeviceArray<std::uint8_t> workspace(offer.workspace_bytes);
  DeviceProduct device(p);
  const Status status =
      cublaslt_engine().run(p.desc, offer, device.pointers(), reinterpret_cast<std::byte*>(workspace.data()), nullptr);
  ASSERT_TRUE(status.ok()) << status.reason();
  device.expect_c(expected_c(p), p.name);
}

TEST_F(CublasLtEngine, KeepsABoundedNumberOfAlgorithms) {
  // Every n and k is another call of the library.
  const auto shape = [](std::int64_t i) {
    return CaseSpec{.m = 16, .n = 1 + i % 64, .k = 64 * (1 + i / 64), .moduli = {251}};
  };
  constexpr auto kMost = static_cast<std::int64_t>(kMostAlgorithms);
  for (std::int64_t i = 0; i < kMost + 64; ++i) {
    expect_right(shape(i));
    if (HasFailure()) return;
    ASSERT_LE(num_known_algorithms(), kMostAlgorithms);
  }
  EXPECT_EQ(num_known_algorithms(), kMostAlgorithms) << "the shapes were not told apart";
  expect_right(shape(0));  // forgotten by now
  EXPECT_EQ(num_known_algorithms(), kMostAlgorithms);
}

}  // namespace
}  // namespace kizami::engines
