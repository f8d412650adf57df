// SPDX-License-Identifier: MIT
#include "schemes/native/plan.hpp"

#include <algorithm>
#include <string>

#include "base/int_math.hpp"
#include "num/bounds.hpp"
#include "plan/text.hpp"
#include "schemes/native/device_plan.hpp"

namespace kizami::native {
namespace {

/// Seconds of the look at the exponents of A and B, once over each. docs/perf/cpu_int8.md.
double look_seconds(const plan::Plan& plan) {
  const auto lines = static_cast<double>(plan.shape.m) + static_cast<double>(plan.shape.n);
  return static_cast<double>(size_bytes(plan.shape.scalar)) * lines * static_cast<double>(plan.shape.k) /
         (plan.schedule.facts.processor.look_bytes_per_second * plan.schedule.facts.num_threads);
}

Status plan_native(plan::Plan& plan, const plan::Environment& environment) {
  if (plan.policy.accuracy.kind == Accuracy::Kind::kCorrect) {
    return {StatusCode::kAccuracyUnreachable, "scheme native: rounds more than once, accuracy correct needs ozaki2"};
  }
  if (plan.shape.scalar == Scalar::kDD) {
    return {StatusCode::kUnsupported, "scheme native: the platform BLAS has no double-double product, use ozaki2"};
  }
  const bool has_engine =
      plan::is_on_device(plan) ? environment.native_device_engine != nullptr : environment.native_engine != nullptr;
  if (!has_engine) return {StatusCode::kUnsupported, "scheme native: no BLAS in this build"};
  const double u = num::unit_roundoff(plan.shape.scalar);
  const std::int64_t terms = is_complex(plan.shape.scalar) ? 2 : 1;
  const std::int64_t k = plan::num_terms(plan.shape);
  const double target = num::target_bound(plan.policy.accuracy, plan.shape.scalar, std::max<std::int64_t>(k, 1));
  double best = num::dot_bound(k, u);
  NativeStage& stage = plan::edit_stage<NativeStage>(plan);
  stage.gauge = plan.policy.gauge;
  stage.engine = plan::is_on_device(plan) ? nullptr : environment.native_engine;
  stage.device_engine = plan::is_on_device(plan) ? environment.native_device_engine : nullptr;
  if (plan::is_on_device(plan)) {
    if (plan.policy.reject_nonfinite) {
      return {StatusCode::kUnsupported,
              "scheme native: cuBLAS does not look for NaN or Inf, nonfinite = reject needs ozaki2 or ec"};
    }
    // One call of the vendor's product, in no known order. Accuracy native takes it for what it is.
    if (plan.policy.accuracy.kind != Accuracy::Kind::kNative && best > target) {
      return {StatusCode::kAccuracyUnreachable, "scheme native: guarantees " + plan::short_number(best) +
                                                    " |A||B| at k = " + std::to_string(plan.shape.k) + ", wanted " +
                                                    plan::short_number(target)};
    }
    stage.bound = best;
    stage.k_block = plan.shape.k;
    plan.schedule.seconds =
        stage.device_engine->seconds(plan.shape, plan.schedule.facts, plan.schedule.batch.num_products);
    return plan_device_native(plan);
  }
  for (const std::int64_t block :
       {std::max<std::int64_t>(k, 1), std::int64_t{512}, std::int64_t{256}, std::int64_t{128}}) {
    const double bound = num::native_blas_bound(k, block, u);
    best = std::min(best, bound);
    if (bound > target) continue;
    stage.bound = bound;
    stage.k_block = base::ceil_div(block, terms);
    plan.schedule.seconds = stage.engine->seconds(plan.shape, plan.schedule.facts) + look_seconds(plan);
    return {};
  }
  return {StatusCode::kAccuracyUnreachable, "scheme native: guarantees " + plan::short_number(best) +
                                                " |A||B| at k = " + std::to_string(plan.shape.k) + ", wanted " +
                                                plan::short_number(target)};
}

Status validate(const problem::Shape& /*shape*/, const Policy& policy, product::MemorySpace /*space*/) {
  if (!is_native_by_name(policy)) return {};
  if (policy.forced_moduli != 0) {
    return {StatusCode::kUnsupported,
            "moduli = " + std::to_string(policy.forced_moduli) + " needs scheme ozaki2, got native"};
  }
  if (policy.engine != EngineName::kAuto && policy.engine != EngineName::kNativeBlas) {
    return {StatusCode::kUnsupported,
            "engine " + std::string(to_string(policy.engine)) + " carries scheme ozaki2 only, not native"};
  }
  return {};
}

plan::SchemeWish wish(const plan::Plan& plan) {
  const Policy& policy = plan.policy;
  if (is_native_by_name(policy)) return {plan::SchemeWish::Kind::kNamed};
  if (policy.scheme != Scheme::kAuto) return {};
  if (policy.engine == EngineName::kAuto && policy.forced_moduli == 0 &&
      policy.reproducibility == Reproducibility::kNotGuaranteed)
    return {plan::SchemeWish::Kind::kMaybe};
  return {plan::SchemeWish::Kind::kNever,
          "native: its bits depend on library and threads; reproducibility or the engine excludes it"};
}

}  // namespace

const plan::SchemePlanner kNativePlanner{validate, wish, plan_native};

}  // namespace kizami::native
