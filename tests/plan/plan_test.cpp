// SPDX-License-Identifier: MIT
// The planner, with engines that only say yes or no: what is chosen, what is refused, and with which words.
#include "plan/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "engines/cpu_ref/cpu_ref.hpp"
#include "num/crt_table.hpp"
#include "schemes/native/stage.hpp"
#include "schemes/ozaki2/buffers.hpp"
#include "schemes/ozaki2/ladder.hpp"
#include "schemes/ozaki2/plan.hpp"
#include "tests/plan/fake_engine.hpp"

namespace kizami::plan {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

problem::Shape shape(Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k) { return {scalar, m, n, k}; }
problem::Shape square(std::int64_t n, Scalar scalar = Scalar::kF64) { return shape(scalar, n, n, n); }

void expect_refused(const Result<Plan>& result, StatusCode code, const std::vector<std::string>& parts) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(to_string(result.status().code()), to_string(code)) << result.status().reason();
  for (const std::string& part : parts) {
    EXPECT_NE(result.status().reason().find(part), std::string::npos)
        << '"' << result.status().reason() << "\" lacks \"" << part << '"';
  }
}
void expect_mentions(const std::vector<std::string>& refusals, const std::string& part) {
  EXPECT_TRUE(std::any_of(refusals.begin(), refusals.end(),
                          [&](const std::string& r) { return r.find(part) != std::string::npos; }))
      << "no refusal says " << part;
}

class PlanTest : public testing::Test {
 protected:
  FakeEngine cpu_simd{"cpu_simd"};
  FakeEngine cpu_ref{"cpu_ref"};
  FakeMachine machine{{&cpu_simd, &cpu_ref}};

  [[nodiscard]] Result<Plan> plan(const problem::Shape& s, const Policy& policy = {}) const {
    return make(s, policy, machine.environment());
  }
};

// ---- accuracy -------------------------------------------------------------------------------------------------------

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

// ---- forced moduli --------------------------------------------------------------------------------------------------

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

// ---- longest lines --------------------------------------------------------------------------------------------------

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

// ---- native ---------------------------------------------------------------------------------------------------------

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

// ---- workspace ------------------------------------------------------------------------------------------------------

// The default limit is a limit: plans of any shape stay within it, or are refused with what they would need.
TEST_F(PlanTest, TheDefaultLimitIsKeptOrNamed) {
  std::int64_t num_refused = 0;
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64, Scalar::kC128, Scalar::kDD}) {
    for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{1, 1, 100},
                                                                          {20000, 20000, 20000},
                                                                          {1, 1, 50000000},
                                                                          {1, 1, 200000000},
                                                                          {1 << 28, 1, 1},
                                                                          {1, 3000000000, 2},
                                                                          {100000, 100000, 1000000},
                                                                          {1, 1, num::kMaxLineLength / 2}}) {
      for (const Scheme scheme : {Scheme::kAuto, Scheme::kOzaki2, Scheme::kOzaki1}) {
        if (scheme == Scheme::kOzaki1 && scalar == Scalar::kDD) continue;
        Policy policy;
        policy.scheme = scheme;
        const Result<Plan> p = plan(shape(scalar, m, n, k), policy);
        if (p.ok()) {
          EXPECT_LE(p.value().schedule.workspace_bytes, kDefaultWorkspaceLimit) << m << " x " << n << " x " << k;
          continue;
        }
        ++num_refused;
        expect_refused(p, StatusCode::kWorkspaceTooSmall,
                       {"workspace limit = 1073741824 bytes (the default)", "must be >= "});
        const std::string reason = p.status().reason();
        policy.workspace_limit_bytes = std::stoull(reason.substr(reason.find(">= ") + 3));
        EXPECT_GT(policy.workspace_limit_bytes, kDefaultWorkspaceLimit);
        const Result<Plan> granted = plan(shape(scalar, m, n, k), policy);
        ASSERT_TRUE(granted.ok()) << granted.status().reason();
        EXPECT_LE(granted.value().schedule.workspace_bytes, policy.workspace_limit_bytes);
      }
    }
  }
  EXPECT_GT(num_refused, 0);
}

