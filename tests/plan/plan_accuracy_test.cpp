// SPDX-License-Identifier: MIT
// What the planner makes of an accuracy, of forced moduli and of long lines.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "num/crt_table.hpp"
#include "schemes/ozaki2/ladder.hpp"
#include "schemes/ozaki2/plan.hpp"
#include "tests/plan/plan_case.hpp"

namespace kizami::plan {
namespace {

TEST_F(PlanTest, NativeAccuracy) {
  for (const std::int64_t k : {256, 1024, 16384}) {
    for (const Scalar scalar : {Scalar::kF32, Scalar::kF64}) {
      const Result<Plan> p = plan(shape(scalar, 100, 200, k));
      ASSERT_TRUE(p.ok()) << p.status().reason();
      const ozaki2::Ozaki2Stage& stage = ozaki2::ozaki2_of(p.value());
      EXPECT_EQ(stage.scheme, Scheme::kOzaki2);
      EXPECT_EQ(stage.gauge, Gauge::kEntry);
      EXPECT_EQ(stage.bound, num::native_factor(k) * num::unit_roundoff(scalar));
      EXPECT_EQ(stage.ladder.rungs[0].num_moduli, scalar == Scalar::kF64 ? 14 : 7);
      EXPECT_EQ(stage.ladder.repair_shift, num::kNativeRepairShift);
      EXPECT_TRUE(stage.has_certificate);
      EXPECT_TRUE(stage.has_fp64);
      EXPECT_EQ(stage.fp64_summation, num::Fp64Summation::kPairwise);
      EXPECT_EQ(ozaki2::ozaki2_of(p.value()).engine, &cpu_simd) << "the first engine that does not refuse";
    }
  }
}

TEST_F(PlanTest, EveryNumberOfBitsInBothGauges) {
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64}) {
    const int max_bits = scalar == Scalar::kF64 ? 52 : 23;
    for (const Gauge gauge : {Gauge::kEntry, Gauge::kNorm}) {
      for (const std::int64_t k : {1, 100, 16384}) {
        for (int bits = 1; bits <= max_bits; ++bits) {
          Policy policy;
          policy.accuracy = Accuracy::at_bits(bits);
          policy.gauge = gauge;
          const Result<Plan> p = plan(shape(scalar, 10, 10, k), policy);
          ASSERT_TRUE(p.ok()) << p.status().reason();
          const ozaki2::Ozaki2Stage& stage = ozaki2::ozaki2_of(p.value());
          EXPECT_EQ(stage.bound, std::ldexp(1.0, -bits));
          EXPECT_EQ(stage.gauge, gauge);
          EXPECT_EQ(stage.has_certificate, gauge == Gauge::kEntry);
          EXPECT_GT(stage.ladder.num_rungs, 0);
          EXPECT_EQ(stage.has_fp64, gauge == Gauge::kEntry) << "gauge norm needs no further rung";
          // The order of the FP64 rung is the cheap one wherever its bound serves.
          const double extra = scalar == Scalar::kF32 ? num::result_rounding(scalar) : 0.0;
          const double bound = stage.fp64_summation == num::Fp64Summation::kPairwise ? num::fp64_pairwise_bound(k)
                                                                                     : num::fp64_compensated_bound(k);
          EXPECT_LE(bound + extra, stage.bound);
          EXPECT_EQ(stage.fp64_summation == num::Fp64Summation::kPairwise,
                    num::fp64_pairwise_bound(k) + extra <= stage.bound);
        }
      }
    }
    for (const int bits : {-1, 0, max_bits + 1, 53, 1000}) {
      Policy policy;
      policy.accuracy = Accuracy::at_bits(bits);
      expect_refused(
          plan(square(8, scalar), policy), StatusCode::kInvalidArgument,
          {"bits = " + std::to_string(bits), "in 1.." + std::to_string(max_bits), std::string(to_string(scalar))});
    }
  }
}

TEST_F(PlanTest, Fp64RungOnlyWhereItsBoundServesAndThePolicyAllows) {
  Policy policy;
  policy.allow_fp64_arithmetic = false;
  EXPECT_FALSE(ozaki2::ozaki2_of(plan(square(100), policy).value()).has_fp64);
  policy.allow_fp64_arithmetic = true;
  policy.accuracy = Accuracy::at_bits(52);
  policy.workspace_limit_bytes = std::size_t{1} << 40;
  EXPECT_TRUE(ozaki2::ozaki2_of(plan(shape(Scalar::kF64, 2, 2, 1 << 26), policy).value()).has_fp64);
  const Result<Plan> too_long = plan(shape(Scalar::kF64, 2, 2, std::int64_t{1} << 30), policy);  // gamma_k^2 > 2^-53
  ASSERT_TRUE(too_long.ok()) << too_long.status().reason();
  EXPECT_FALSE(ozaki2::ozaki2_of(too_long.value()).has_fp64);
}

