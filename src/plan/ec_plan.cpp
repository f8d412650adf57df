// SPDX-License-Identifier: MIT
#include "plan/ec_plan.hpp"

#include <algorithm>
#include <string>
#include <variant>

#include "plan/buffers.hpp"
#include "plan/chunks.hpp"
#include "plan/ec.hpp"
#include "plan/ladder.hpp"
#include "plan/ozaki2.hpp"
#include "plan/text.hpp"

namespace kizami::plan {
namespace {

/// Lines of one pass of scheme ec, within the limit or what scheme ozaki2 was granted above it.
Status plan_ec_chunk(Plan& plan) {
  const std::size_t limit =
      plan.policy.workspace_limit_bytes == 0 ? kDefaultWorkspaceLimit : plan.policy.workspace_limit_bytes;
  const std::size_t granted = std::max(limit, plan.schedule.workspace_bytes);
  Chunk& chunk = plan.schedule.ec_chunk;
  while (product_bytes(plan) > granted) {
    std::int64_t& longer = chunk.mc >= chunk.nc ? chunk.mc : chunk.nc;
    if (!halve(longer, 1, 1)) break;
  }
  plan.schedule.workspace_bytes = product_bytes(plan);
  if (plan.schedule.workspace_bytes <= granted) return {};
  return {StatusCode::kWorkspaceTooSmall, "workspace limit = " + std::to_string(limit) + " bytes, must be >= " +
                                              std::to_string(plan.schedule.workspace_bytes) + " for scheme ec here"};
}

/// The stages of scheme ec and its engine. @range the numerics and the chunks of scheme ozaki2 are planned
Status plan_stages(Plan& plan, const Environment& environment) {
  const ErrorCorrection& wishes = plan.policy.ec;
  const std::int64_t k = std::max<std::int64_t>(num_terms(plan.shape), 1);
  const double target = num::target_bound(plan.policy.accuracy, plan.shape.scalar, k);
  EcNumerics& ec = plan.numerics.ec;
  ec.checks_range = wishes.check_range && !wishes.karatsuba;
  ec.is_karatsuba = wishes.karatsuba;
  double bound = target;
  double best = 1e300;
  const bool is_named = wishes.variant != EcVariant::kAuto;
  for (const EcVariant variant : {wishes.variant, EcVariant::kScaled, EcVariant::kScaledTf32}) {
    if (variant == EcVariant::kAuto) continue;
    if (ec.num_stages > 0 && (!ec.checks_range || variant == wishes.variant)) continue;
    EcStage stage;
    stage.recipe = ec_recipe(variant, wishes);
    stage.core = ec_tensor_core(wishes.tensor_core, stage.recipe.type);
    stage.error = num::ec_bound(ec_error_terms(stage.recipe, stage.core), ec_terms(plan)) + kEcUnderflowError;
    if (ec.is_karatsuba && !stage.recipe.scales_lines) {
      return {StatusCode::kUnsupported,
              "karatsuba: variant " + std::string(to_string(variant)) + " does not scale lines, must be one that does"};
    }
    if (ec.is_karatsuba) stage.error = ec_karatsuba_bound(stage.recipe, stage.error, plan.shape.k);
    best = std::min(best, stage.error);
    // What range errors may take: all that is left; of a variant that the caller names whatever its bound, 8 u.
    const bool is_waived =
        is_named && variant == wishes.variant && plan.policy.accuracy.kind == Accuracy::Kind::kNative;
    double budget = target - stage.error;
    if (is_waived && budget <= 0) {
      budget = 8.0 * num::unit_roundoff(plan.shape.scalar);
      bound = std::max(bound, stage.error + budget);
    }
    if (!is_waived && budget <= 0) {
      plan.refusals.push_back("ec " + std::string(to_string(variant)) + ": guarantees " + short_number(stage.error) +
                              " |A||B| at k = " + std::to_string(plan.shape.k) + ", wanted " + short_number(target));
      if (is_named && variant == wishes.variant) break;
      continue;
    }
    if (!ec.checks_range) bound = stage.error;
    stage.allowance = ec_allowance(stage.recipe, budget, num_terms(plan.shape));
    ec.stages[static_cast<std::size_t>(ec.num_stages++)] = stage;
  }
  if (ec.num_stages == 0) {
    return {StatusCode::kAccuracyUnreachable, "scheme ec: guarantees " + short_number(best) + " |A||B| at k = " +
                                                  std::to_string(plan.shape.k) + ", wanted " + short_number(target)};
  }
  plan.numerics.scheme = Scheme::kEc;
  plan.numerics.bound = bound;
  plan.schedule.ec_chunk = {plan.shape.m, plan.shape.n, plan.shape.k};

  std::string reason = "no engine here can multiply for scheme ec";
  for (const product::FloatEngine* engine : environment.float_engines) {
    if (plan.policy.engine != EngineName::kAuto && to_string(plan.policy.engine) != engine->name()) continue;
    std::string refusal;
    double seconds = 0;
    for (int s = ec.num_stages - 1; s >= 0 && refusal.empty(); --s) {
      const auto answer = engine->query(ec_product(plan, s), plan.schedule.facts);
      if (const auto* const refused = std::get_if<product::Refusal>(&answer)) {
        refusal = refused->reason;
      } else {
        seconds = std::get<product::Offer>(answer).seconds;  // of the first stage in the end
      }
    }
    if (refusal.empty()) {
      plan.schedule.float_engine = engine;
      plan.schedule.seconds = seconds;
      return plan_ec_chunk(plan);
    }
    plan.refusals.push_back(std::string(engine->name()) + ": " + refusal);
    reason += "; " + plan.refusals.back();
  }
  return {StatusCode::kUnsupported, reason};
}

}  // namespace

Status plan_ec(Plan& plan, const Environment& environment) {
  const Policy policy = plan.policy;
  plan.policy.engine = EngineName::kAuto;
  if (!policy.ec.karatsuba) plan.policy.gauge = Gauge::kEntry;  // the stronger one, which the certificate needs
  KIZAMI_RETURN_IF_ERROR(plan_ozaki2_numerics(plan));
  KIZAMI_RETURN_IF_ERROR(plan_ozaki2_schedule(plan, environment));
  plan.policy = policy;
  if (policy.engine != EngineName::kAuto && policy.engine != EngineName::kTcModel) {
    return {StatusCode::kUnsupported, "engine " + std::string(to_string(policy.engine)) +
                                          " carries no floating-point products, which scheme ec needs"};
  }
  return plan_stages(plan, environment);
}

}  // namespace kizami::plan