// What the prediction leaves out is named: the last rung answers all where exponents span all of FP64.
TEST_F(PlanTest, NamesTheTimeOfTheLastRung) {
  const auto seconds = [&](Scalar scalar, Accuracy accuracy) {
    Policy policy;
    policy.accuracy = accuracy;
    policy.threads = 1;
    const Result<Plan> p = plan(square(1000, scalar), policy);
    EXPECT_TRUE(p.ok()) << p.status().reason();
    const std::string text = explain(p.value());
    const std::size_t at = text.find("; at most ");
    EXPECT_NE(at, std::string::npos) << text;
    EXPECT_NE(text.find(" s, where it answers all", at), std::string::npos) << text;
    return at == std::string::npos ? 0.0 : std::stod(text.substr(at + 10));
  };
  const double pairwise = seconds(Scalar::kF64, Accuracy::native());
  const double compensated = seconds(Scalar::kF64, Accuracy::at_bits(52));
  EXPECT_GT(pairwise, 0);
  EXPECT_GT(compensated, pairwise);
  EXPECT_DOUBLE_EQ(seconds(Scalar::kC128, Accuracy::native()), 4 * pairwise) << "four real products";
}

// Threads that take longer to wake than a small product takes are neither used nor predicted with.
TEST_F(PlanTest, SmallProductsAreForOneThread) {
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128, Scalar::kDD}) {
    Policy policy;
    if (scalar == Scalar::kDD) policy.accuracy = Accuracy::at_bits(80);
    for (const std::int64_t n : {1, 4, 8, 1000}) {
      const auto planned = [&](int threads) {
        policy.threads = threads;
        return plan(square(n, scalar), policy);
      };
      const Result<Plan> one = planned(1);
      const Result<Plan> eight = planned(8);
      ASSERT_TRUE(one.ok() && eight.ok()) << one.status().reason() << eight.status().reason();
      EXPECT_EQ(ozaki2::useful_threads(one.value()), 1);
      EXPECT_EQ(ozaki2::useful_threads(eight.value()), n == 1000 ? 8 : 1) << "n = " << n;
      if (n == 1000) {
        EXPECT_LT(eight.value().schedule.seconds, one.value().schedule.seconds);
      } else {
        EXPECT_EQ(eight.value().schedule.seconds, one.value().schedule.seconds) << "n = " << n;
      }
    }
  }
}

// A call carves its workspace again; what engines ask for is known by then.
TEST_F(PlanTest, CarvingAPlanAsksNoEngineAgain) {
  for (const Scheme scheme : {Scheme::kOzaki2, Scheme::kOzaki1}) {
    Policy policy;
    policy.scheme = scheme;
    const FakeEngine engine("cpu_simd", offering(1e-3, 12345));
    const Result<Plan> p = make(square(300), policy, FakeMachine({&engine}).environment());
    ASSERT_TRUE(p.ok()) << p.status().reason();
    EXPECT_GT(engine.asked.size(), 0U);
    engine.asked.clear();
    base::Carver counter;
    static_cast<void>(ozaki2::carve(counter, p.value()));
    EXPECT_EQ(engine.asked.size(), 0U) << to_string(scheme);
    EXPECT_EQ(counter.bytes(), p.value().schedule.workspace_bytes);
  }
}

// ---- engines --------------------------------------------------------------------------------------------------------

TEST_F(PlanTest, EngineAndSchemeMustGoTogether) {
  Policy policy;
  policy.scheme = Scheme::kNative;
  for (const EngineName engine : {EngineName::kCpuRef, EngineName::kCpuSimd}) {
    policy.engine = engine;
    expect_refused(plan(square(5), policy), StatusCode::kUnsupported,
                   {std::string(to_string(engine)), "ozaki2", "native"});
  }
  policy.scheme = Scheme::kOzaki2;
  policy.engine = EngineName::kNativeBlas;
  expect_refused(plan(square(5), policy), StatusCode::kUnsupported, {"native_blas", "native", "ozaki2"});
  policy.scheme = Scheme::kAuto;
  EXPECT_EQ(plan(square(5), policy).value().first().scheme, Scheme::kNative);
}

