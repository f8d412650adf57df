// SPDX-License-Identifier: MIT
// Predictions for a device against what was measured on one (docs/perf/h200_call.md): within 15 %, with wide exponents
// within 8 %.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "device/batch_buffers.hpp"
#include "device_engines/h200_environment.hpp"
#include "engines/cublas/cublas_seconds.hpp"
#include "model/phases.hpp"
#include "num/rung.hpp"
#include "plan/plan.hpp"
#include "problem/problem.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/device_seconds.hpp"

namespace kizami::plan {
namespace {

/// Milliseconds of lab/results/h200/gemm.jsonl at commit 624b0fbe; native 256 x 256 x 65536 at f45a21b, for there the card was hot.
struct Measured {
  problem::Shape shape;
  double native;
  double hopper;
};
constexpr Measured kMeasured[] = {
    {{Scalar::kF64, 1024, 1024, 1024}, 0.045, 0.068},       {{Scalar::kF64, 2048, 2048, 2048}, 0.299, 0.266},
    {{Scalar::kF64, 4096, 4096, 4096}, 2.256, 1.484},       {{Scalar::kF64, 8192, 8192, 8192}, 19.452, 10.956},
    {{Scalar::kF64, 16384, 16384, 16384}, 158.008, 82.011}, {{Scalar::kC128, 1024, 1024, 1024}, 0.159, 0.137},
    {{Scalar::kC128, 2048, 2048, 2048}, 1.159, 0.557},      {{Scalar::kC128, 4096, 4096, 4096}, 10.208, 3.664},
    {{Scalar::kC128, 8192, 8192, 8192}, 82.996, 26.175},    {{Scalar::kC64, 1024, 1024, 1024}, 0.171, 0.072},
    {{Scalar::kC64, 2048, 2048, 2048}, 1.288, 0.288},       {{Scalar::kC64, 4096, 4096, 4096}, 10.168, 1.548},
    {{Scalar::kC64, 8192, 8192, 8192}, 81.120, 10.295},     {{Scalar::kF32, 2048, 2048, 2048}, 0.345, 0.168},
    {{Scalar::kF32, 4096, 4096, 4096}, 2.692, 0.845},       {{Scalar::kF32, 8192, 8192, 8192}, 21.514, 5.444},
    {{Scalar::kF64, 8192, 8192, 256}, 0.733, 1.155},        {{Scalar::kF64, 8192, 8192, 512}, 1.230, 1.236},
    {{Scalar::kF64, 8192, 8192, 1024}, 2.300, 1.761},       {{Scalar::kF64, 64, 8192, 8192}, 0.205, 0.960},
    {{Scalar::kF64, 16384, 1024, 1024}, 0.690, 0.646},      {{Scalar::kF64, 16384, 16384, 2048}, 20.132, 12.981},
    {{Scalar::kF64, 256, 256, 65536}, 0.173, 0.868},        {{Scalar::kC128, 8192, 8192, 512}, 5.219, 2.747},
};

/// Milliseconds of whole calls of scheme ec on normal-like data, lab/results/h200/ec_call.jsonl.
struct MeasuredEc {
  problem::Shape shape;
  double milliseconds;
};
constexpr MeasuredEc kMeasuredEc[] = {
    {{Scalar::kF32, 512, 512, 512}, 0.020},    {{Scalar::kF32, 1024, 1024, 1024}, 0.026},
    {{Scalar::kF32, 2048, 2048, 2048}, 0.102}, {{Scalar::kF32, 4096, 4096, 4096}, 0.628},
    {{Scalar::kF32, 8192, 8192, 8192}, 4.731}, {{Scalar::kF32, 4096, 4096, 512}, 0.108},
    {{Scalar::kC64, 1024, 1024, 1024}, 0.059}, {{Scalar::kC64, 2048, 2048, 2048}, 0.330},
    {{Scalar::kC64, 4096, 4096, 4096}, 2.372}, {{Scalar::kC64, 8192, 8192, 8192}, 19.879},
};

Result<Plan> plan_for(const problem::Shape& shape, const Policy& policy) {
  return make(shape, policy, h200_environment());
}

TEST(DeviceModel, PredictsWhatWasMeasured) {
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  for (const Measured& x : kMeasured) {
    const Result<Plan> plan = plan_for(x.shape, policy);
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    const double hopper = plan.value().schedule.seconds * 1e3;
    const double native = engines::cublas_seconds(x.shape, 1) * 1e3;
    EXPECT_NEAR(hopper / x.hopper, 1.0, 0.15) << explain(plan.value());
    EXPECT_NEAR(native / x.native, 1.0, 0.15) << explain(plan.value());
  }
}

/// Milliseconds of lab/results/h200/certificate.jsonl at commit 624b0fbe, native's of gemm.jsonl at ac7c988: exponents
/// of exp(phi normal).
struct MeasuredWide {
  Scalar scalar;
  std::int64_t n;
  double phi;
  int moduli;
  std::int64_t repaired;
  double native;
  double hopper;
};
constexpr MeasuredWide kMeasuredWide[] = {
    {Scalar::kF64, 2048, 1, 14, 0, 0.299, 0.299},     {Scalar::kF64, 4096, 1, 14, 0, 2.277, 1.647},
    {Scalar::kF64, 8192, 1, 14, 0, 19.598, 12.125},   {Scalar::kC128, 4096, 1, 15, 0, 9.575, 3.708},
    {Scalar::kF32, 4096, 1, 7, 0, 2.684, 0.995},      {Scalar::kC64, 4096, 1, 7, 0, 10.166, 1.920},
    {Scalar::kF64, 2048, 2, 15, 1, 0.300, 0.357},     {Scalar::kF64, 4096, 2, 15, 3, 2.283, 1.870},
    {Scalar::kF64, 8192, 2, 15, 0, 19.551, 13.663},   {Scalar::kC128, 4096, 2, 16, 0, 10.193, 4.295},
    {Scalar::kF32, 4096, 2, 8, 0, 2.688, 1.160},      {Scalar::kC64, 4096, 2, 8, 0, 10.166, 2.448},
    {Scalar::kF64, 2048, 4, 19, 36, 0.300, 0.453},    {Scalar::kF64, 4096, 4, 19, 192, 2.295, 2.370},
    {Scalar::kF64, 8192, 4, 19, 248, 19.702, 17.673}, {Scalar::kC128, 4096, 4, 20, 77, 10.389, 5.585},
    {Scalar::kF32, 4096, 4, 11, 827, 2.685, 1.594},   {Scalar::kC64, 4096, 4, 12, 58, 10.167, 3.392},
};

/// The model has the spreads that lowest rungs allow as numbers; plans have ladders.
TEST(DeviceModel, TheModelSamplesAsPlansDo) {
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128}) {
    for (const std::int64_t k : {100, 1000, 1024, 2048, 4095, 4096, 8192, 20000, 65536}) {
      Policy policy;
      policy.scheme = Scheme::kOzaki2;
      const Result<Plan> plan = make({scalar, 512, 512, k}, policy, h200_environment());
      ASSERT_TRUE(plan.ok()) << plan.status().reason();
      const num::Ladder& ladder = ozaki2::ozaki2_of(plan.value()).ladder;
      const std::int64_t num_terms = (is_complex(scalar) ? 2 : 1) * k;
      model::Request request;
      request.scalar = scalar;
      request.k = k;
      EXPECT_EQ(model::sample_stride(request), num::sample_stride(ladder.rungs[0].allowance, num_terms))
          << to_string(scalar) << ", k = " << k;
    }
  }
}

