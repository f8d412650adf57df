// SPDX-License-Identifier: MIT
// What the engine tile for device memory refuses, and why; none of it needs a device.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "engines/hopper/hopper.hpp"
#include "engines/product_case.hpp"
#include "engines/tile/device.hpp"
#include "exec/schemes.hpp"
#include "plan/h200_facts.hpp"
#include "plan/plan.hpp"

namespace kizami::engines {
namespace {

using product::DeviceFacts;
using product::Epilogue;
using product::Offer;
using product::ProductDesc;
using product::Refusal;
using testing::ProductCase;

DeviceFacts facts_of(int compute_capability) {
  DeviceFacts facts = testing::every_feature(1);
  facts.space = product::MemorySpace::kDevice;
  facts.device = 1000;  // nobody prepares it
  facts.compute_capability = compute_capability;
  facts.num_sms = 132;
  return facts;
}

ProductDesc good_desc() { return ProductCase({.m = 32, .n = 6, .k = 70, .moduli = {256, 255}}).desc(); }

std::string refusal_of(const ProductDesc& d, const DeviceFacts& facts) {
  const auto answer = tile_device_engine().query(d, facts);
  const auto* refusal = std::get_if<Refusal>(&answer);
  return refusal != nullptr ? refusal->reason : "";
}

TEST(TileDevice, IsNamedLikeTheHostsAndReadsTheCount) {
  EXPECT_EQ(tile_device_engine().name(), "tile");
  EXPECT_EQ(tile_device_engine().space(), product::MemorySpace::kDevice);
  EXPECT_TRUE(tile_device_engine().reads_num_products());
}

TEST(TileDevice, RefusesOperandsInHostMemory) {
  EXPECT_EQ(refusal_of(good_desc(), testing::every_feature(1)), "the operands are not in device memory");
}

/// A plan for an H200 that has the engines hopper and tile.
Result<plan::Plan> plan_for(const problem::Shape& shape, Policy policy) {
  const product::Engine* const engines[] = {&hopper_engine(), &tile_device_engine()};
  plan::Environment environment;
  environment.schemes = exec::schemes();
  environment.facts = plan::h200_facts();
  environment.engines = engines;
  return plan::make(shape, policy, environment);
}
Policy tile_policy(Scheme scheme) {
  Policy policy;
  policy.scheme = scheme;
  policy.engine = EngineName::kTile;
  if (scheme == Scheme::kOzaki1) policy.gauge = Gauge::kNorm;
  return policy;
}

TEST(TileDevice, CarriesNoOtherScheme) {
  EXPECT_EQ(plan_for({Scalar::kF64, 64, 64, 64}, tile_policy(Scheme::kNative)).status().reason(),
            "engine tile carries scheme ozaki2 only, not native");
  Policy policy = tile_policy(Scheme::kEc);
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  const std::string reason = plan_for({Scalar::kF32, 64, 64, 64}, policy).status().reason();
  EXPECT_NE(reason.find("tile"), std::string::npos) << reason;
}

#if defined(KIZAMI_TEST_HAS_TILE)
TEST(TileDevice, IsPlannedWhereItIsNamedAlone) {
  for (const Scalar scalar : {Scalar::kF64, Scalar::kF32, Scalar::kC128, Scalar::kC64}) {
    for (const std::int64_t n : {1, 33, 256, 1024, 2048, 4096, 8192, 16384, 40000}) {
      for (const Scheme scheme : {Scheme::kOzaki2, Scheme::kOzaki1}) {
        Policy policy = tile_policy(scheme);
        const Result<plan::Plan> named = plan_for({scalar, n, n, n}, policy);
        ASSERT_TRUE(named.ok()) << named.status().reason();
        EXPECT_EQ(named.value().first().engine_name(), "tile");
        policy.engine = EngineName::kAuto;
        const Result<plan::Plan> chosen = plan_for({scalar, n, n, n}, policy);
        ASSERT_TRUE(chosen.ok()) << chosen.status().reason();
        EXPECT_EQ(chosen.value().first().engine_name(), "hopper") << plan::explain(chosen.value());
      }
    }
  }
}

TEST(TileDevice, IsPlannedForSlicesOfEveryFormat) {
  for (const SliceFormat format : {SliceFormat::kFp16, SliceFormat::kBf16, SliceFormat::kE4m3, SliceFormat::kE5m2}) {
    for (const std::int64_t n : {1, 33, 1000, 4096, 16384}) {
      Policy policy = tile_policy(Scheme::kOzaki1);
      policy.slices.format = format;
      policy.slices.num_slices = 7;
      const Result<plan::Plan> named = plan_for({Scalar::kF64, n, n, n}, policy);
      ASSERT_TRUE(named.ok()) << to_string(format) << ": " << named.status().reason();
      EXPECT_EQ(named.value().first().engine_name(), "tile");
      policy.engine = EngineName::kAuto;
      const Result<plan::Plan> chosen = plan_for({Scalar::kF64, n, n, n}, policy);
      ASSERT_TRUE(chosen.ok()) << chosen.status().reason();
      // Products so long that power limits them are quicker by tile kernels (docs/perf/h200_slices.md).
      const bool is_limited = n == 16384 && format == SliceFormat::kBf16;
      if (n == 16384 && !is_limited) continue;
      EXPECT_EQ(chosen.value().first().engine_name(), is_limited ? "tile" : "hopper") << plan::explain(chosen.value());
    }
  }
}

TEST(TileDevice, BringsPhasesOfItsOwnForFp64) {
  const std::string line = "split and CRT too are the engine's own";
  const auto text = [](Scalar scalar) {
    return plan::explain(plan_for({scalar, 500, 400, 300}, tile_policy(Scheme::kOzaki2)).value());
  };
  EXPECT_NE(text(Scalar::kF64).find(line), std::string::npos) << text(Scalar::kF64);
  EXPECT_EQ(text(Scalar::kF32).find(line), std::string::npos);
}

TEST(TileDevice, RefusesOtherDevices) {
  EXPECT_EQ(refusal_of(good_desc(), facts_of(90)), "");
  const std::string kind = "compute_capability = 75, must be one that the tile kernels are compiled for: ";
  EXPECT_EQ(refusal_of(good_desc(), facts_of(75)).substr(0, kind.size()), kind);
  product::DeviceFacts small = facts_of(89);  // the cubin of 8.0 takes more than there is
  small.shared_bytes = 99 << 10;
  EXPECT_NE(refusal_of(good_desc(), small).find("with 144 KB of shared memory"), std::string::npos);
  ProductDesc floats = good_desc();
  floats.format = SliceFormat::kBf16;
  for (const int other : {80, 100, 120}) {
    product::DeviceFacts facts = facts_of(other);
    facts.shared_bytes = 163 << 10;
    const std::string integers = refusal_of(good_desc(), facts);
    if (!integers.empty()) continue;  // not of this build
    EXPECT_NE(refusal_of(floats, facts).find("must be 90 for floating-point slices"), std::string::npos) << other;
  }
}

TEST(TileDevice, RefusesWhatItsKernelsCannotReach) {
  ProductDesc d = good_desc();
  d.a_row_stride = 64;
  EXPECT_NE(refusal_of(d, facts_of(90)).find("a_row_stride = 64"), std::string::npos);
  d = good_desc();
  d.c_col_stride = std::int64_t{1} << 31;
  d.c_plane_stride = 6 * d.c_col_stride;
  EXPECT_EQ(refusal_of(d, facts_of(90)), "c_col_stride = 2147483648, must be below 2^31: tile kernels index by int");
  EXPECT_EQ(tile_device_engine().run(d, Offer{}, {}, nullptr).code(), StatusCode::kInvalidArgument);
  d = good_desc();
  d.epilogue = Epilogue::kCompare;
  EXPECT_EQ(refusal_of(d, facts_of(90)), "epilogue = kCompare, which this engine does not have");
  EXPECT_EQ(tile_device_engine().run(good_desc(), Offer{}, {}, nullptr).reason(), "c is null");
}

TEST(TileDevice, TakesWindows) {
  ProductDesc d = ProductCase({.m = 32, .n = 6, .k = 256, .moduli = {256}, .epilogue = Epilogue::kStoreAcc}).desc();
  d.num_windows = 1;
  d.windows[0] = {0, 0, 0, 128, 128};
  EXPECT_EQ(refusal_of(d, facts_of(90)), "");
}
TEST(TileDevice, TakesFloatingPointWindows) {
  EXPECT_TRUE(tile_device_engine().promotes_sums());
  ProductDesc d = ProductCase({.m = 32, .n = 6, .k = 512, .moduli = {256}, .epilogue = Epilogue::kStoreAcc}).desc();
  d.num_windows = 1;
  d.windows[0] = {0, 0, 0, 128, 300};
  for (const auto& [format, exact_k] : {std::pair<SliceFormat, std::int64_t>{SliceFormat::kFp16, 64},
                                        {SliceFormat::kBf16, 256},
                                        {SliceFormat::kE4m3, 64},
                                        {SliceFormat::kE5m2, 256}}) {
    d.format = format;
    d.exact_k = exact_k;
    EXPECT_EQ(refusal_of(d, facts_of(90)), "");
    d.exact_k = 64;
    EXPECT_EQ(refusal_of(d, facts_of(90)), exact_k == 64
                                               ? ""
                                               : "exact_k = 64, must be at least 256, which the tile kernel of " +
                                                     std::string(to_string(format)) + " sums at a time");
    d.exact_k = 63;
    EXPECT_EQ(refusal_of(d, facts_of(90)), "exact_k = 63, must be a power of two and at least 64");
  }
  d.exact_k = 256;
  d.num_windows = 0;
  EXPECT_EQ(refusal_of(d, facts_of(90)), "format = e5m2 needs windows");
}
#else
TEST(TileDevice, SaysHowToGetItsCompiler) {
  const std::string reason =
      "this build has no tile kernels for devices; ./kz tile-toolchain fetches their compiler, then build again";
  EXPECT_EQ(refusal_of(good_desc(), facts_of(90)), reason);
  EXPECT_EQ(prepare_tile_device(0).reason(), reason);
  EXPECT_EQ(tile_device_engine().run(good_desc(), Offer{}, {}, nullptr).code(), StatusCode::kUnsupported);
  for (const Scheme scheme : {Scheme::kOzaki2, Scheme::kOzaki1}) {
    const Result<plan::Plan> plan = plan_for({Scalar::kF64, 64, 64, 64}, tile_policy(scheme));
    EXPECT_EQ(plan.status().code(), StatusCode::kUnsupported);
    EXPECT_NE(plan.status().reason().find("tile: " + reason), std::string::npos) << plan.status().reason();
  }
}
#endif

}  // namespace
}  // namespace kizami::engines