TEST_F(PlanTest, ForcedEngineIsHonouredOrRefused) {
  Policy policy;
  policy.engine = EngineName::kCpuRef;
  EXPECT_EQ(ozaki2::ozaki2_of(plan(square(100), policy).value()).engine, &cpu_ref);
  EXPECT_TRUE(cpu_simd.asked.empty());
  FakeEngine refuses("cpu_ref", refusing("not today"));
  expect_refused(make(square(100), policy, FakeMachine({&cpu_simd, &refuses}).environment()), StatusCode::kUnsupported,
                 {"cpu_ref", "not today"});
  expect_refused(make(square(100), policy, FakeMachine({&cpu_simd}).environment()), StatusCode::kUnsupported,
                 {"cpu_ref"});
  expect_refused(make(square(100), Policy{}, FakeMachine({}).environment()), StatusCode::kUnsupported, {"no engine"});
}

TEST_F(PlanTest, NextEngineAfterARefusal) {
  FakeEngine refuses("cpu_simd", refusing("needs AVX-1024"));
  const Result<Plan> p = make(square(100), Policy{}, FakeMachine({&refuses, &cpu_ref}).environment());
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(ozaki2::ozaki2_of(p.value()).engine, &cpu_ref);
  expect_mentions(p.value().refusals, "cpu_simd: needs AVX-1024");
}

/// An engine is asked about everything the plan may launch, not only about the first rung.
TEST_F(PlanTest, EngineMustCarryAllThatMayBeLaunched) {
  const auto refusing_if = [](const auto& predicate, const char* reason) {
    return [=](const product::ProductDesc& d) {
      return predicate(d) ? FakeEngine::Answer(product::Refusal{reason}) : FakeEngine::Answer(product::Offer{});
    };
  };
  const std::vector<FakeEngine::Query> queries = {
      refusing_if([](const product::ProductDesc& d) { return d.epilogue == product::Epilogue::kStoreAcc; },
                  "what the test refuses"),
      refusing_if([](const product::ProductDesc& d) { return d.epilogue == product::Epilogue::kReduceAdd; },
                  "what the test refuses"),
      refusing_if([](const product::ProductDesc& d) { return d.num_products > 20; }, "what the test refuses"),
      refusing_if(
          [](const product::ProductDesc& d) {
            return d.epilogue == product::Epilogue::kStoreAcc && d.num_products > 1;
          },
          "what the test refuses"),
  };
  for (const auto& query : queries) {
    FakeEngine partial("cpu_simd", query);
    const Result<Plan> p =
        make(shape(Scalar::kF64, 300, 300, 300000), Policy{}, FakeMachine({&partial, &cpu_ref}).environment());
    ASSERT_TRUE(p.ok()) << p.status().reason();
    EXPECT_EQ(ozaki2::ozaki2_of(p.value()).engine, &cpu_ref);
    expect_mentions(p.value().refusals, "what the test refuses");
  }
}

TEST_F(PlanTest, ThreadsComeFromThePolicyOrTheMachine) {
  Policy policy;
  EXPECT_EQ(plan(square(100), policy).value().schedule.facts.num_threads, 4);
  policy.threads = 7;
  EXPECT_EQ(plan(square(100), policy).value().schedule.facts.num_threads, 7);
  EXPECT_EQ(cpu_simd.threads_seen, 7);
  policy.threads = -1;
  expect_refused(plan(square(100), policy), StatusCode::kInvalidArgument, {"threads = -1", "in 0..32767"});
}

TEST_F(PlanTest, InvalidShapes) {
  expect_refused(plan(shape(Scalar::kF64, -1, 1, 1)), StatusCode::kInvalidArgument, {"m = -1"});
  expect_refused(plan(shape(Scalar::kF64, 1, 1, std::int64_t{1} << 34)), StatusCode::kInvalidArgument, {"k = "});
}