TEST(DeviceModel, AScoutIsAskedAboutLargeProducts) {
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  const auto asks = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    const Result<Plan> plan = plan_for({Scalar::kF64, m, n, k}, policy);
    EXPECT_TRUE(plan.ok()) << plan.status().reason();
    return plan.ok() && ozaki2::has_scout(plan.value());
  };
  EXPECT_TRUE(asks(3072, 3072, 3072));
  EXPECT_TRUE(asks(8192, 4096, 16384));
  EXPECT_FALSE(asks(3071, 4096, 4096));
  EXPECT_FALSE(asks(4096, 3071, 4096));
  EXPECT_FALSE(asks(4096, 4096, 3071));
  EXPECT_FALSE(asks(4096, 4096, 17000)) << "lines do not fit in one pass";
}

TEST(DeviceModel, PredictsWhatWideExponentsTake) {
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  for (const MeasuredWide& x : kMeasuredWide) {
    const Result<Plan> plan = plan_for({x.scalar, x.n, x.n, x.n}, policy);
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    const num::Ladder& ladder = ozaki2::ozaki2_of(plan.value()).ladder;
    Effort effort;
    effort.has_second_look = true;
    effort.num_exceptions = x.repaired;
    while (ladder.rungs[static_cast<std::size_t>(effort.rung)].num_moduli < x.moduli) ++effort.rung;
    const double hopper = device_seconds(plan.value(), effort) * 1e3;
    EXPECT_NEAR(hopper / x.hopper, 1.0, 0.08) << explain(plan.value()) << x.phi << " " << hopper;
  }
}

