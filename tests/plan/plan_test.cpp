// SPDX-License-Identifier: MIT
// Decisions of the planner: ladders, bounds, refusals, chunks. No device, no data.
#include "plan/plan.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "fake_engine.hpp"
#include "num/bounds.hpp"
#include "num/crt_table.hpp"
#include "plan/buffers.hpp"
#include "plan/ladder.hpp"

namespace kizami::plan {
namespace {

class Planner : public ::testing::Test {
 protected:
  FakeEngine simd_{"cpu_simd", product::kBlockMaxI8, 1.0};
  FakeEngine ref_{"cpu_ref", product::kBlockMaxI8, 9.0};
  std::array<const product::Engine*, 2> engines_{&simd_, &ref_};
  Environment environment_{{.num_threads = 3}, engines_, true};

  Result<Plan> plan(Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k, const Policy& policy = {}) {
    return make({scalar, m, n, k}, policy, environment_);
  }
  Plan good(Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k, const Policy& policy = {}) {
    Result<Plan> made = plan(scalar, m, n, k, policy);
    EXPECT_TRUE(made.ok()) << made.status().reason();
    return made.ok() ? made.value() : Plan{};
  }
};

Policy at_bits(int bits, Gauge gauge = Gauge::kEntry) {
  Policy policy;
  policy.accuracy = Accuracy::at_bits(bits);
  policy.gauge = gauge;
  return policy;
}

TEST_F(Planner, NativeAccuracyBeginsAtFourteenAndSevenModuli) {
  for (const std::int64_t k : {256, 1000, 4096, 16384, 131072, 1 << 20}) {
    const Plan f64 = good(Scalar::kF64, 100, 100, k);
    EXPECT_EQ(f64.numerics.ladder.rungs[0].num_moduli, 14) << k;
    EXPECT_EQ(f64.numerics.ladder.num_rungs, kRungsAboveBase + 1) << k;
    EXPECT_TRUE(f64.numerics.has_certificate && f64.numerics.has_fp64 && f64.numerics.ladder.may_equilibrate);
    EXPECT_EQ(f64.numerics.bound, num::native_factor(k) * 0x1p-53);
    EXPECT_EQ(good(Scalar::kF32, 100, 100, k).numerics.ladder.rungs[0].num_moduli, 7) << k;
  }
}

TEST_F(Planner, LaddersClimbByOneAndNeverLoseAllowance) {
  for (const std::int64_t k : {1, 2, 8, 100, 4096, 1 << 24}) {
    for (int bits = 1; bits <= 52; ++bits) {
      const Plan p = good(Scalar::kF64, 10, 10, k, at_bits(bits));
      const num::Ladder& ladder = p.numerics.ladder;
      for (int r = 1; r < ladder.num_rungs; ++r) {
        EXPECT_EQ(ladder.rungs[r].num_moduli, ladder.rungs[r - 1].num_moduli + 1);
        EXPECT_GT(ladder.rungs[r].allowance, ladder.rungs[r - 1].allowance);
        EXPECT_LE(ladder.rungs[r].num_moduli, num::kMaxModuli);
      }
      EXPECT_EQ(p.numerics.bound, std::ldexp(1.0, -bits));
    }
  }
}

TEST_F(Planner, MoreBitsNeverTakeFewerModuli) {
  for (const Gauge gauge : {Gauge::kEntry, Gauge::kNorm}) {
    for (const Scalar scalar : {Scalar::kF64, Scalar::kF32}) {
      int previous = 0;
      for (int bits = 1; bits <= num::significand_bits_guaranteed(scalar); ++bits) {
        const Plan p = good(scalar, 10, 10, 1024, at_bits(bits, gauge));
        EXPECT_GE(p.numerics.ladder.rungs[0].num_moduli, previous) << bits;
        previous = p.numerics.ladder.rungs[0].num_moduli;
      }
    }
  }
}

TEST_F(Planner, NormGaugeMeetsItsBoundWithoutData) {
  for (const Scalar scalar : {Scalar::kF64, Scalar::kF32}) {
    for (int bits = 1; bits <= num::significand_bits_guaranteed(scalar); ++bits) {
      for (const std::int64_t k : {1, 300, 16384, 1 << 22}) {
        const Plan p = good(scalar, 10, 10, k, at_bits(bits, Gauge::kNorm));
        ASSERT_EQ(p.numerics.ladder.num_rungs, 1);
        EXPECT_FALSE(p.numerics.has_certificate);
        const num::Rung& rung = p.numerics.ladder.rungs[0];
        const double truncation = num::truncation_norm_bound(rung.norm_limit, k);
        EXPECT_LE(truncation + (1.0 + truncation) * num::result_rounding(scalar), p.numerics.bound);
        if (rung.num_moduli > num::kMinModuli && has_rung(rung.num_moduli - 1, k)) {
          const double weaker = num::truncation_norm_bound(make_rung(rung.num_moduli - 1, k, 0.0).norm_limit, k);
          EXPECT_GT(weaker, num::truncation_budget(p.numerics.bound, scalar)) << "one modulus fewer would do";
        }
      }
    }
  }
}

TEST_F(Planner, Fp64RungIsOnlyOfferedWhereItsBoundSuffices) {
  for (const std::int64_t k : {1, 8, 127, 128, 129, 256, 257, 1000, 16384, 1 << 24}) {
    const Plan native = good(Scalar::kF64, 10, 10, k);
    EXPECT_TRUE(native.numerics.has_fp64) << k;
    EXPECT_EQ(native.numerics.fp64_summation, num::Fp64Summation::kPairwise) << k;
    EXPECT_LE(num::fp64_pairwise_bound(k), native.numerics.bound);
    const Plan strict = good(Scalar::kF64, 10, 10, k, at_bits(52));
    if (strict.numerics.has_fp64 && strict.numerics.fp64_summation == num::Fp64Summation::kPairwise) {
      EXPECT_LE(num::fp64_pairwise_bound(k), 0x1p-52);
    }
    if (strict.numerics.has_fp64 && strict.numerics.fp64_summation == num::Fp64Summation::kCompensated) {
      EXPECT_LE(num::fp64_compensated_bound(k), 0x1p-52);
    }
  }
}

TEST_F(Planner, ForcedNativeIsHonouredInBlocksOrRefused) {
  Policy policy;
  policy.scheme = Scheme::kNative;
  for (const std::int64_t k : {1, 100, 256, 257, 300, 1000, 16384, 1 << 20}) {
    const Plan p = good(Scalar::kF64, 10, 10, k, policy);
    EXPECT_EQ(p.numerics.scheme, Scheme::kNative);
    EXPECT_LE(num::native_blas_bound(k, p.schedule.native_k_block, 0x1p-53), num::native_factor(k) * 0x1p-53) << k;
  }
  policy.accuracy = Accuracy::at_bits(52);
  const Result<Plan> refused = plan(Scalar::kF64, 10, 10, 1000, policy);
  EXPECT_EQ(refused.status().code(), StatusCode::kAccuracyUnreachable);
  EXPECT_NE(refused.status().reason().find("k = 1000"), std::string::npos);
}

TEST_F(Planner, ReproducibilityKeepsThePlatformBlasOut) {
  Policy policy;
  EXPECT_EQ(good(Scalar::kF64, 10, 10, 100, policy).numerics.scheme, Scheme::kOzaki2);
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  EXPECT_EQ(good(Scalar::kF64, 10, 10, 100, policy).numerics.scheme, Scheme::kNative);
  policy.engine = EngineName::kCpuRef;
  EXPECT_EQ(good(Scalar::kF64, 10, 10, 100, policy).numerics.scheme, Scheme::kOzaki2);
  policy.engine = EngineName::kAuto;
  policy.accuracy = Accuracy::at_bits(50);
  EXPECT_EQ(good(Scalar::kF64, 10, 10, 1000, policy).numerics.scheme, Scheme::kOzaki2)
      << "native cannot guarantee 2^-50";
  environment_.has_native_blas = false;
  policy.accuracy = Accuracy::native();
  EXPECT_EQ(good(Scalar::kF64, 10, 10, 100, policy).numerics.scheme, Scheme::kOzaki2);
}

TEST_F(Planner, SchemesAndEnginesThatDoNotGoTogetherAreRefused) {
  Policy policy;
  policy.scheme = Scheme::kNative;
  policy.engine = EngineName::kCpuSimd;
  EXPECT_EQ(plan(Scalar::kF64, 1, 1, 1, policy).status().code(), StatusCode::kUnsupported);
  policy.scheme = Scheme::kOzaki2;
  policy.engine = EngineName::kNativeBlas;
  EXPECT_EQ(plan(Scalar::kF64, 1, 1, 1, policy).status().code(), StatusCode::kUnsupported);
  policy.engine = EngineName::kAuto;
  policy.scheme = Scheme::kNative;
  policy.forced_moduli = 14;
  EXPECT_EQ(plan(Scalar::kF64, 1, 1, 1, policy).status().code(), StatusCode::kUnsupported);
}

TEST_F(Planner, EnginesAreTakenInOrderAndRefusalsAreKept) {
  EXPECT_EQ(good(Scalar::kF64, 10, 10, 10).schedule.engine, &simd_);
  Policy policy;
  policy.engine = EngineName::kCpuRef;
  EXPECT_EQ(good(Scalar::kF64, 10, 10, 10, policy).schedule.engine, &ref_);

  const FakeEngine narrow{"cpu_simd", 32, 1.0};
  engines_[0] = &narrow;
  const Plan p = good(Scalar::kF64, 10, 10, 100);
  EXPECT_EQ(p.schedule.engine, &ref_);
  EXPECT_NE(explain(p).find("cpu_simd: k = 100, must be <= 32"), std::string::npos);
  policy.engine = EngineName::kCpuSimd;
  const Result<Plan> refused = plan(Scalar::kF64, 10, 10, 100, policy);
  EXPECT_EQ(refused.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(refused.status().reason().find("must be <= 32"), std::string::npos);
}

TEST_F(Planner, PolicyValuesOutOfRangeNameTheLimit) {
  const auto reason = [&](Scalar scalar, const Policy& policy) {
    return plan(scalar, 1, 1, 1, policy).status().reason();
  };
  EXPECT_EQ(reason(Scalar::kF64, at_bits(53)), "bits = 53, must be in 1..52 for f64");
  EXPECT_EQ(reason(Scalar::kF64, at_bits(0)), "bits = 0, must be in 1..52 for f64");
  EXPECT_EQ(reason(Scalar::kF32, at_bits(24)), "bits = 24, must be in 1..23 for f32");
  Policy policy;
  policy.threads = -1;
  EXPECT_EQ(reason(Scalar::kF64, policy), "threads = -1, must be >= 0");
  policy.threads = 0;
  policy.forced_moduli = 29;
  EXPECT_EQ(reason(Scalar::kF64, policy), "moduli = 29, must be 0 or in 2..28");
}

TEST_F(Planner, SixtyFourMebibytesSuffice) {
  Policy policy;
  policy.workspace_limit_bytes = std::size_t{64} << 20;
  for (const Scalar scalar : {Scalar::kF64, Scalar::kF32}) {
    for (const int bits : {0, 8, 20}) {
      policy.accuracy = bits == 0 ? Accuracy::native() : Accuracy::at_bits(bits);
      const Plan p = good(scalar, 16384, 16384, 16384, policy);
      EXPECT_LE(p.schedule.workspace_bytes, policy.workspace_limit_bytes);
      EXPECT_GE(p.schedule.chunk.mc, 64);
      EXPECT_EQ(p.schedule.chunk.kc % 64, 0);
    }
  }
}

TEST_F(Planner, TooSmallALimitNamesTheLeast) {
  Policy policy;
  policy.workspace_limit_bytes = 1000;
  const Result<Plan> refused = plan(Scalar::kF64, 100, 100, 100, policy);
  ASSERT_EQ(refused.status().code(), StatusCode::kWorkspaceTooSmall);
  const std::string& reason = refused.status().reason();
  const std::size_t position = reason.find("must be >= ");
  ASSERT_NE(position, std::string::npos) << reason;
  policy.workspace_limit_bytes = std::stoull(reason.substr(position + 11));
  EXPECT_LE(good(Scalar::kF64, 100, 100, 100, policy).schedule.workspace_bytes, policy.workspace_limit_bytes);
  --policy.workspace_limit_bytes;
  EXPECT_FALSE(plan(Scalar::kF64, 100, 100, 100, policy).ok()) << "the least is the least";
}

TEST_F(Planner, CarvingTakesWhatWasBookedInDisjointAlignedPieces) {
  const Plan p = good(Scalar::kF64, 70, 50, 300);
  std::vector<std::byte> memory(p.schedule.workspace_bytes + 64);
  auto* start = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
  base::Carver carver(start);
  const Buffers b = carve(carver, p);
  EXPECT_EQ(carver.bytes(), p.schedule.workspace_bytes);
  const std::array<const void*, 12> pieces{b.a.stats,        b.a.scales,      b.a.weights,     b.a.equilibrated,
                                           b.a.inner_shift,  b.b.stats,       b.b.scales,      b.b.weights,
                                           b.b.equilibrated, b.b.inner_shift, b.main.a_planes, b.main.b_planes};
  const std::byte* previous = nullptr;
  for (const void* piece : pieces) {
    const auto* address = static_cast<const std::byte*>(piece);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(address) % 64, 0U);
    EXPECT_GT(address, previous);
    EXPECT_LE(address, start + p.schedule.workspace_bytes);
    previous = address;
  }
  EXPECT_EQ(static_cast<const void*>(b.certificate.a_digits), static_cast<const void*>(b.main.a_planes))
      << "shared memory";
}

TEST_F(Planner, NumericsHashIgnoresTheSchedule) {
  Policy policy;
  const std::uint64_t hash = numerics_hash(good(Scalar::kF64, 1000, 900, 800, policy));
  policy.threads = 7;
  policy.workspace_limit_bytes = std::size_t{16} << 20;
  policy.engine = EngineName::kCpuRef;
  EXPECT_EQ(numerics_hash(good(Scalar::kF64, 1000, 900, 800, policy)), hash);
  EXPECT_EQ(numerics_hash(good(Scalar::kF64, 10, 9, 800, policy)), hash) << "m and n do not matter";
  EXPECT_NE(numerics_hash(good(Scalar::kF64, 1000, 900, 801, policy)), hash);
  EXPECT_NE(numerics_hash(good(Scalar::kF32, 1000, 900, 800, policy)), hash);
  policy.gauge = Gauge::kNorm;
  EXPECT_NE(numerics_hash(good(Scalar::kF64, 1000, 900, 800, policy)), hash);
  policy.gauge = Gauge::kEntry;
  policy.accuracy = Accuracy::at_bits(30);
  EXPECT_NE(numerics_hash(good(Scalar::kF64, 1000, 900, 800, policy)), hash);
  policy.accuracy = Accuracy::native();
  policy.allow_fp64_arithmetic = false;
  EXPECT_NE(numerics_hash(good(Scalar::kF64, 1000, 900, 800, policy)), hash);
}

TEST_F(Planner, ExplainSaysEverything) {
  const std::string text = explain(good(Scalar::kF64, 1000, 900, 200000));
  for (const char* word : {"f64", "m = 1000", "n = 900", "k = 200000", "ozaki2", "14, 15", "bound", "|A||B|", "entry",
                           "k blocks", "131072", "cpu_simd", "refused", "native", "workspace", "threads"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word << " is missing in\n" << text;
  }
}

TEST_F(Planner, EmptyShapesArePlanned) {
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{0, 5, 5}, {5, 0, 5}, {5, 5, 0}, {0, 0, 0}}) {
    EXPECT_TRUE(plan(Scalar::kF64, m, n, k).ok());
  }
}

}  // namespace
}  // namespace kizami::plan