TEST_F(PlanTest, DegenerateShapesHavePlans) {
  for (const std::int64_t m : {0, 1}) {
    for (const std::int64_t n : {0, 1}) {
      for (const std::int64_t k : {0, 1}) {
        for (const Scheme scheme : {Scheme::kAuto, Scheme::kNative, Scheme::kOzaki2}) {
          Policy policy;
          policy.scheme = scheme;
          const Result<Plan> p = plan(shape(Scalar::kF64, m, n, k), policy);
          ASSERT_TRUE(p.ok()) << p.status().reason();
          EXPECT_FALSE(explain(p.value()).empty());
          // An engine that checks what it is asked accepts it too.
          EXPECT_TRUE(
              make(shape(Scalar::kF64, m, n, k), policy, FakeMachine({&engines::cpu_ref_engine()}).environment()).ok());
        }
      }
    }
  }
}

// ---- workspace ------------------------------------------------------------------------------------------------------

TEST_F(PlanTest, WorkspaceLimitIsKept) {
  for (const problem::Shape& s :
       {square(16384), square(16384, Scalar::kF32), square(1000), shape(Scalar::kF64, 1, 1, 1 << 20),
        shape(Scalar::kF64, 100000, 3, 50), shape(Scalar::kF32, 7, 100000, 9000)}) {
    for (const Gauge gauge : {Gauge::kEntry, Gauge::kNorm}) {
      for (const std::size_t limit : {64 * kMiB, 200 * kMiB, std::size_t{0}, 5000 * kMiB}) {
        Policy policy;
        policy.gauge = gauge;
        policy.workspace_limit_bytes = limit;
        const Result<Plan> p = plan(s, policy);
        ASSERT_TRUE(p.ok()) << p.status().reason();
        EXPECT_LE(p.value().schedule.workspace_bytes, limit == 0 ? kDefaultWorkspaceLimit : limit);
        const Chunk& chunk = ozaki2::ozaki2_of(p.value()).chunk;
        EXPECT_TRUE(chunk.mc >= 1 && chunk.nc >= 1 && chunk.kc >= 64 && chunk.kc % 64 == 0 &&
                    chunk.kc <= product::kBlockMaxI8);
        EXPECT_TRUE(chunk.mc <= s.m && chunk.nc <= s.n);
      }
    }
  }
}

/// A limit that is too small is refused with the least that would do; that is enough, and one byte less is not.
TEST_F(PlanTest, TinyLimitNamesTheLeastWorkspace) {
  for (const problem::Shape& s :
       {square(1), square(100), shape(Scalar::kF64, 1000, 10, 5000), shape(Scalar::kF32, 3, 3, 200000), square(4096)}) {
    for (const Gauge gauge : {Gauge::kEntry, Gauge::kNorm}) {
      Policy policy;
      policy.gauge = gauge;
      policy.workspace_limit_bytes = 1;
      const Result<Plan> refused = plan(s, policy);
      expect_refused(refused, StatusCode::kWorkspaceTooSmall, {"workspace limit = 1 bytes", "must be >= "});
      if (HasFatalFailure()) return;
      const std::string& reason = refused.status().reason();
      const auto least = static_cast<std::size_t>(std::strtoull(reason.c_str() + reason.find(">= ") + 3, nullptr, 10));
      ASSERT_GT(least, 1U);
      policy.workspace_limit_bytes = least;
      const Result<Plan> enough = plan(s, policy);
      ASSERT_TRUE(enough.ok()) << enough.status().reason();
      EXPECT_LE(enough.value().schedule.workspace_bytes, least);
      policy.workspace_limit_bytes = least - 1;
      expect_refused(plan(s, policy), StatusCode::kWorkspaceTooSmall, {"must be >= " + std::to_string(least)});
    }
  }
}

