// SPDX-License-Identifier: MIT
#include "plan/native.hpp"

#include <algorithm>
#include <string>

#include "base/int_math.hpp"
#include "plan/device_model.hpp"
#include "plan/device_native.hpp"
#include "plan/ladder.hpp"
#include "plan/text.hpp"

namespace kizami::plan {

namespace {

/// Seconds of the look at the exponents of A and B, once over each. docs/perf/cpu_int8.md.
double look_seconds(const Plan& plan) {
  constexpr double kBytesPerSecond = 8e9;  // a thread
  const auto lines = static_cast<double>(plan.shape.m) + static_cast<double>(plan.shape.n);
  return static_cast<double>(size_bytes(plan.shape.scalar)) * lines * static_cast<double>(plan.shape.k) /
         (kBytesPerSecond * plan.schedule.facts.num_threads);
}

}  // namespace

Status plan_native(Plan& plan) {
  if (plan.policy.accuracy.kind == Accuracy::Kind::kCorrect) {
    return {StatusCode::kAccuracyUnreachable, "scheme native: rounds more than once, accuracy correct needs ozaki2"};
  }
  if (plan.shape.scalar == Scalar::kDD) {
    return {StatusCode::kUnsupported, "scheme native: the platform BLAS has no double-double product, use ozaki2"};
  }
  const double u = num::unit_roundoff(plan.shape.scalar);
  const std::int64_t terms = is_complex(plan.shape.scalar) ? 2 : 1;
  const std::int64_t k = num_terms(plan.shape);
  const double target = num::target_bound(plan.policy.accuracy, plan.shape.scalar, std::max<std::int64_t>(k, 1));
  double best = num::dot_bound(k, u);
  if (is_on_device(plan)) {
    if (plan.policy.reject_nonfinite) {
      return {StatusCode::kUnsupported,
              "scheme native: cuBLAS does not look for NaN or Inf, nonfinite = reject needs ozaki2 or ec"};
    }
    // One call of the vendor's product, in no known order. Accuracy native takes it for what it is.
    if (plan.policy.accuracy.kind != Accuracy::Kind::kNative && best > target) {
      return {StatusCode::kAccuracyUnreachable, "scheme native: guarantees " + short_number(best) + " |A||B| at k = " +
                                                    std::to_string(plan.shape.k) + ", wanted " + short_number(target)};
    }
    plan.numerics.scheme = Scheme::kNative;
    plan.numerics.gauge = plan.policy.gauge;
    plan.numerics.bound = best;
    plan.schedule.native_k_block = plan.shape.k;
    plan.schedule.seconds = device_native_seconds(plan.shape, plan.schedule.batch.num_products);
    return plan_device_native(plan);
  }
  for (const std::int64_t block :
       {std::max<std::int64_t>(k, 1), std::int64_t{512}, std::int64_t{256}, std::int64_t{128}}) {
    const double bound = num::native_blas_bound(k, block, u);
    best = std::min(best, bound);
    if (bound > target) continue;
    plan.numerics.scheme = Scheme::kNative;
    plan.numerics.gauge = plan.policy.gauge;
    plan.numerics.bound = bound;
    plan.schedule.native_k_block = base::ceil_div(block, terms);
    // Multiply-adds a second and thread; docs/perf/cpu_int8.md.
    const double rate = real_of(plan.shape.scalar) == Scalar::kF64 ? 2.4e10 : 5.6e10;
    plan.schedule.seconds = static_cast<double>(terms) * static_cast<double>(plan.shape.m) *
                                static_cast<double>(plan.shape.n) * static_cast<double>(k) /
                                (rate * plan.schedule.facts.num_threads) +
                            look_seconds(plan);
    return {};
  }
  return {StatusCode::kAccuracyUnreachable, "scheme native: guarantees " + short_number(best) + " |A||B| at k = " +
                                                std::to_string(plan.shape.k) + ", wanted " + short_number(target)};
}

}  // namespace kizami::plan
