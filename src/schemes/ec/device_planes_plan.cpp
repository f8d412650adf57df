// SPDX-License-Identifier: MIT
#include "schemes/ec/device_planes_plan.hpp"

#include <algorithm>
#include <string>
#include <variant>

#include "device/batch_buffers.hpp"
#include "num/bounds.hpp"
#include "plan/text.hpp"
#include "schemes/ec/plan.hpp"

namespace kizami::ec {
namespace {

/// Bytes of the engine's scratch for the product of a plan.
[[nodiscard]] std::size_t engine_bytes(const plan::Plan& plan) {
  const auto answer = ec_of(plan).engine->query(ec_product(plan, 0), plan.schedule.facts);
  const auto* const offer = std::get_if<product::Offer>(&answer);
  return offer == nullptr ? 0 : offer->workspace_bytes;
}

/// What only this way cannot do.
Status validate(const Policy& policy) {
  if (!policy.ec.check_range) return {};
  return {StatusCode::kUnsupported, "check_range = 1, must be 0 for variant " +
                                        std::string(to_string(policy.ec.variant)) +
                                        " in device memory: nobody looks there for operands beyond its range"};
}

Status choose_planes_engine(plan::Plan& plan, const plan::Environment& environment) {
  std::string reason = "scheme ec: variant " + std::string(to_string(plan.policy.ec.variant)) +
                       ": no engine here multiplies planes in device memory";
  for (const product::FloatEngine* engine : environment.float_engines) {
    if (plan.policy.engine != EngineName::kAuto && to_string(plan.policy.engine) != engine->name()) continue;
    const auto answer = engine->query(ec_product(plan, 0), plan.schedule.facts);
    if (const auto* const refusal = std::get_if<product::Refusal>(&answer)) {
      reason += "; " + std::string(engine->name()) + ": " + refusal->reason;
      continue;
    }
    plan::edit_stage<EcStage>(plan).engine = engine;
    plan.schedule.seconds = std::get<product::Offer>(answer).seconds * ec_products(plan);
    return {};
  }
  return {StatusCode::kUnsupported, reason};
}

/// Everything but the products: statistics, planes, sums.
[[nodiscard]] double phase_seconds(const plan::Plan& plan) {
  constexpr double kLaunches = 2e-5;
  constexpr double kBytesPerSecond = 1.1e12;  // on an H200, what n = 4096 and 8192 leave beside products
  const EcRecipe& recipe = ec_of(plan).numerics.rungs[0].recipe;
  const double part_bytes = recipe.split.num_parts * static_cast<double>(num::element_bytes(recipe.type));
  const auto m = static_cast<double>(plan.shape.m);
  const auto n = static_cast<double>(plan.shape.n);
  const double bytes = (m + n) * static_cast<double>(ec_terms(plan)) * (8.0 + part_bytes) + 12.0 * m * n;
  return kLaunches + bytes * ec_products(plan) / (kBytesPerSecond * plan.schedule.facts.rates.memory);
}

DevicePlaneBuffers carve_operand(base::Carver& carver, const plan::Plan& plan, std::int64_t lines) {
  const EcRecipe& recipe = ec_of(plan).numerics.rungs[0].recipe;
  DevicePlaneBuffers buffers;
  buffers.stats = carver.take<num::LineStats>(lines);
  buffers.scales = carver.take<std::int32_t>(lines);
  buffers.planes = carver.take<std::byte>(
      recipe.split.num_parts, lines, ec_row_elems(plan, recipe.type) * std::int64_t{num::element_bytes(recipe.type)});
  return buffers;
}

}  // namespace

DevicePlanesBuffers carve_device_planes(base::Carver& carver, const plan::Plan& plan) {
  DevicePlanesBuffers buffers;
  buffers.state = carver.take<device::DeviceState>(1);
  if (plan::is_empty(plan.shape)) return buffers;
  buffers.a = carve_operand(carver, plan, plan.shape.m);
  buffers.b = carve_operand(carver, plan, plan.shape.n);
  buffers.sums = carver.take<float>(ec_products(plan), plan.shape.n, plan.shape.m);
  buffers.engine = carver.take<std::byte>(engine_bytes(plan));
  return buffers;
}

bool is_for_device_planes(const Policy& policy) {
  if (policy.engine == EngineName::kMma) return true;
  const EcVariant variant = policy.ec.variant;
  return policy.engine == EngineName::kAuto && variant != EcVariant::kAuto && variant != EcVariant::kScaled &&
         variant != EcVariant::kScaledTf32;
}

bool has_device_planes(const plan::Plan& plan) {
  return plan::is_on_device(plan) && ec_of(plan).device_engine == nullptr;
}

Status plan_device_planes(plan::Plan& plan, const plan::Environment& environment) {
  const Policy& policy = plan.policy;
  KIZAMI_RETURN_IF_ERROR(validate(policy));
  const std::int64_t k = std::max<std::int64_t>(plan::num_terms(plan.shape), 1);
  const double target = num::target_bound(policy.accuracy, plan.shape.scalar, k);
  EcStage& stage = plan::edit_stage<EcStage>(plan);
  stage.gauge = Gauge::kEntry;  // also where the weaker one is asked for
  stage.chunk = {plan.shape.m, plan.shape.n, plan.shape.k};
  EcNumerics& ec = stage.numerics;
  ec.checks_range = false;
  EcRung& rung = ec.rungs[0];
  rung.recipe = ec_recipe(policy.ec.variant, policy.ec);
  rung.core = ec_tensor_core(policy.ec.tensor_core, rung.recipe.type);
  rung.error = num::ec_bound(ec_error_terms(rung.recipe, rung.core), k) + kEcUnderflowError;
  ec.num_rungs = 1;
  const bool is_named = policy.ec.variant != EcVariant::kAuto;
  const bool is_waived = is_named && policy.accuracy.kind == Accuracy::Kind::kNative;
  if (rung.error > target && !is_waived && !plan::is_empty(plan.shape)) {
    return {StatusCode::kAccuracyUnreachable, "scheme ec: variant " + std::string(to_string(rung.recipe.variant)) +
                                                  " guarantees " + plan::short_number(rung.error) +
                                                  " |A||B| at k = " + std::to_string(plan.shape.k) + ", wanted " +
                                                  plan::short_number(target)};
  }
  stage.bound = rung.error;
  KIZAMI_RETURN_IF_ERROR(choose_planes_engine(plan, environment));

  base::Carver counter;
  static_cast<void>(carve_device_planes(counter, plan));
  plan.schedule.product_bytes = counter.bytes();
  const std::size_t limit = device::workspace_limit(policy.workspace_limit_bytes, plan.schedule.facts);
  const std::size_t needed = device::device_batch_bytes(plan.shape, plan.schedule.batch, counter.bytes(), limit);
  plan.schedule.workspace_bytes = needed;
  plan.schedule.seconds = plan::is_empty(plan.shape) ? 0.0
                                                     : (plan.schedule.seconds + phase_seconds(plan)) *
                                                           static_cast<double>(plan.schedule.batch.num_products);
  if (policy.workspace_limit_bytes == 0 || needed <= policy.workspace_limit_bytes) return {};
  return {StatusCode::kWorkspaceTooSmall, "workspace limit = " + std::to_string(policy.workspace_limit_bytes) +
                                              " bytes, must be >= " + std::to_string(needed) + " for scheme ec here"};
}

}  // namespace kizami::ec