/// The largest products whose elements can be counted at all are booked without overflow, and refused with a number.
TEST_F(PlanTest, HugeShapesAreBookedWithoutOverflow) {
  const std::int64_t huge = std::int64_t{1} << 31;
  Policy policy;
  policy.workspace_limit_bytes = 64 * kMiB;
  for (const problem::Shape& s : {square(huge), shape(Scalar::kF64, huge, huge, 1), shape(Scalar::kF32, 1, 1, huge)}) {
    Policy roomy;
    roomy.workspace_limit_bytes = std::size_t{1} << 60;
    const Result<Plan> p = plan(s, roomy);
    ASSERT_TRUE(p.ok()) << p.status().reason();
    EXPECT_GT(p.value().schedule.workspace_bytes, 0U);
    EXPECT_LE(p.value().schedule.workspace_bytes, roomy.workspace_limit_bytes);
    if (s.m == huge) expect_refused(plan(s, policy), StatusCode::kWorkspaceTooSmall, {"limit = 67108864 bytes"});
  }
}

TEST_F(PlanTest, AnotherEngineIsTriedWhereOneWantsTooMuchWorkspace) {
  FakeEngine hungry("cpu_simd", offering(1.0, 100 * kMiB));
  Policy policy;
  policy.workspace_limit_bytes = 64 * kMiB;
  const Result<Plan> p = make(square(100), policy, FakeMachine({&hungry, &cpu_ref}).environment());
  ASSERT_TRUE(p.ok()) << p.status().reason();
  EXPECT_EQ(ozaki2::ozaki2_of(p.value()).engine, &cpu_ref);
  expect_mentions(p.value().refusals, "cpu_simd: needs a workspace of ");
  expect_refused(make(square(100), policy, FakeMachine({&hungry}).environment()), StatusCode::kWorkspaceTooSmall,
                 {"workspace limit = 67108864 bytes"});
}

TEST_F(PlanTest, LaunchesOfACertificateOfFewLinesHaveTheirPrice) {
  // A millisecond whatever the product; and an engine that is slow but for the least products.
  FakeEngine slow_to_start("cpu_simd", offering(1e-3));
  FakeEngine slow_to_multiply("cpu_ref", [](const product::ProductDesc& d) {
    return FakeEngine::Answer(product::Offer{0, d.m * d.n == 1 ? 1e-9 : 0.1, 1});
  });
  const FakeMachine both({&slow_to_start, &slow_to_multiply});
  Policy policy;
  const Result<Plan> ample = make(square(20), policy, both.environment());
  ASSERT_TRUE(ample.ok()) << ample.status().reason();
  EXPECT_EQ(ozaki2::ozaki2_of(ample.value()).engine, &slow_to_start);

  policy.workspace_limit_bytes = 1;
  const std::string reason = make(square(20), policy, both.environment()).status().reason();
  const std::string key = "must be >= ";
  ASSERT_NE(reason.find(key), std::string::npos) << reason;
  policy.workspace_limit_bytes = std::stoull(reason.substr(reason.find(key) + key.size()));
  const Result<Plan> least = make(square(20), policy, both.environment());
  ASSERT_TRUE(least.ok()) << least.status().reason();
  EXPECT_EQ(ozaki2::ozaki2_of(least.value()).certificate.mc * ozaki2::ozaki2_of(least.value()).certificate.nc, 1);
  EXPECT_EQ(ozaki2::ozaki2_of(least.value()).engine, &slow_to_multiply);
  expect_mentions(least.value().refusals, "cpu_simd: predicted 0.4");
}

TEST_F(PlanTest, DefaultLimitDoesNotGiveWayForLineStatistics) {  // 2^28 lines need more than 1 GiB by themselves
  expect_refused(plan(shape(Scalar::kF64, 1 << 28, 1, 1)), StatusCode::kWorkspaceTooSmall, {"(the default)"});
  const Result<Plan> nothing = plan(shape(Scalar::kF64, 1 << 28, 1, 0));  // C <- beta C takes no workspace
  EXPECT_TRUE(nothing.ok()) << nothing.status().reason();
}