TEST(DeviceModel, WhatWasPlannedTakesWhatThePlanSaysAndMoreTakesMore) {
  Policy policy;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  for (const Scheme scheme : {Scheme::kOzaki2, Scheme::kEc}) {
    policy.scheme = scheme;
    for (const Scalar scalar : {Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128}) {
      if (scheme == Scheme::kEc && real_of(scalar) == Scalar::kF64) continue;
      for (const std::int64_t n : {256, 1024, 4096, 16384}) {
        const Result<Plan> made = plan_for({scalar, n, n, n}, policy);
        ASSERT_TRUE(made.ok()) << made.status().reason();
        const Plan& plan = made.value();
        SCOPED_TRACE(explain(plan));
        Effort effort;
        effort.stage = scheme == Scheme::kEc ? 0 : -1;
        double seconds = device_seconds(plan, effort);
        EXPECT_EQ(seconds, plan.schedule.seconds);
        const auto expect_more = [&] {
          const double more = device_seconds(plan, effort);
          EXPECT_GT(more, seconds);
          seconds = more;
        };
        effort.num_exceptions = 1;
        expect_more();
        if (scheme == Scheme::kEc) {
          for (const int stage : {1, -1}) {
            effort.stage = stage;
            EXPECT_GT(device_seconds(plan, effort), plan.schedule.seconds) << stage;
          }
          continue;
        }
        effort.has_second_look = true;
        expect_more();
        for (effort.rung = 1; effort.rung < ozaki2::ozaki2_of(plan).ladder.num_rungs; ++effort.rung) expect_more();
        effort.rung = ozaki2::ozaki2_of(plan).ladder.num_rungs - 1;
        effort.is_equilibrated = true;
        expect_more();
      }
    }
  }
}

// A batch takes as much of it as it has products; exceptions are those of all.
TEST(DeviceModel, ABatchTakesMoreForEachProduct) {
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  const Environment environment = h200_environment();
  const problem::Shape shape{Scalar::kF64, 2048, 2048, 2048};
  const Plan one = make(shape, policy, environment).value();
  const Plan five = make(shape, policy, environment, {5, false}).value();
  const auto beyond = [](const Plan& plan, const Effort& effort) {
    return device_seconds(plan, effort) - plan.schedule.seconds;
  };
  const Effort look{0, -1, true, false, 0};
  const Effort exceptions{0, -1, false, false, 100};
  EXPECT_DOUBLE_EQ(device_seconds(five, look), five.schedule.seconds + 5 * beyond(one, look));
  EXPECT_DOUBLE_EQ(device_seconds(five, exceptions), five.schedule.seconds + beyond(one, exceptions));
}

// Eight of them, where the workspace has room: what one waits for its own kernels, others use.
TEST(DeviceModel, ProductsSideBySideTakeLess) {
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  const Environment environment = h200_environment();
  const problem::Shape shape{Scalar::kC128, 1024, 1024, 1024};
  const Plan one = make(shape, policy, environment).value();
  const auto many = [&] { return make(shape, policy, environment, {16, false}).value(); };
  const Schedule together = many().schedule;
  EXPECT_EQ(device::batch_lanes(shape, together.batch, together.product_bytes, together.workspace_bytes), 8);
  EXPECT_LT(together.seconds, 0.9 * 16 * one.schedule.seconds);
  EXPECT_GT(together.seconds, 0.7 * 16 * one.schedule.seconds);
  policy.workspace_limit_bytes = one.schedule.workspace_bytes + 64 * 1024;
  EXPECT_DOUBLE_EQ(many().schedule.seconds, 16 * one.schedule.seconds) << "no room for a second lane";
}

TEST(DeviceModel, PredictsSchemeEc) {
  Policy policy;
  policy.scheme = Scheme::kEc;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  for (const MeasuredEc& x : kMeasuredEc) {
    const Result<Plan> plan = plan_for(x.shape, policy);
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    EXPECT_NEAR(plan.value().schedule.seconds * 1e3 / x.milliseconds, 1.0, 0.15) << explain(plan.value());
  }
}

// Of FP32, real and complex, what was quickest of native, ozaki2 and ec.
TEST(DeviceModel, ChoosesSchemeEcWhereItIsQuickest) {
  Policy policy;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  const auto choice = [&](Scalar scalar, std::int64_t n) {
    return plan_for({scalar, n, n, n}, policy).value().first().scheme;
  };
  EXPECT_EQ(choice(Scalar::kF32, 256), Scheme::kNative);
  EXPECT_EQ(choice(Scalar::kF32, 512), Scheme::kNative);  // 0.017 ms beside 0.020
  for (const std::int64_t n : {1024, 2048, 4096, 8192}) EXPECT_EQ(choice(Scalar::kF32, n), Scheme::kEc) << n;
  EXPECT_EQ(choice(Scalar::kC64, 1024), Scheme::kEc);
  EXPECT_EQ(choice(Scalar::kC64, 4096), Scheme::kOzaki2);  // two INT8 products a modulus
}

TEST(DeviceModel, NeverChoosesWhatIsMoreThan3PercentSlowerThanNative) {
  Policy policy;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  for (const Measured& x : kMeasured) {
    const Result<Plan> plan = plan_for(x.shape, policy);
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    if (plan.value().first().scheme == Scheme::kEc) continue;  // see ChoosesSchemeEcWhereItIsQuickest
    const double chosen = plan.value().first().scheme == Scheme::kNative ? x.native : x.hopper;
    EXPECT_LE(chosen, 1.03 * x.native) << explain(plan.value());
  }
}

}  // namespace
}  // namespace kizami::plan
