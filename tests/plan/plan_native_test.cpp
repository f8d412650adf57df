// SPDX-License-Identifier: MIT
// Where the planner takes the platform's BLAS, and where it refuses it.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "schemes/native/stage.hpp"
#include "schemes/ozaki2/plan.hpp"
#include "tests/plan/plan_case.hpp"

namespace kizami::plan {
namespace {

TEST_F(PlanTest, NativeIsRefusedWithItsBoundWhereItCannotServe) {
  Policy policy;
  policy.scheme = Scheme::kNative;
  policy.accuracy = Accuracy::at_bits(52);
  expect_refused(plan(square(1000), policy), StatusCode::kAccuracyUnreachable, {"native", "k = 1000", "2.22e-16"});
  policy.engine = EngineName::kNativeBlas;
  expect_refused(plan(square(1000), policy), StatusCode::kAccuracyUnreachable, {"native"});
  EXPECT_TRUE(cpu_simd.asked.empty()) << "no fallback to what was not asked for";
  policy.accuracy = Accuracy::at_bits(40);
  EXPECT_TRUE(plan(square(1000), policy).ok());
}

TEST_F(PlanTest, NativeBlocksAreTheLargestWithinTheTarget) {
  Policy policy;
  policy.scheme = Scheme::kNative;
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64}) {
    for (const std::int64_t k : {0, 1, 8, 255, 256, 257, 1000, 5000, 100000}) {
      const Result<Plan> p = plan(shape(scalar, 9, 9, k), policy);
      ASSERT_TRUE(p.ok()) << p.status().reason();
      const double u = num::unit_roundoff(scalar);
      const double target = num::target_bound(policy.accuracy, scalar, std::max<std::int64_t>(k, 1));
      const std::int64_t block = native::native_of(p.value()).k_block;
      EXPECT_EQ(p.value().first().scheme, Scheme::kNative);
      EXPECT_EQ(p.value().first().bound, num::native_blas_bound(k, block, u));
      EXPECT_LE(p.value().first().bound, target);
      if (block < k) {
        EXPECT_GT(num::native_blas_bound(k, k, u), target) << "in one block if possible";
      }
      EXPECT_EQ(ozaki2::ozaki2_of(p.value()).engine, nullptr);
      EXPECT_EQ(p.value().schedule.workspace_bytes, 0U);
    }
  }
}

/// In blocks of 128, 2^31 - 2^14 terms of FP32 make 2^24 roundings of 2^-24: no bound, whatever the scheme is called.
TEST_F(PlanTest, NativeIsRefusedWhereItsBoundEnds) {
  constexpr std::int64_t kEnd = (std::int64_t{1} << 31) - (std::int64_t{1} << 14);
  Policy native;
  native.scheme = Scheme::kNative;
  for (const std::int64_t k : {kEnd, kEnd + 1, std::int64_t{1} << 31, num::kMaxLineLength / 2}) {
    for (const Scalar scalar : {Scalar::kF32, Scalar::kC64}) {
      expect_refused(plan(shape(scalar, 1, 1, k), native), StatusCode::kAccuracyUnreachable,
                     {"native", "k = " + std::to_string(k)});
      Policy any;
      any.reproducibility = Reproducibility::kNotGuaranteed;
      any.workspace_limit_bytes = std::size_t{1} << 40;
      const Result<Plan> p = plan(shape(scalar, 1, 1, k), any);
      ASSERT_TRUE(p.ok()) << p.status().reason();
      EXPECT_NE(p.value().first().scheme, Scheme::kNative);
      EXPECT_GT(p.value().first().bound, 0.0);
    }
  }
}