// Sizes of these shapes are beyond what any memory has, or stop at the largest number.
TEST_F(PlanTest, NoLimitLetsAPlanTakeMoreThanMemoryHas) {
  constexpr std::int64_t kLong = num::kMaxLineLength;
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{1 << 28, 1 << 28, kLong / 2},
                                                                        {kLong, 1 << 28, 1 << 28},
                                                                        {1 << 30, 1 << 30, 1},
                                                                        {1 << 28, 1 << 28, kLong}}) {
    for (const Scalar scalar : {Scalar::kF64, Scalar::kC128}) {
      if (is_complex(scalar) && k > kLong / 2) continue;
      for (const Scheme scheme : {Scheme::kOzaki2, Scheme::kOzaki1}) {
        Policy policy;
        policy.scheme = scheme;
        policy.workspace_limit_bytes = SIZE_MAX;
        const Result<Plan> p = plan(shape(scalar, m, n, k), policy);
        if (!p.ok()) continue;
        EXPECT_LE(p.value().schedule.workspace_bytes, std::size_t{PTRDIFF_MAX}) << m << " " << n << " " << k;
      }
    }
  }
}

TEST_F(PlanTest, EngineWorkspaceIsBooked) {
  FakeEngine hungry("cpu_simd", offering(1.0, 3 * kMiB));
  const std::size_t plain = plan(square(200)).value().schedule.workspace_bytes;
  const Result<Plan> p = make(square(200), Policy{}, FakeMachine({&hungry}).environment());
  ASSERT_TRUE(p.ok());
  EXPECT_GE(p.value().schedule.workspace_bytes, 3 * kMiB);
  EXPECT_GE(p.value().schedule.workspace_bytes, plain);
}

// ---- words and hashes -----------------------------------------------------------------------------------------------

TEST_F(PlanTest, ExplainSaysEverything) {
  FakeEngine refuses("cpu_simd", refusing("needs AVX-1024"));
  const Result<Plan> p =
      make(shape(Scalar::kF64, 123, 456, 789), Policy{}, FakeMachine({&refuses, &cpu_ref}).environment());
  ASSERT_TRUE(p.ok());
  const std::string text = explain(p.value());
  for (const std::string& part : {std::string("f64"),
                                  std::string("m = 123"),
                                  std::string("n = 456"),
                                  std::string("k = 789"),
                                  std::string("native"),
                                  std::string("ozaki2"),
                                  std::string("|A||B|"),
                                  std::string("entry"),
                                  std::string("14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24 moduli"),
                                  std::string("equilibrated"),
                                  std::string("FP64"),
                                  std::string("pairwise"),
                                  std::string("k blocks"),
                                  std::to_string(ozaki2::ozaki2_of(p.value()).chunk.kc),
                                  std::string("131072"),
                                  std::string("cpu_ref"),
                                  std::string("cpu_simd: needs AVX-1024"),
                                  std::to_string(p.value().schedule.workspace_bytes) + " bytes",
                                  std::string("its bits depend"),
                                  std::string("certificate")}) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks " << part;
  }
  Policy policy;
  policy.gauge = Gauge::kNorm;
  policy.accuracy = Accuracy::at_bits(20);
  const std::string norm = explain(plan(square(100), policy).value());
  for (const char* part : {"||a_i|| ||b_j||", "norm", "bits=20", "2^-20"})
    EXPECT_NE(norm.find(part), std::string::npos) << norm;
  policy = Policy{};
  policy.forced_moduli = 9;
  EXPECT_NE(explain(plan(square(100), policy).value()).find("moduli=9 (forced)"), std::string::npos);
  policy = Policy{};
  policy.scheme = Scheme::kNative;
  const std::string native = explain(plan(square(100), policy).value());
  for (const char* part : {"native", "native_blas", "k blocks", "0 bytes"})
    EXPECT_NE(native.find(part), std::string::npos) << native;
  // One fact a line, nothing glued.
  for (const std::string& t : {text, norm, native}) {
    EXPECT_EQ(t.back(), '\n');
    EXPECT_EQ(t.find("\n\n"), std::string::npos);
  }
}

