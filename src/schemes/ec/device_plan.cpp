// SPDX-License-Identifier: MIT
#include "schemes/ec/device_plan.hpp"

#include <algorithm>
#include <string>
#include <variant>

#include "device/batch_buffers.hpp"
#include "fp64/device_seconds.hpp"
#include "num/bounds.hpp"
#include "plan/text.hpp"
#include "schemes/ec/device_planes_plan.hpp"

namespace kizami::ec {
namespace {

using product::EcFormat;
using product::EcPromotion;

/// What range errors may take of a variant that is taken at its own bound, whatever that is.
constexpr double kWaivedBudget = 8 * 0x1p-24;
/// Multiplications from which profiles of lines are worth a launch that mostly finds nothing. On an H100 FP16 takes
/// 0.12 ms of half as many and TF32 0.13 ms more (docs/perf/h200_ec.md); the launch is predicted to take 1.5 us.
constexpr double kProfileWork = 0x1p34;

[[nodiscard]] std::int64_t forms(const plan::Plan& plan) { return is_complex(plan.shape.scalar) ? 2 : 1; }

/// The recipe of a variant with the order of sums of the kernels, where they carry it.
EcRecipe device_recipe(const plan::Plan& plan, EcVariant variant) {
  const ErrorCorrection& wishes = plan.policy.ec;
  EcRecipe recipe = ec_recipe(variant, wishes);
  if (variant != EcVariant::kScaled && variant != EcVariant::kScaledTf32) return recipe;
  const EcFormat format = variant == EcVariant::kScaled ? EcFormat::kF16 : EcFormat::kTf32;
  const auto extent = [](std::int64_t x) { return std::max<std::int64_t>(x, 1); };
  EcPromotion promotion = product::ec_promotion_for(extent(forms(plan) * plan.shape.m), extent(plan.shape.n),
                                                    extent(plan::num_terms(plan.shape)));
  if (wishes.promotion_k > 0) {
    // Of both stages, in stages of the kernel: TF32 is promoted after half as many elements.
    const EcFormat first = plan.policy.ec.variant == EcVariant::kScaledTf32 ? EcFormat::kTf32 : EcFormat::kF16;
    const auto* const named =
        std::find_if(std::begin(product::kEcPromotions), std::end(product::kEcPromotions),
                     [&](EcPromotion p) { return product::ec_promoted_length(first, p) == wishes.promotion_k; });
    if (named == std::end(product::kEcPromotions)) return recipe;
    promotion = *named;
  }
  const product::FloatProductDesc arithmetic = product::ec_arithmetic(format, promotion);
  recipe.k_interval = arithmetic.k_interval;
  recipe.intervals_promoted = arithmetic.intervals_promoted;
  recipe.sums[0].num_interleaved = arithmetic.sums[0].num_interleaved;
  return recipe;
}

/// The engine that the policy allows, and its offer for a rung; extents of empty products count as 1.
std::variant<product::Offer, product::Refusal> ask(const plan::Plan& plan, const EcRung& rung) {
  product::FloatProductDesc desc = device_ec_product(plan, rung, false);
  for (std::int64_t* extent : {&desc.m, &desc.n, &desc.k}) *extent = std::max<std::int64_t>(*extent, 1);
  return ec_of(plan).device_engine->query(desc, plan.schedule.facts);
}

Status choose_engine(plan::Plan& plan, const plan::Environment& environment) {
  for (const product::EcEngine* engine : environment.ec_engines) {
    if (plan.policy.engine != EngineName::kAuto && to_string(plan.policy.engine) != engine->name()) continue;
    plan::edit_stage<EcStage>(plan).device_engine = engine;
    return {};
  }
  if (plan.policy.engine == EngineName::kAuto)
    return {StatusCode::kUnsupported, "scheme ec: no engine here multiplies operands in device memory"};
  return {StatusCode::kUnsupported, "engine " + std::string(to_string(plan.policy.engine)) +
                                        " carries no products of scheme ec for operands in device memory"};
}

/// Adds the rung of a variant, unless its bound does not reach the target or the engine refuses it.
/// @return the reason of a refusal
Status add_rung(plan::Plan& plan, EcVariant variant, double target) {
  EcStage& stage = plan::edit_stage<EcStage>(plan);
  EcNumerics& ec = stage.numerics;
  const bool is_named = plan.policy.ec.variant == variant;
  if (plan.policy.ec.truncate_parts) {
    return {StatusCode::kUnsupported, "scheme ec: variant " + std::string(to_string(variant)) + ": engine " +
                                          std::string(stage.device_engine->name()) +
                                          ": truncate_parts = 1, must be 0: the kernels round parts to nearest"};
  }
  EcRung rung;
  rung.recipe = device_recipe(plan, variant);
  rung.core = ec_tensor_core(plan.policy.ec.tensor_core, rung.recipe.type);
  const auto answer = ask(plan, rung);
  if (const auto* const refusal = std::get_if<product::Refusal>(&answer)) {
    return {StatusCode::kUnsupported, "scheme ec: variant " + std::string(to_string(variant)) + ": engine " +
                                          std::string(stage.device_engine->name()) + ": " + refusal->reason};
  }
  const std::int64_t k = std::max<std::int64_t>(plan::num_terms(plan.shape), 1);
  rung.error = num::ec_bound(ec_error_terms(rung.recipe, rung.core), k) + kEcUnderflowError;
  double budget = target - rung.error;
  if (budget <= 0 && is_named && plan.policy.accuracy.kind == Accuracy::Kind::kNative) {
    budget = kWaivedBudget;
    stage.bound = std::max(stage.bound, rung.error + budget);
  }
  if (plan::is_empty(plan.shape)) budget = kWaivedBudget;  // such a product has no error
  if (budget <= 0) {
    return {StatusCode::kAccuracyUnreachable,
            "scheme ec: variant " + std::string(to_string(variant)) + " guarantees " + plan::short_number(rung.error) +
                " |A||B| at k = " + std::to_string(plan.shape.k) + ", wanted " + plan::short_number(target)};
  }
  if (ec.num_rungs == 0) {
    plan.schedule.seconds = std::get<product::Offer>(answer).seconds;
    const EcFormat format = ec_format(rung);
    const bool is_f16 = format == EcFormat::kF16;
    ec.limits = num::ec_range_limits(product::ec_top_exponent(format), is_f16 ? budget : 1.0);
    if (is_f16) ec.profile_limit = num::ec_profile_limit(budget, k);
  }
  ec.rungs[static_cast<std::size_t>(ec.num_rungs++)] = rung;
  return {};
}

/// What scheme ec cannot do here whatever the rungs.
Status validate(const plan::Plan& plan) {
  const Policy& policy = plan.policy;
  if (policy.ec.karatsuba) {
    return {
        StatusCode::kUnsupported,
        "karatsuba = true, must be false for operands in device memory: the kernels take four real products as one"};
  }
  if (policy.ec.check_range && !policy.allow_fp64_arithmetic && !policy.may_sync) {
    return {StatusCode::kUnsupported,
            "fp64 = refuse, must be allow in scheme ec unless sync = allowed, for operands in device "
            "memory"};
  }
  return {};
}

/// Everything but the product of the first rung, which is taken: split, decision, the kernels that are not needed; of so
/// many products together.
[[nodiscard]] double phase_seconds(const plan::Plan& plan, std::int64_t num_products) {
  // Decision, FP64 rung, and the gaps between launches: that of one product comes with its decision.
  const double untaken_seconds = num_products == 1 ? 4.5e-6 : 12e-6;
  // Planes of many products leave the cache before they are read (lab/results/h200/batch.jsonl).
  const double split_bytes_per_second = num_products == 1 ? 3.2e12 : 2.2e12;
  constexpr double kSplitSeconds = 1.5e-6;
  const double forms = is_complex(plan.shape.scalar) ? 2.0 : 1.0;
  const EcFormat format = ec_format(ec_of(plan).numerics.rungs[0]);
  const auto terms = static_cast<double>(plan::num_terms(plan.shape));
  const auto m = static_cast<double>(plan.shape.m);
  const auto n = static_cast<double>(plan.shape.n);
  const double split_bytes = format == EcFormat::kF16 ? 4.0 : 8.0;  // of a term of a line that is made
  const double bytes = ((m + n) * 4.0 + (forms * m + n) * split_bytes) * terms;
  return untaken_seconds +
         static_cast<double>(num_products) * bytes / (split_bytes_per_second * plan.schedule.facts.rates.memory) +
         kSplitSeconds;
}

/// Beyond the plan, of one product; without exceptions.
[[nodiscard]] double seconds_beyond(const plan::Plan& plan, const Effort& effort) {
  if (effort.stage < 0) return fp64::device_seconds_of_all(plan.shape, plan.schedule.facts.rates);
  const EcNumerics& ec = ec_of(plan).numerics;
  if (has_device_planes(plan) || effort.stage == 0 || effort.stage >= ec.num_rungs) return 0;
  const double parts = is_complex(plan.shape.scalar) ? 2.0 : 1.0;
  const double elements =
      (static_cast<double>(plan.shape.m) + static_cast<double>(plan.shape.n)) * static_cast<double>(plan.shape.k);
  // The split again, into twice the bytes, and the product of that rung for the first one's.
  constexpr double kSplitBytesPerSecond = 3.2e12;
  constexpr double kSplitBytes = 12;  // read and written, of a term
  const auto seconds = [&](int rung) {
    const product::FloatProductDesc desc = device_ec_product(plan, ec.rungs[static_cast<std::size_t>(rung)], false);
    const auto answer = ec_of(plan).device_engine->query(desc, plan.schedule.facts);
    const auto* const offer = std::get_if<product::Offer>(&answer);
    return offer == nullptr ? 0.0 : offer->seconds;
  };
  return seconds(effort.stage) - seconds(0) +
         elements * parts * kSplitBytes / (kSplitBytesPerSecond * plan.schedule.facts.rates.memory);
}

/// Rows of planes, which begin on 128 bytes.
std::int8_t* carve_planes(base::Carver& carver, std::int64_t rows, std::int64_t row_bytes) {
  constexpr std::int64_t kSlack = product::kEcBlockBytes - static_cast<std::int64_t>(base::Carver::kAlignment);
  const bool is_aligned = carver.mark() % product::kEcBlockBytes == 0;
  if (!is_aligned) static_cast<void>(carver.take<std::int8_t>(kSlack));
  return carver.take<std::int8_t>(rows, row_bytes);
}

DeviceEcLineBuffers carve_lines(base::Carver& carver, const plan::Plan& plan, std::int64_t lines, std::int64_t made,
                                std::int64_t num_products) {
  std::int64_t row_bytes = 0;
  for (int s = 0; s < ec_of(plan).numerics.num_rungs; ++s) {
    row_bytes =
        std::max(row_bytes, product::ec_line_bytes(ec_format(ec_of(plan).numerics.rungs[static_cast<std::size_t>(s)]),
                                                   plan::num_terms(plan.shape)));
  }
  DeviceEcLineBuffers buffers;
  buffers.planes_step = made * row_bytes;
  buffers.scales_step = base::round_up(made, 2);  // pairs of scales begin on 8 bytes
  buffers.stats_step = lines;
  buffers.planes = carve_planes(carver, num_products * made, row_bytes);
  buffers.scales = carver.take<std::int32_t>(num_products, buffers.scales_step);
  buffers.stats = carver.take<num::LineStats>(num_products, lines);
  return buffers;
}

/// Workspace of the larger of both ways to take operands.
[[nodiscard]] std::size_t bytes_of(const plan::Plan& plan, std::int64_t num_products) {
  std::size_t bytes = 0;
  for (const bool is_transposed : {false, true}) {
    base::Carver counter;
    static_cast<void>(carve_device_ec(counter, plan, is_transposed, num_products));
    bytes = std::max(bytes, counter.bytes());
  }
  return bytes;
}

/// Products whose phases are one launch each: as many as a workspace of kMostTogetherBytes holds, and the limit admits;
/// the batch in equal parts. 1 where each has launches of its own: a call that waits for what its elements decide, and
/// large products, which have profiles or a promotion that batches do not take.
[[nodiscard]] std::int64_t products_together(const plan::Plan& plan, std::size_t limit_bytes) {
  constexpr std::size_t kMostTogetherBytes = std::size_t{272} << 20;  // 64 products of 512 rows, columns and terms
  const std::int64_t num_products = plan.schedule.batch.num_products;
  if (num_products < 2 || plan::is_empty(plan.shape)) return 1;
  const EcNumerics& ec = ec_of(plan).numerics;
  if (plan.policy.may_sync || ec.takes_profiles || !product::takes_ec_batches(ec_promotion(ec.rungs[0]))) return 1;
  const auto fits = [&](std::int64_t count) {
    const std::size_t bytes = bytes_of(plan, count);
    return bytes <= kMostTogetherBytes &&
           device::device_together_bytes(plan.shape, plan.schedule.batch, bytes) <= limit_bytes;
  };
  std::int64_t fitting = 1;
  std::int64_t too_many = std::min(num_products, product::kMostEcProducts) + 1;
  while (too_many - fitting > 1) {
    const std::int64_t middle = fitting + (too_many - fitting) / 2;
    (fits(middle) ? fitting : too_many) = middle;
  }
  const std::int64_t parts = (num_products - 1) / fitting + 1;  // no sum exceeds the range: counts are up to 2^63 - 1
  return (num_products - 1) / parts + 1;
}

/// Predicted, of all products.
[[nodiscard]] double together_seconds(const plan::Plan& plan) {
  const auto seconds_of = [&](std::int64_t count) {
    const product::FloatProductDesc desc = device_ec_product(plan, ec_of(plan).numerics.rungs[0], false, count);
    const auto answer = ec_of(plan).device_engine->query(desc, plan.schedule.facts);
    const auto* const offer = std::get_if<product::Offer>(&answer);
    return (offer == nullptr ? 0.0 : offer->seconds) + phase_seconds(plan, count);
  };
  const std::int64_t num_products = plan.schedule.batch.num_products;
  const std::int64_t together = ec_of(plan).products_together;
  const std::int64_t last = num_products % together;
  return seconds_of(together) * static_cast<double>(num_products / together) + (last == 0 ? 0.0 : seconds_of(last));
}

}  // namespace

product::EcFormat ec_format(const EcRung& rung) {
  return rung.recipe.type == num::FloatType::kFp16 ? EcFormat::kF16 : EcFormat::kTf32;
}

product::EcPromotion ec_promotion(const EcRung& rung) {
  if (rung.recipe.intervals_promoted == 2) return EcPromotion::kLong;
  const bool is_short = rung.recipe.k_interval == product::ec_promoted_length(ec_format(rung), EcPromotion::kShort);
  return is_short ? EcPromotion::kShort : EcPromotion::kShortest;
}

DeviceEcBuffers carve_device_ec(base::Carver& carver, const plan::Plan& plan, bool is_transposed,
                                std::int64_t num_products) {
  DeviceEcBuffers buffers;
  buffers.state = carver.take<device::DeviceState>(1);
  if (plan::is_empty(plan.shape)) return buffers;
  const std::int64_t a_lines = is_transposed ? plan.shape.n : plan.shape.m;
  const std::int64_t b_lines = is_transposed ? plan.shape.m : plan.shape.n;
  buffers.reports_step = product::ec_most_reports(forms(plan) * a_lines, b_lines);
  buffers.reports = carver.take<product::EcReport>(num_products, buffers.reports_step);
  buffers.profiles = carver.take<num::EcProfiles>(1);
  buffers.made_product = carver.take<std::int32_t>(1);
  if (num_products > 1) buffers.pointers = carver.take<void*>(3, num_products);
  buffers.a = carve_lines(carver, plan, a_lines, forms(plan) * a_lines, num_products);
  buffers.b = carve_lines(carver, plan, b_lines, b_lines, num_products);
  return buffers;
}

DeviceEcPrepared carve_device_ec_prepared(base::Carver& carver, const plan::Plan& plan, std::int64_t num_lines) {
  const std::int64_t row_bytes =
      product::ec_line_bytes(ec_format(ec_of(plan).numerics.rungs[0]), plan::num_terms(plan.shape));
  DeviceEcPrepared kept;
  const auto carve = [&](std::int64_t made) -> DeviceEcPrepared::Split {
    DeviceEcPrepared::Split split;
    split.planes = carve_planes(carver, made, row_bytes);
    split.scales = carver.take<std::int32_t>(made);
    split.reports = carver.take<product::EcReport>(product::ec_most_reports(made, 0));
    return split;
  };
  kept.as[0] = carve(forms(plan) * num_lines);
  kept.as[1] = kept.as[0];
  kept.as[1].is_swapped = true;
  if (is_complex(plan.shape.scalar)) kept.as[1] = carve(num_lines);
  kept.stats = carver.take<num::LineStats>(num_lines);
  return kept;
}

product::FloatProductDesc device_ec_product(const plan::Plan& plan, const EcRung& rung, bool is_transposed,
                                            std::int64_t num_products) {
  product::FloatProductDesc desc = ec_arithmetic(rung.recipe, rung.core);
  desc.m = forms(plan) * (is_transposed ? plan.shape.n : plan.shape.m);
  desc.n = is_transposed ? plan.shape.m : plan.shape.n;
  desc.k = plan::num_terms(plan.shape);
  desc.num_products = num_products;
  return desc;
}

Status plan_device_ec(plan::Plan& plan, const plan::Environment& environment) {
  KIZAMI_RETURN_IF_ERROR(validate(plan));
  if (is_for_device_planes(plan.policy)) return plan_device_planes(plan, environment);
  KIZAMI_RETURN_IF_ERROR(choose_engine(plan, environment));
  const Policy& policy = plan.policy;
  const std::int64_t k = std::max<std::int64_t>(plan::num_terms(plan.shape), 1);
  const double target = num::target_bound(policy.accuracy, plan.shape.scalar, k);
  EcStage& stage = plan::edit_stage<EcStage>(plan);
  EcNumerics& ec = stage.numerics;
  stage.gauge = Gauge::kEntry;  // also where the weaker one is asked for
  stage.bound = target;
  ec.checks_range = policy.ec.check_range;

  const EcVariant first = policy.ec.variant == EcVariant::kAuto ? EcVariant::kScaled : policy.ec.variant;
  const Status status = add_rung(plan, first, target);
  const bool has_tf32_behind = first == EcVariant::kScaled && ec.checks_range;
  if (!status.ok() && (policy.ec.variant != EcVariant::kAuto || !has_tf32_behind)) return status;
  if (!status.ok()) plan.refusals.push_back(status.reason());
  if (has_tf32_behind) {
    const Status behind = add_rung(plan, EcVariant::kScaledTf32, target);
    if (!behind.ok() && ec.num_rungs == 0) return status;
    if (!behind.ok()) plan.refusals.push_back(behind.reason());
  }
  if (!ec.checks_range) stage.bound = ec.rungs[0].error;
  const product::FloatProductDesc work = device_ec_product(plan, ec.rungs[0], false);
  ec.takes_profiles =
      ec.checks_range && ec.profile_limit > 0 &&
      static_cast<double>(work.m) * static_cast<double>(work.n) * static_cast<double>(work.k) >= kProfileWork;

  const double pairwise = num::fp64_pairwise_bound(k) + num::result_rounding(plan.shape.scalar);
  stage.fp64_summation = pairwise <= stage.bound ? num::Fp64Summation::kPairwise : num::Fp64Summation::kCompensated;
  stage.has_fp64 = policy.allow_fp64_arithmetic && ec.checks_range;

  plan::Schedule& schedule = plan.schedule;
  const std::size_t limit = device::workspace_limit(policy.workspace_limit_bytes, schedule.facts);
  stage.products_together = products_together(plan, limit);
  schedule.product_bytes = bytes_of(plan, stage.products_together);
  if (stage.products_together > 1) {
    schedule.workspace_bytes = device::device_together_bytes(plan.shape, schedule.batch, schedule.product_bytes);
    schedule.seconds = together_seconds(plan);
    return {};
  }
  const std::size_t needed = device::device_batch_bytes(plan.shape, schedule.batch, schedule.product_bytes, limit);
  schedule.workspace_bytes = needed;
  schedule.seconds = plan::is_empty(plan.shape) ? 0.0
                                                : (schedule.seconds + phase_seconds(plan, 1)) *
                                                      static_cast<double>(schedule.batch.num_products);
  if (policy.workspace_limit_bytes == 0 || needed <= policy.workspace_limit_bytes) return {};
  return {StatusCode::kWorkspaceTooSmall, "workspace limit = " + std::to_string(policy.workspace_limit_bytes) +
                                              " bytes, must be >= " + std::to_string(needed) + " for scheme ec here"};
}

double device_ec_seconds_beyond(const plan::Plan& plan, const Effort& effort) {
  const double exceptions = effort.stage < 0 ? 0.0
                                             : fp64::device_seconds_of_elements(plan.shape, plan.schedule.facts.rates,
                                                                                effort.num_exceptions, false);
  return std::max(seconds_beyond(plan, effort), 0.0) * static_cast<double>(plan.schedule.batch.num_products) +
         exceptions;
}

}  // namespace kizami::ec