TEST_F(PlanTest, ForcedModuli) {
  for (int n = num::kMinModuli; n <= num::kMaxRealModuli; ++n) {
    for (const Scalar scalar : {Scalar::kF32, Scalar::kF64}) {
      Policy policy;
      policy.forced_moduli = n;
      const Result<Plan> p = plan(square(300, scalar), policy);
      ASSERT_TRUE(p.ok());
      const ozaki2::Ozaki2Stage& stage = ozaki2::ozaki2_of(p.value());
      EXPECT_EQ(stage.ladder.num_rungs, 1);
      EXPECT_EQ(stage.ladder.rungs[0].num_moduli, n);
      EXPECT_EQ(stage.gauge, Gauge::kNorm);
      EXPECT_FALSE(stage.has_certificate);
      // Truncation, then the rounding of what it left.
      const double truncation = num::truncation_norm_bound(stage.ladder.rungs[0].norm_limit, 300);
      EXPECT_GE(stage.bound, truncation + num::result_rounding(scalar) * (1 + truncation));
      EXPECT_LE(stage.bound,
                (truncation + num::result_rounding(scalar) * (1 + truncation)) * num::kSlackUp * num::kSlackUp);
    }
  }
  // A count by name makes no result correctly rounded, whatever the accuracy.
  Policy correct;
  correct.forced_moduli = 14;
  correct.accuracy = Accuracy::correct();
  const Result<Plan> p = plan(square(300), correct);
  ASSERT_TRUE(p.ok());
  EXPECT_FALSE(p.value().first().is_correct);
  EXPECT_NE(explain(p.value()).find("gauge         norm"), std::string::npos) << explain(p.value());
  Policy policy;
  for (const int n : {-1, 1, 50, 1000}) {
    policy.forced_moduli = n;
    expect_refused(plan(square(8), policy), StatusCode::kInvalidArgument, {"moduli = " + std::to_string(n), "2..49"});
  }
  policy.forced_moduli = 2;
  expect_refused(plan(shape(Scalar::kF64, 8, 8, 1 << 20), policy), StatusCode::kUnsupported,
                 {"moduli = 2", "k = 1048576"});
  policy.forced_moduli = 14;
  policy.scheme = Scheme::kNative;
  expect_refused(plan(square(8), policy), StatusCode::kUnsupported, {"moduli = 14", "ozaki2", "native"});
  policy.scheme = Scheme::kAuto;
  policy.engine = EngineName::kNativeBlas;
  expect_refused(plan(square(8), policy), StatusCode::kUnsupported, {"moduli = 14", "ozaki2", "native"});
}

// 2^34 - 1 real terms are the most that sums of squares, pairwise sums and headroom have room for; complex elements
// count twice, whatever the scheme.
TEST_F(PlanTest, LinesOfMoreTermsThanCanBeCountedAreRefused) {
  constexpr std::int64_t kMost = num::kMaxLineLength / 2;
  Policy roomy;
  roomy.workspace_limit_bytes = std::size_t{1} << 40;
  for (const Scalar scalar : {Scalar::kC64, Scalar::kC128}) {
    for (const Scheme scheme : {Scheme::kAuto, Scheme::kNative, Scheme::kOzaki2, Scheme::kOzaki1, Scheme::kEc}) {
      for (const Gauge gauge : {Gauge::kEntry, Gauge::kNorm}) {
        for (const std::int64_t k : {kMost + 1, std::int64_t{9663676416}, num::kMaxLineLength}) {
          Policy policy;
          policy.scheme = scheme;
          policy.gauge = gauge;
          policy.reproducibility = Reproducibility::kNotGuaranteed;
          expect_refused(plan(shape(scalar, 1, 1, k), policy), StatusCode::kInvalidArgument,
                         {"k = " + std::to_string(k), "<= " + std::to_string(kMost), std::string(to_string(scalar))});
        }
      }
    }
    const Result<Plan> longest = plan(shape(scalar, 1, 1, kMost), roomy);
    EXPECT_TRUE(longest.ok()) << longest.status().reason();
  }
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64, Scalar::kDD}) {
    const Result<Plan> longest = plan(shape(scalar, 1, 1, num::kMaxLineLength), roomy);
    EXPECT_TRUE(longest.ok()) << longest.status().reason();
  }
}

}  // namespace
}  // namespace kizami::plan