/// What never changes a bit never changes the hash.
TEST_F(PlanTest, HashIgnoresTheSchedule) {
  const std::uint64_t want = numerics_hash(plan(square(2000)).value());
  Policy policy;
  policy.threads = 3;
  EXPECT_EQ(numerics_hash(plan(square(2000), policy).value()), want);
  policy.workspace_limit_bytes = 64 * kMiB;
  EXPECT_EQ(numerics_hash(plan(square(2000), policy).value()), want);
  policy.engine = EngineName::kCpuRef;
  EXPECT_EQ(numerics_hash(plan(square(2000), policy).value()), want);
  policy.reject_nonfinite = true;
  EXPECT_EQ(numerics_hash(plan(square(2000), policy).value()), want);
  EXPECT_EQ(numerics_hash(plan(shape(Scalar::kF64, 5, 77, 2000), policy).value()), want) << "m and n are no numerics";
}

TEST_F(PlanTest, HashTellsNumericsApart) {
  std::set<std::uint64_t> hashes;
  int count = 0;
  const auto add = [&](const problem::Shape& s, const Policy& policy) {
    const Result<Plan> p = plan(s, policy);
    ASSERT_TRUE(p.ok()) << p.status().reason();
    hashes.insert(numerics_hash(p.value()));
    ++count;
  };
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64}) {
    for (const std::int64_t k : {100, 101, 5000}) {
      add(shape(scalar, 10, 10, k), Policy{});
      for (int bits = 1; bits <= 20; ++bits) {
        Policy policy;
        policy.accuracy = Accuracy::at_bits(bits);
        add(shape(scalar, 10, 10, k), policy);
      }
      for (int n = 2; n <= 28; ++n) {
        Policy policy;
        policy.forced_moduli = n;
        add(shape(scalar, 10, 10, k), policy);
      }
      Policy policy;
      policy.allow_fp64_arithmetic = false;
      add(shape(scalar, 10, 10, k), policy);
      // Gauge norm takes one count for any data: the same numerics as that count forced, counted above.
      policy = Policy{};
      policy.gauge = Gauge::kNorm;
      const Plan norm = plan(shape(scalar, 10, 10, k), policy).value();
      policy = Policy{};
      policy.forced_moduli = ozaki2::ozaki2_of(norm).ladder.rungs[0].num_moduli;
      EXPECT_EQ(numerics_hash(norm), numerics_hash(plan(shape(scalar, 10, 10, k), policy).value()));
      policy = Policy{};
      policy.scheme = Scheme::kNative;
      add(shape(scalar, 10, 10, k), policy);
    }
  }
  EXPECT_EQ(static_cast<int>(hashes.size()), count);
}

/// At k = 64 native allows 64 2^-53, as 47 bits do: the same rungs, but not as many pairs that they leave.
TEST_F(PlanTest, HashTellsTheLimitOfRepairs) {
  const Plan native = plan(square(64)).value();
  Policy policy;
  policy.accuracy = Accuracy::at_bits(47);
  const Plan bits = plan(square(64), policy).value();
  EXPECT_EQ(ozaki2::ozaki2_of(native).ladder.rungs, ozaki2::ozaki2_of(bits).ladder.rungs);
  EXPECT_EQ(ozaki2::ozaki2_of(bits).ladder.repair_shift, num::kRepairShift);
  EXPECT_NE(numerics_hash(native), numerics_hash(bits));
}

TEST_F(PlanTest, PlanningIsPureAndRepeats) {
  const Plan first = plan(square(777)).value();
  const Plan second = plan(square(777)).value();
  EXPECT_EQ(explain(first), explain(second));
  EXPECT_EQ(numerics_hash(first), numerics_hash(second));
}

}  // namespace
}  // namespace kizami::plan
