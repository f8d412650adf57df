// SPDX-License-Identifier: MIT
#include "schemes/ec/plan.hpp"

#include <algorithm>
#include <string>
#include <variant>

#include "base/int_math.hpp"
#include "plan/chunks.hpp"
#include "plan/text.hpp"
#include "schemes/ec/device_plan.hpp"
#include "schemes/ec/recipe.hpp"
#include "schemes/ozaki2/plan.hpp"

namespace kizami::ec {

using base::round_up;
using product::kPadBytes;

std::int64_t ec_row_elems(const plan::Plan& plan, num::FloatType type) {
  return round_up(ec_terms(plan), kPadBytes / num::element_bytes(type));
}

product::FloatProductDesc ec_product(const plan::Plan& plan, int rung) {
  const EcRung& r = ec_of(plan).numerics.rungs[static_cast<std::size_t>(rung)];
  const plan::Chunk& chunk = ec_of(plan).chunk;
  product::FloatProductDesc desc = ec_arithmetic(r.recipe, r.core);
  desc.m = chunk.mc;
  desc.n = chunk.nc;
  desc.k = ec_terms(plan);
  desc.a_row_stride = desc.b_row_stride = ec_row_elems(plan, r.recipe.type);
  desc.a_plane_stride = chunk.mc * desc.a_row_stride;
  desc.b_plane_stride = chunk.nc * desc.b_row_stride;
  desc.c_col_stride = chunk.mc;
  return desc;
}

EcBuffers carve_ec(base::Carver& carver, const plan::Plan& plan) {
  const EcStage& stage = ec_of(plan);
  const plan::Chunk& chunk = stage.chunk;
  EcBuffers buffers;
  buffers.behind = ozaki2::carve(carver, plan);
  carver.rewind(buffers.behind.shared_mark);
  std::int64_t row_bytes = 0;  // of all parts of a line, at the rung that needs most
  for (int r = 0; r < stage.numerics.num_rungs; ++r) {
    const EcRecipe& recipe = stage.numerics.rungs[static_cast<std::size_t>(r)].recipe;
    row_bytes =
        std::max(row_bytes, recipe.split.num_parts * ec_row_elems(plan, recipe.type) * num::element_bytes(recipe.type));
    if (stage.engine_bytes) continue;
    const auto answer = stage.engine->query(ec_product(plan, r), plan.schedule.facts);
    if (const auto* const offer = std::get_if<product::Offer>(&answer))
      buffers.engine_bytes = std::max(buffers.engine_bytes, offer->workspace_bytes);
  }
  if (stage.engine_bytes) buffers.engine_bytes = *stage.engine_bytes;
  buffers.a_planes = carver.take<std::byte>(chunk.mc, row_bytes);
  buffers.b_planes = carver.take<std::byte>(chunk.nc, row_bytes);
  buffers.sums = carver.take<float>(ec_products(plan), chunk.nc, chunk.mc);
  buffers.engine = carver.take<std::byte>(buffers.engine_bytes);
  return buffers;
}

namespace {

/// The workspace of a call.
[[nodiscard]] std::size_t booked_bytes(const plan::Plan& plan) {
  base::Carver counter;
  static_cast<void>(carve_ec(counter, plan));
  return counter.bytes();
}

/// Lines of one pass of scheme ec, within the limit or what scheme ozaki2 was granted above it.
Status plan_ec_chunk(plan::Plan& plan) {
  const std::size_t limit =
      plan.policy.workspace_limit_bytes == 0 ? plan::kDefaultWorkspaceLimit : plan.policy.workspace_limit_bytes;
  const std::size_t granted = std::max(limit, plan.schedule.workspace_bytes);
  plan::Chunk& chunk = plan::edit_stage<EcStage>(plan).chunk;
  while (booked_bytes(plan) > granted) {
    std::int64_t& longer = chunk.mc >= chunk.nc ? chunk.mc : chunk.nc;
    if (!plan::halve(longer, 1, 1)) break;
  }
  plan.schedule.workspace_bytes = booked_bytes(plan);
  if (plan.schedule.workspace_bytes <= granted) return {};
  return {StatusCode::kWorkspaceTooSmall, "workspace limit = " + std::to_string(limit) + " bytes, must be >= " +
                                              std::to_string(plan.schedule.workspace_bytes) + " for scheme ec here"};
}

/// The rungs of scheme ec and its engine. @range the numerics and the chunks of scheme ozaki2 are planned
Status plan_rungs(plan::Plan& plan, const plan::Environment& environment) {
  const ErrorCorrection& wishes = plan.policy.ec;
  const std::int64_t k = std::max<std::int64_t>(plan::num_terms(plan.shape), 1);
  const double target = num::target_bound(plan.policy.accuracy, plan.shape.scalar, k);
  EcStage& stage = plan::edit_stage<EcStage>(plan);
  stage.gauge = ozaki2::ozaki2_of(plan).gauge;
  EcNumerics& ec = stage.numerics;
  ec.checks_range = wishes.check_range && !wishes.karatsuba;
  ec.is_karatsuba = wishes.karatsuba;
  double bound = target;
  double best = 1e300;
  const bool is_named = wishes.variant != EcVariant::kAuto;
  for (const EcVariant variant : {wishes.variant, EcVariant::kScaled, EcVariant::kScaledTf32}) {
    if (variant == EcVariant::kAuto) continue;
    if (ec.num_rungs > 0 && (!ec.checks_range || variant == wishes.variant)) continue;
    EcRung rung;
    rung.recipe = ec_recipe(variant, wishes);
    rung.core = ec_tensor_core(wishes.tensor_core, rung.recipe.type);
    rung.error = num::ec_bound(ec_error_terms(rung.recipe, rung.core), ec_terms(plan)) + kEcUnderflowError;
    if (ec.is_karatsuba && !rung.recipe.scales_lines) {
      return {StatusCode::kUnsupported,
              "karatsuba: variant " + std::string(to_string(variant)) + " does not scale lines, must be one that does"};
    }
    if (ec.is_karatsuba) rung.error = ec_karatsuba_bound(rung.recipe, rung.error, plan.shape.k);
    best = std::min(best, rung.error);
    // What range errors may take: all that is left; of a variant that the caller names whatever its bound, 8 u.
    const bool is_waived =
        is_named && variant == wishes.variant && plan.policy.accuracy.kind == Accuracy::Kind::kNative;
    double budget = target - rung.error;
    if (is_waived && budget <= 0) {
      budget = 8.0 * num::unit_roundoff(plan.shape.scalar);
      bound = std::max(bound, rung.error + budget);
    }
    if (!is_waived && budget <= 0) {
      plan.refusals.push_back("ec " + std::string(to_string(variant)) + ": guarantees " +
                              plan::short_number(rung.error) + " |A||B| at k = " + std::to_string(plan.shape.k) +
                              ", wanted " + plan::short_number(target));
      if (is_named && variant == wishes.variant) break;
      continue;
    }
    if (!ec.checks_range) bound = rung.error;
    rung.allowance = ec_allowance(rung.recipe, budget, plan::num_terms(plan.shape));
    ec.rungs[static_cast<std::size_t>(ec.num_rungs++)] = rung;
  }
  if (ec.num_rungs == 0) {
    return {StatusCode::kAccuracyUnreachable, "scheme ec: guarantees " + plan::short_number(best) +
                                                  " |A||B| at k = " + std::to_string(plan.shape.k) + ", wanted " +
                                                  plan::short_number(target)};
  }
  stage.bound = bound;
  plan::edit_stage<ozaki2::Ozaki2Stage>(plan).bound = bound;  // the plan's, whichever of them answers
  stage.chunk = {plan.shape.m, plan.shape.n, plan.shape.k};

  std::string reason = "no engine here can multiply for scheme ec";
  for (const product::FloatEngine* engine : environment.float_engines) {
    if (plan.policy.engine != EngineName::kAuto && to_string(plan.policy.engine) != engine->name()) continue;
    std::string refusal;
    double seconds = 0;
    for (int r = ec.num_rungs - 1; r >= 0 && refusal.empty(); --r) {
      const auto answer = engine->query(ec_product(plan, r), plan.schedule.facts);
      if (const auto* const refused = std::get_if<product::Refusal>(&answer)) {
        refusal = refused->reason;
      } else {
        seconds = std::get<product::Offer>(answer).seconds;  // of the first rung in the end
      }
    }
    if (refusal.empty()) {
      stage.engine = engine;
      plan.schedule.seconds = seconds;
      return plan_ec_chunk(plan);
    }
    plan.refusals.push_back(std::string(engine->name()) + ": " + refusal);
    reason += "; " + plan.refusals.back();
  }
  return {StatusCode::kUnsupported, reason};
}

Status plan_on_host(plan::Plan& plan, const plan::Environment& environment) {
  const Policy policy = plan.policy;
  plan.policy.engine = EngineName::kAuto;
  if (!policy.ec.karatsuba) plan.policy.gauge = Gauge::kEntry;  // the stronger one, which the certificate needs
  KIZAMI_RETURN_IF_ERROR(ozaki2::plan_ozaki2_numerics(plan));
  KIZAMI_RETURN_IF_ERROR(ozaki2::plan_ozaki2_schedule(plan, environment));
  plan.policy = policy;
  if (policy.engine != EngineName::kAuto && policy.engine != EngineName::kTcModel) {
    return {StatusCode::kUnsupported, "engine " + std::string(to_string(policy.engine)) +
                                          " carries no floating-point products, which scheme ec needs"};
  }
  return plan_rungs(plan, environment);
}

/// What scheme ec cannot do whatever the shape, and wishes that belong to it alone.
Status validate(const problem::Shape& shape, const Policy& policy, product::MemorySpace /*space*/) {
  const auto refuse = [](StatusCode code, const std::string& reason) { return Status(code, reason); };
  if (policy.scheme != Scheme::kEc) {
    if (policy.ec != ErrorCorrection{}) {
      return refuse(StatusCode::kUnsupported, "variant = " + std::string(to_string(policy.ec.variant)) +
                                                  " and its settings need scheme ec, got " +
                                                  std::string(to_string(policy.scheme)));
    }
    if (policy.engine == EngineName::kTcModel && policy.scheme != Scheme::kOzaki1) {
      return refuse(StatusCode::kUnsupported,
                    "engine tc_model carries schemes ec and ozaki1 only, not " + std::string(to_string(policy.scheme)));
    }
    return {};
  }
  const int promotion_k = policy.ec.promotion_k;
  if (promotion_k < 0 || promotion_k > kMaxPromotionK || promotion_k % kPromotionUnit != 0) {
    return refuse(StatusCode::kInvalidArgument, "promotion_k = " + std::to_string(promotion_k) +
                                                    ", must be 0 or a multiple of " + std::to_string(kPromotionUnit) +
                                                    " up to " + std::to_string(kMaxPromotionK));
  }
  if (policy.ec.remainder_shift < -1 || policy.ec.remainder_shift > kMaxRemainderShift) {
    return refuse(StatusCode::kInvalidArgument, "remainder_shift = " + std::to_string(policy.ec.remainder_shift) +
                                                    ", must be in -1.." + std::to_string(kMaxRemainderShift));
  }
  if (policy.ec.truncate_parts && policy.ec.variant == EcVariant::kFeng)
    return refuse(StatusCode::kUnsupported, "truncate_parts = 1, must be 0 for variant feng: its split rounds");
  if (real_of(shape.scalar) != Scalar::kF32) {
    return refuse(StatusCode::kUnsupported,
                  "scheme ec: computes f32 and c64, got " + std::string(to_string(shape.scalar)) + "; use ozaki2");
  }
  if (policy.reproducibility == Reproducibility::kEngineToEngine) {
    return refuse(StatusCode::kUnsupported,
                  "scheme ec: rounds inside the tensor core, which reproducibility engine excludes");
  }
  if (policy.ec.karatsuba && (!is_complex(shape.scalar) || policy.gauge != Gauge::kNorm)) {
    return refuse(StatusCode::kUnsupported, "karatsuba: gauge = " + std::string(to_string(policy.gauge)) + " for " +
                                                std::string(to_string(shape.scalar)) +
                                                ", must be norm for c64: its imaginary part cancels");
  }
  if (policy.accuracy.kind == Accuracy::Kind::kCorrect) {
    return refuse(StatusCode::kAccuracyUnreachable, "scheme ec: rounds more than once, accuracy correct needs ozaki2");
  }
  if (policy.forced_moduli != 0) {
    return refuse(StatusCode::kUnsupported,
                  "moduli = " + std::to_string(policy.forced_moduli) + " needs scheme ozaki2, got ec");
  }
  return {};
}

/// By itself the planner chooses the scheme only on a device, where no bits are promised. Its predictions are of
/// operands within range; others cost more, and are as accurate.
plan::SchemeWish wish(const plan::Plan& plan) {
  const Policy& policy = plan.policy;
  if (policy.scheme == Scheme::kEc) return {plan::SchemeWish::Kind::kNamed};
  const bool may_be = plan::is_on_device(plan) && policy.scheme == Scheme::kAuto &&
                      real_of(plan.shape.scalar) == Scalar::kF32 &&
                      policy.reproducibility == Reproducibility::kNotGuaranteed && policy.forced_moduli == 0 &&
                      policy.accuracy.kind != Accuracy::Kind::kCorrect;
  return {may_be ? plan::SchemeWish::Kind::kMaybe : plan::SchemeWish::Kind::kNever};
}

Status plan_anywhere(plan::Plan& plan, const plan::Environment& environment) {
  return plan::is_on_device(plan) ? plan_device_ec(plan, environment) : plan_on_host(plan, environment);
}

}  // namespace

const plan::SchemePlanner kEcPlanner{validate, wish, plan_anywhere};

}  // namespace kizami::ec