TEST_F(PlanTest, AutoTakesNativeOnlyIfAllowedAndFaster) {
  Policy policy;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  FakeEngine slow("cpu_simd", offering(1e9));
  FakeEngine quick("cpu_simd", offering(0.0));
  const Result<Plan> native = make(square(500), policy, FakeMachine({&slow}).environment());
  ASSERT_TRUE(native.ok());
  EXPECT_EQ(native.value().first().scheme, Scheme::kNative);
  expect_mentions(native.value().refusals, "ozaki2: predicted");
  const Result<Plan> ozaki = make(square(10000), policy, FakeMachine({&quick}).environment());
  EXPECT_EQ(ozaki.value().first().scheme, Scheme::kOzaki2);
  EXPECT_EQ(make(square(100), policy, FakeMachine({&quick}).environment()).value().first().scheme, Scheme::kNative)
      << "splitting and CRT cost more than a small product";
  const Result<Plan> reproducible = make(square(500), Policy{}, FakeMachine({&slow}).environment());
  EXPECT_EQ(reproducible.value().first().scheme, Scheme::kOzaki2);
  expect_mentions(reproducible.value().refusals, "native: its bits depend");
  const Result<Plan> without_blas = make(square(500), policy, FakeMachine({&slow}, false).environment());
  EXPECT_EQ(without_blas.value().first().scheme, Scheme::kOzaki2);
  expect_mentions(without_blas.value().refusals, "no BLAS");
  policy.accuracy = Accuracy::at_bits(50);
  const Result<Plan> exact = make(square(500), policy, FakeMachine({&slow}).environment());
  EXPECT_EQ(exact.value().first().scheme, Scheme::kOzaki2);
  expect_mentions(exact.value().refusals, "scheme native: guarantees");
  policy = Policy{};
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  policy.engine = EngineName::kCpuSimd;
  EXPECT_EQ(make(square(500), policy, FakeMachine({&slow}).environment()).value().first().scheme, Scheme::kOzaki2);
  policy.engine = EngineName::kAuto;
  policy.forced_moduli = 10;
  EXPECT_EQ(make(square(500), policy, FakeMachine({&slow}).environment()).value().first().scheme, Scheme::kOzaki2);
}

TEST_F(PlanTest, AutoFallsBackToNativeOnlyWithTheReason) {
  Policy policy;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  FakeEngine none("cpu_simd", refusing("out of order"));
  const Result<Plan> p = make(square(500), policy, FakeMachine({&none}).environment());
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(p.value().first().scheme, Scheme::kNative);
  expect_mentions(p.value().refusals, "cpu_simd: out of order");
  expect_refused(make(square(500), Policy{}, FakeMachine({&none}).environment()), StatusCode::kUnsupported,
                 {"cpu_simd: out of order"});
}

// Behind scheme native stands ozaki2, for operands whose terms may overflow or underflow; whoever names native has
// none.
TEST_F(PlanTest, NativeByChoiceHasOzaki2Behind) {
  Policy policy;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  const FakeEngine slow("cpu_simd", offering(1e9));
  const Plan native = make(square(500), policy, FakeMachine({&slow}).environment()).value();
  ASSERT_EQ(native.first().scheme, Scheme::kNative);
  ASSERT_EQ(native.stages.size(), 2U);
  EXPECT_EQ(native.stages[1]->scheme, Scheme::kOzaki2);
  EXPECT_LE(native.stages[1]->bound, num::target_bound(policy.accuracy, Scalar::kF64, 500));
  Policy alone = policy;
  alone.scheme = Scheme::kOzaki2;
  const Plan ozaki2 = make(square(500), alone, FakeMachine({&slow}).environment()).value();
  EXPECT_EQ(native.schedule.workspace_bytes, ozaki2.schedule.workspace_bytes);
  policy.scheme = Scheme::kNative;
  EXPECT_EQ(make(square(500), policy, FakeMachine({&slow}).environment()).value().stages.size(), 1U);
  policy.scheme = Scheme::kAuto;
  const FakeEngine none("cpu_simd", refusing("out of order"));
  EXPECT_EQ(make(square(500), policy, FakeMachine({&none}).environment()).value().stages.size(), 1U);
}

TEST_F(PlanTest, NativeWithoutABlas) {
  Policy policy;
  policy.scheme = Scheme::kNative;
  expect_refused(make(square(5), policy, FakeMachine({&cpu_ref}, false).environment()), StatusCode::kUnsupported,
                 {"native", "no BLAS"});
}

}  // namespace
}  // namespace kizami::plan
