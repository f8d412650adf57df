// SPDX-License-Identifier: MIT
#include "schemes/ozaki1/plan.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/int_math.hpp"
#include "plan/cheapest.hpp"
#include "plan/chunks.hpp"
#include "plan/text.hpp"
#include "product/engine_bytes.hpp"
#include "schemes/ozaki1/device_plan.hpp"
#include "schemes/ozaki2/plan.hpp"

namespace kizami::ozaki1 {
namespace {

using base::ceil_div;
using base::round_up;
using num::DigitRule;
using product::kPadBytes;

/// Least elements of k that a FP32 sum of named bits must hold: intervals of product::FloatProductDesc.
constexpr int kLeastFloatBlockBits = 4;

Status invalid(const std::string& name, std::int64_t value, const std::string& limit) {
  return {StatusCode::kInvalidArgument, name + " = " + std::to_string(value) + ", must be " + limit};
}
Status unsupported(const std::string& reason) { return {StatusCode::kUnsupported, "scheme ozaki1: " + reason}; }

Status validate_digits(const Slicing& wishes) {
  const bool is_int8 = wishes.format == SliceFormat::kInt8;
  const std::string format(to_string(wishes.format));
  if (!is_int8 && wishes.split != SliceSplit::kAuto && wishes.split != SliceSplit::kNearest)
    return unsupported("split " + std::string(to_string(wishes.split)) + " is of format int8, got " + format);
  int most =
      std::min(slice_significand(wishes.format), (slice_accumulator_bits(wishes.format) - kLeastFloatBlockBits) / 2);
  if (is_int8) most = wishes.split == SliceSplit::kNearest ? 6 : 7;
  if (wishes.slice_bits < 0 || wishes.slice_bits > most)
    return invalid("slice_bits", wishes.slice_bits, "in 0.." + std::to_string(most) + " for this format and split");
  if (wishes.split == SliceSplit::kBytes && wishes.slice_bits != 0 && wishes.slice_bits != 7)
    return invalid("slice_bits", wishes.slice_bits, "0 or 7 for split bytes");
  return {};
}

Status validate_counts(const Slicing& wishes) {
  if (wishes.num_slices < kUntilZero || wishes.num_slices > kMaxSlices)
    return invalid("slices", wishes.num_slices, "in -1.." + std::to_string(kMaxSlices));
  if (wishes.num_diagonals != 0 && wishes.num_slices == 0)
    return unsupported("diagonals = " + std::to_string(wishes.num_diagonals) + " needs slices by name");
  const int most = wishes.num_slices == kUntilZero ? 2 * kMaxSlices - 1 : 2 * wishes.num_slices - 1;
  if (wishes.num_diagonals < kAllPairs || wishes.num_diagonals > std::max(most, 0))
    return invalid("diagonals", wishes.num_diagonals, "-1, 0 or in 1.." + std::to_string(most));
  if (wishes.one_scale && wishes.num_slices == 0) return unsupported("slice_scale = matrix needs slices by name");
  return {};
}

Status validate_blocks(const Slicing& wishes) {
  if (wishes.block_lines < 0 || wishes.block_lines > kMaxSliceBlockLines)
    return invalid("slice_block", wishes.block_lines, "in 0.." + std::to_string(kMaxSliceBlockLines));
  if (wishes.num_streams < 0 || wishes.num_streams > kMaxSliceStreams)
    return invalid("slice_streams", wishes.num_streams, "in 0.." + std::to_string(kMaxSliceStreams));
  if (wishes.block_lines == 0 && wishes.num_streams == 0) return {};
  const std::string wanted = "slice_block = " + std::to_string(wishes.block_lines) +
                             " and slice_streams = " + std::to_string(wishes.num_streams) +
                             " with sums = " + std::string(to_string(wishes.sums));
  if (wishes.sums == SliceSums::kAuto || wishes.sums == SliceSums::kFused || wishes.sums == SliceSums::kRounded)
    return unsupported(wanted + ", must be pairs, grouped, concatenated or blocked");
  if (wishes.block_lines == 0 && wishes.sums != SliceSums::kBlocked)
    return unsupported(wanted + ", must be blocked, or have a slice_block: streams take blocks");
  return {};
}

Status validate_rounded_sums(const problem::Shape& shape, const Slicing& wishes) {
  if (wishes.sums != SliceSums::kRounded) return {};
  if (wishes.format != SliceFormat::kInt8)
    return unsupported("sums = rounded with format " + std::string(to_string(wishes.format)) + ", must be int8");
  if (wishes.num_slices <= 0)
    return unsupported("sums = rounded with slices = " + std::to_string(wishes.num_slices) +
                       ", must be a named number");
  if (wishes.complex_form == ComplexForm::kKaratsuba)
    return unsupported(
        "sums = rounded with complex_form = karatsuba, must be four or enlarged: it cancels, and with it the "
        "rounding errors grow");
  const std::int64_t widening = complex_form_of(wishes, shape.scalar) == ComplexForm::kEnlarged ? 2 : 1;
  const std::int64_t most =
      slice_sum_limit(wishes.format, slice_rule(wishes)) / widening / product::kWindowPad * product::kWindowPad;
  if (shape.k <= most) return {};
  return unsupported("sums = rounded with k = " + std::to_string(shape.k) + ", must be at most " +
                     std::to_string(most) + ": blocks of k would round otherwise");
}

/// The named slices and diagonals.
[[nodiscard]] SliceRung named_rung(const Slicing& wishes, const DigitRule& rule, std::int64_t k, double u) {
  SliceRung rung;
  const bool until_zero = wishes.num_slices == kUntilZero;
  rung.num_slices = until_zero ? kMaxSlices : wishes.num_slices;
  const int all = 2 * rung.num_slices - 1;
  if (wishes.num_diagonals == kAllPairs || (wishes.num_diagonals == 0 && until_zero)) {
    rung.num_diagonals = all;
  } else if (wishes.num_diagonals > 0) {
    rung.num_diagonals = wishes.num_diagonals;
  } else {
    rung.num_diagonals =
        wishes.format == SliceFormat::kInt8 ? rung.num_slices : num::sufficient_diagonals(rule, rung.num_slices, k, u);
  }
  rung.num_slices = std::min(rung.num_slices, rung.num_diagonals);  // the others meet no partner
  return rung;
}

/// Digits of sums of two parts are kept to num::kKaratsubaBits.
[[nodiscard]] int most_slices(const SliceNumerics& slices) {
  return slices.complex_form == ComplexForm::kKaratsuba ? std::min(kMaxSlices, num::kKaratsubaBits / slices.rule.step)
                                                        : kMaxSlices;
}

}  // namespace

Status validate_slices(const problem::Shape& shape, const Policy& policy) {
  const Slicing& wishes = policy.slices;
  if (policy.scheme != Scheme::kOzaki1) {
    if (wishes == Slicing{}) return {};
    return {StatusCode::kUnsupported,
            "the settings of slices need scheme ozaki1, got " + std::string(to_string(policy.scheme))};
  }
  KIZAMI_RETURN_IF_ERROR(validate_digits(wishes));
  KIZAMI_RETURN_IF_ERROR(validate_counts(wishes));
  KIZAMI_RETURN_IF_ERROR(validate_rounded_sums(shape, wishes));
  KIZAMI_RETURN_IF_ERROR(validate_blocks(wishes));
  if (shape.scalar == Scalar::kDD) return unsupported("computes f32, f64, c64 and c128, got dd; use ozaki2");
  if (policy.accuracy.kind == Accuracy::Kind::kCorrect)
    return {StatusCode::kAccuracyUnreachable, "scheme ozaki1: drops products, accuracy correct needs ozaki2"};
  if (policy.forced_moduli != 0)
    return {StatusCode::kUnsupported,
            "moduli = " + std::to_string(policy.forced_moduli) + " needs scheme ozaki2, got ozaki1"};
  if (wishes.complex_form != ComplexForm::kAuto && !is_complex(shape.scalar)) {
    return unsupported("complex_form = " + std::string(to_string(wishes.complex_form)) + ", must be auto for " +
                       std::string(to_string(shape.scalar)));
  }
  if (wishes.complex_form == ComplexForm::kKaratsuba && wants_certificate(policy))
    return unsupported("complex_form = karatsuba with gauge = entry, must be norm: its imaginary part cancels");
  const bool is_int8 = wishes.format == SliceFormat::kInt8;
  const EngineName engine = policy.engine;
  const bool is_of_bytes = engine == EngineName::kCpuRef || engine == EngineName::kCpuSimd;
  if (engine == EngineName::kNativeBlas || (is_int8 ? engine == EngineName::kTcModel : is_of_bytes)) {
    return unsupported("engine " + std::string(to_string(policy.engine)) + " carries no products of format " +
                       std::string(to_string(wishes.format)));
  }
  return {};
}

bool wants_certificate(const Policy& policy) { return policy.slices.num_slices == 0 && policy.gauge == Gauge::kEntry; }

ComplexForm complex_form_of(const Slicing& wishes, Scalar scalar) {
  if (!is_complex(scalar) || wishes.complex_form != ComplexForm::kAuto) return wishes.complex_form;
  return wishes.format == SliceFormat::kInt8 ? ComplexForm::kEnlarged : ComplexForm::kFourProducts;
}

Status plan_slice_numerics(plan::Plan& plan, ComplexForm form) {
  const Slicing& wishes = plan.policy.slices;
  Ozaki1Stage& stage = plan::edit_stage<Ozaki1Stage>(plan);
  SliceNumerics& slices = stage.numerics;
  slices = {};
  slices.format = wishes.format;
  slices.rule = slice_rule(wishes);
  slices.one_scale = wishes.one_scale;
  slices.rounds_sums = wishes.sums == SliceSums::kRounded;
  slices.complex_form = form;
  const Scalar scalar = plan.shape.scalar;
  const std::int64_t k = std::max<std::int64_t>(plan::num_terms(plan.shape), 1);
  const double rounding = num::result_rounding(scalar);
  const double target = num::target_bound(plan.policy.accuracy, scalar, k);
  const double budget = num::truncation_budget(target, scalar);
  const double forms = slices.complex_form == ComplexForm::kKaratsuba ? num::kKaratsubaErrors : 1.0;
  const auto norm_bound = [&](const SliceRung& rung) {
    return forms * num::slices_norm_bound(slices.rule, rung.num_slices, rung.num_diagonals, k);
  };
  if (wishes.num_slices != 0) {
    slices.until_zero = wishes.num_slices == kUntilZero;
    SliceRung rung = named_rung(wishes, slices.rule, k, num::unit_roundoff(scalar));
    slices.takes_all_pairs = rung.num_diagonals == 2 * rung.num_slices - 1;
    if (rung.num_slices > most_slices(slices)) {
      if (!slices.until_zero) {
        return unsupported("karatsuba: " + std::to_string(rung.num_slices) + " slices, must be at most " +
                           std::to_string(most_slices(slices)) + ": sums of parts have " +
                           std::to_string(num::kKaratsubaBits) + " bits");
      }
      rung.num_slices = most_slices(slices);
      rung.num_diagonals = std::min(rung.num_diagonals, 2 * rung.num_slices - 1);
    }
    slices.rungs[0] = rung;
    slices.num_rungs = 1;
    stage.gauge = Gauge::kNorm;
    const int num_products =
        num::num_slice_products(rung.num_slices, rung.num_diagonals) * (is_complex(scalar) ? 2 : 1);
    const double truncation =
        norm_bound(rung) + (slices.rounds_sums ? num::rounded_sums_norm_bound(slices.rule, num_products) : 0.0);
    stage.bound = truncation + (1.0 + truncation) * rounding;
    return {};
  }
  stage.gauge = plan.policy.gauge;
  stage.bound = target;
  double best = 1e300;
  for (int l = 1; l <= most_slices(slices) && slices.num_rungs < kMaxSliceRungs; ++l) {
    const SliceRung rung{l, l};
    best = std::min(best, norm_bound(rung));
    if (plan.policy.gauge == Gauge::kNorm) {
      if (norm_bound(rung) > budget) continue;
      slices.rungs[0] = rung;
      slices.num_rungs = 1;
      return {};
    }
    const double residual = forms * num::digit_residual(slices.rule, l);
    const double dropped = num::dropped_pairs(slices.rule, l, l) / num::digit_residual(slices.rule, l);
    // Lines of many digits and |a|, |b| < 2 have k Q <= budget 4 k at least.
    const double allowance = budget / residual * num::kSlackDown;
    if (slices.num_rungs == 0 && allowance < std::max(1.0, 0.25 * dropped)) continue;
    slices.dropped_share = std::max(slices.dropped_share, static_cast<double>(k) * dropped);
    slices.ladder.rungs[static_cast<std::size_t>(slices.num_rungs)].allowance = num::certified_allowance(allowance, k);
    slices.rungs[static_cast<std::size_t>(slices.num_rungs++)] = rung;
    slices.ladder.num_rungs = slices.num_rungs;
  }
  if (slices.num_rungs > 0) return {};
  return {StatusCode::kAccuracyUnreachable,
          "scheme ozaki1: " + std::to_string(most_slices(slices)) + " slices guarantee " + plan::short_number(best) +
              " ||a_i|| ||b_j|| at k = " + std::to_string(plan.shape.k) + ", wanted " + plan::short_number(target)};
}

std::int64_t slice_numbers(const plan::Plan& plan, std::int64_t elements) {
  return ozaki1_of(plan).numerics.complex_form == ComplexForm::kEnlarged ? 2 * elements : elements;
}

std::int64_t slice_stride(const plan::Plan& plan, std::int64_t elements) {
  return round_up(slice_numbers(plan, elements), kPadBytes);
}

int slice_sum_words(const plan::Plan& plan) {
  const SliceNumerics& slices = ozaki1_of(plan).numerics;
  if (slices.rounds_sums) return 1;
  const int bits = num::slice_sum_bits(slices.rule, slices.last().num_diagonals,
                                       std::max<std::int64_t>(plan::num_terms(plan.shape), 1));
  return std::max(2, (bits + 63) / 64);
}

int slices_per_sum(const plan::Plan& plan, std::int64_t elements) {
  const SliceNumerics& slices = ozaki1_of(plan).numerics;
  const std::int64_t limit = slice_sum_limit(slices.format, slices.rule);
  const std::int64_t numbers = std::max<std::int64_t>(1, slice_numbers(plan, elements));
  return static_cast<int>(std::clamp<std::int64_t>(limit / numbers, 1, slices.last().num_slices));
}

product::ProductDesc slice_product(const plan::Plan& plan, int count, bool is_concatenated) {
  const plan::Chunk& chunk = ozaki1_of(plan).chunk;
  const SliceNumerics& slices = ozaki1_of(plan).numerics;
  const SlicedForm form = sliced_form(is_complex(plan.shape.scalar), slices.complex_form);
  const std::int64_t stride = slice_stride(plan, chunk.kc);
  product::ProductDesc desc;
  desc.m = form.num_stacked * chunk.mc;
  desc.n = chunk.nc;
  desc.k = is_concatenated ? count * stride : slice_numbers(plan, std::min(chunk.kc, plan.shape.k));
  desc.num_products = is_concatenated ? 1 : count;
  desc.epilogue = product::Epilogue::kStoreAcc;
  desc.a_row_stride = desc.b_row_stride = slices.last().num_slices * stride;
  desc.a_plane_stride = desc.b_plane_stride = stride;
  desc.c_col_stride = desc.m;
  // Shapes that no memory holds are planned, too, before they are refused.
  desc.c_plane_stride = static_cast<std::int64_t>(std::min<std::size_t>(
      INT64_MAX, base::saturating_mul(static_cast<std::size_t>(desc.n), static_cast<std::size_t>(desc.c_col_stride))));
  return desc;
}

product::FloatProductDesc float_slice_product(const plan::Plan& plan, int count) {
  const product::ProductDesc like = slice_product(plan, count, true);
  const SliceNumerics& slices = ozaki1_of(plan).numerics;
  product::FloatProductDesc desc;
  desc.type = slice_float_type(slices.format);
  desc.core = num::hopper_tensor_core(desc.type);
  desc.m = like.m;
  desc.n = like.n;
  desc.k = count == 1 ? slice_numbers(plan, std::min(ozaki1_of(plan).chunk.kc, plan.shape.k)) : like.k;
  desc.k_interval = round_up(std::max<std::int64_t>(desc.k, 1), product::kIntervalUnit);
  desc.sums[0].num_pairs = 1;
  desc.sums[0].promotes = false;
  desc.a_row_stride = like.a_row_stride;
  desc.b_row_stride = like.b_row_stride;
  desc.c_col_stride = like.c_col_stride;
  return desc;
}

namespace {

/// Products of one launch at most, and slices of one product.
struct LaunchCounts {
  int planes = 1;
  int concatenated = 1;
};
[[nodiscard]] LaunchCounts launch_counts(const plan::Plan& plan) {
  const SliceNumerics& slices = ozaki1_of(plan).numerics;
  const int l = slices.last().num_slices;
  const std::int64_t stride = slice_stride(plan, ozaki1_of(plan).chunk.kc);
  LaunchCounts counts;
  if (ozaki1_of(plan).sums == SliceSums::kConcatenated) {
    const std::int64_t limit = slice_sum_limit(slices.format, slices.rule);
    counts.concatenated = static_cast<int>(std::clamp<std::int64_t>(limit / std::max(stride, kPadBytes), 1, l));
  } else if (slices.format == SliceFormat::kInt8) {
    counts.planes = l;
  }
  return counts;
}

std::variant<product::Offer, product::Refusal> query(const plan::Plan& plan, const LaunchCounts& counts) {
  if (ozaki1_of(plan).numerics.format != SliceFormat::kInt8)
    return ozaki1_of(plan).float_engine->query(float_slice_product(plan, counts.concatenated), plan.schedule.facts);
  const bool is_concatenated = counts.concatenated > 1;
  return ozaki1_of(plan).engine->query(
      slice_product(plan, is_concatenated ? counts.concatenated : counts.planes, is_concatenated), plan.schedule.facts);
}

/// The most scratch that the planned engine asks for, over all launches of all rungs, extents and counts.
[[nodiscard]] std::size_t launch_bytes(const plan::Plan& plan, const LaunchCounts& counts) {
  const plan::Chunk& chunk = ozaki1_of(plan).chunk;
  const std::int64_t stacked =
      sliced_form(is_complex(plan.shape.scalar), ozaki1_of(plan).numerics.complex_form).num_stacked;
  const product::Extents ms(stacked * plan.shape.m, stacked * chunk.mc);
  const product::Extents ns(plan.shape.n, chunk.nc);
  const product::Engine& engine = *ozaki1_of(plan).engine;
  std::size_t most = 0;
  for (const std::int64_t elements : product::Extents(plan.shape.k, chunk.kc)) {
    const std::int64_t numbers = slice_numbers(plan, elements);
    for (int count = 1; count <= counts.planes; ++count)
      most = std::max(most, product::engine_bytes(engine, plan.schedule.facts, slice_product(plan, count, false), ms,
                                                  ns, {numbers, numbers}));
    for (int count = 2; count <= counts.concatenated; ++count) {
      const std::int64_t k = count * slice_stride(plan, elements);
      most = std::max(
          most, product::engine_bytes(engine, plan.schedule.facts, slice_product(plan, count, true), ms, ns, {k, k}));
    }
  }
  return most;
}

[[nodiscard]] std::size_t booked_bytes(const plan::Plan& plan) {
  base::Carver counter;
  static_cast<void>(carve_slices(counter, plan));
  return counter.bytes();
}

/// @param keeps_k all of k must stay together
bool shrink(plan::Chunk& chunk, bool keeps_k) {
  std::int64_t& longer = chunk.mc >= chunk.nc ? chunk.mc : chunk.nc;
  if (keeps_k) return plan::halve(longer, 1, 1);
  return (chunk.kc > 4096 && plan::halve(chunk.kc, 4096, kPadBytes)) || (longer > 256 && plan::halve(longer, 256, 1)) ||
         plan::halve(chunk.kc, 512, kPadBytes) || plan::halve(longer, 1, 1) ||
         plan::halve(chunk.kc, kPadBytes, kPadBytes);
}

/// Chunks within the limit, or within what scheme ozaki2 was granted above it. @return whether they are
bool plan_slice_chunk(plan::Plan& plan) {
  const problem::Shape& shape = plan.shape;
  const SliceNumerics& slices = ozaki1_of(plan).numerics;
  const std::size_t limit =
      plan.policy.workspace_limit_bytes == 0 ? plan::kDefaultWorkspaceLimit : plan.policy.workspace_limit_bytes;
  const std::size_t granted = std::max(limit, plan.schedule.workspace_bytes);
  const std::int64_t most_numbers = slice_sum_limit(slices.format, slices.rule);
  plan::Chunk& chunk = plan::edit_stage<Ozaki1Stage>(plan).chunk;
  chunk = {shape.m, shape.n, std::min(std::max<std::int64_t>(shape.k, 1), most_numbers / slice_numbers(plan, 1))};
  if (slices.format == SliceFormat::kInt8 && chunk.kc < shape.k) chunk.kc = chunk.kc / kPadBytes * kPadBytes;
  const int wanted_lines = plan.policy.slices.block_lines;
  if (wanted_lines > 0 || plan.policy.slices.sums == SliceSums::kBlocked) {
    std::int64_t& longer = chunk.mc >= chunk.nc ? chunk.mc : chunk.nc;
    longer = std::min<std::int64_t>(longer, wanted_lines > 0 ? wanted_lines : kSliceBlockLines);
  }
  while (booked_bytes(plan) > granted && shrink(chunk, slices.rounds_sums)) {
  }
  plan.schedule.workspace_bytes = booked_bytes(plan);
  return plan.schedule.workspace_bytes <= granted;
}

/// Seconds of all launches and of everything else, from the offer of the largest launch.
[[nodiscard]] double predicted_seconds(const plan::Plan& plan, const product::Offer& offer,
                                       const LaunchCounts& counts) {
  constexpr double kSliceSeconds = 3e-9;  // a digit of an operand; unmeasured
  constexpr double kSumSeconds = 3e-9;    // a product added to an exact sum; unmeasured
  const SliceNumerics& slices = ozaki1_of(plan).numerics;
  const plan::Chunk& chunk = ozaki1_of(plan).chunk;
  const SlicedForm form = sliced_form(is_complex(plan.shape.scalar), slices.complex_form);
  const int l = slices.rungs[0].num_slices;
  const double products = form.num_products * num::num_slice_products(l, slices.rungs[0].num_diagonals);
  const auto passes = [](std::int64_t extent, std::int64_t part) {
    return extent == 0 ? 0.0 : static_cast<double>(ceil_div(extent, part));
  };
  const double blocks = passes(plan.shape.k, chunk.kc);
  const auto m = static_cast<double>(plan.shape.m);
  const auto n = static_cast<double>(plan.shape.n);
  const double engine = offer.seconds * products / std::max(counts.planes, counts.concatenated) * blocks *
                        passes(plan.shape.m, chunk.mc) * passes(plan.shape.n, chunk.nc);
  const double split = kSliceSeconds * form.num_parts * l * (m + n) * static_cast<double>(plan.shape.k);
  const double sums = kSumSeconds * products / counts.concatenated * blocks * m * n;
  return engine + (split + sums) / plan.schedule.facts.num_threads;
}

}  // namespace

SliceBuffers carve_slices(base::Carver& carver, const plan::Plan& plan) {
  SliceBuffers buffers;
  buffers.behind = ozaki2::carve(carver, plan);
  carver.rewind(buffers.behind.shared_mark);
  const plan::Chunk& chunk = ozaki1_of(plan).chunk;
  const SliceNumerics& slices = ozaki1_of(plan).numerics;
  const SlicedForm form = sliced_form(is_complex(plan.shape.scalar), slices.complex_form);
  const std::int64_t row = slices.last().num_slices * slice_stride(plan, chunk.kc) * slice_element_bytes(slices.format);
  const LaunchCounts counts = launch_counts(plan);
  buffers.a = carver.take<std::byte>(form.num_parts, chunk.mc, row);
  buffers.b = carver.take<std::byte>(form.b_parts(), chunk.nc, row);
  buffers.acc = carver.take<std::int32_t>(counts.planes, form.num_stacked, chunk.nc, chunk.mc);
  buffers.sums =
      carver.take<std::uint64_t>(is_complex(plan.shape.scalar) ? 2 : 1, chunk.nc, chunk.mc, slice_sum_words(plan));
  if (slices.format == SliceFormat::kInt8) {
    buffers.engine_bytes = ozaki1_of(plan).engine_bytes ? *ozaki1_of(plan).engine_bytes : launch_bytes(plan, counts);
  }
  buffers.engine = carver.take<std::byte>(buffers.engine_bytes);
  return buffers;
}

Status plan_slice_schedule(plan::Plan& plan, const plan::Environment& environment) {
  const bool is_int8 = ozaki1_of(plan).numerics.format == SliceFormat::kInt8;
  plan::edit_stage<Ozaki1Stage>(plan).sums =
      plan.policy.slices.sums == SliceSums::kAuto ? SliceSums::kConcatenated : plan.policy.slices.sums;
  if (plan.policy.slices.sums == SliceSums::kFused)
    return unsupported("sums = fused is of engine hopper, for operands in device memory");
  plan::Cheapest cheapest(plan);
  // `put` makes an engine that of a plan.
  const auto try_engine = [&](std::string_view name, const auto& put) {
    if (!cheapest.may_be(name)) return;
    plan::Plan candidate = plan;
    put(candidate);
    if (!plan_slice_chunk(candidate)) {
      cheapest.wants_workspace(name, candidate.schedule.workspace_bytes);
      return;
    }
    const LaunchCounts counts = launch_counts(candidate);
    const auto answer = query(candidate, counts);
    if (const auto* const refusal = std::get_if<product::Refusal>(&answer)) {
      cheapest.refuses(name, refusal->reason);
      return;
    }
    candidate.schedule.seconds = predicted_seconds(candidate, std::get<product::Offer>(answer), counts);
    cheapest.offers(name, std::move(candidate));
  };
  if (!is_int8) {
    for (const product::FloatEngine* engine : environment.float_engines)
      try_engine(engine->name(), [&](plan::Plan& p) { plan::edit_stage<Ozaki1Stage>(p).float_engine = engine; });
  } else if (ozaki2::ozaki2_of(plan).engine != nullptr) {
    const product::Engine* const engine = ozaki2::ozaki2_of(plan).engine;  // of the certificate
    try_engine(engine->name(), [&](plan::Plan& p) { plan::edit_stage<Ozaki1Stage>(p).engine = engine; });
  } else {
    for (const product::Engine* engine : environment.engines)
      try_engine(engine->name(), [&](plan::Plan& p) { plan::edit_stage<Ozaki1Stage>(p).engine = engine; });
  }
  return std::move(cheapest).take(plan, Scheme::kOzaki1);
}

namespace {

/// Behind a certificate scheme ozaki2 of the same accuracy, and then its own slices.
Status plan_on_host(plan::Plan& plan, const plan::Environment& environment) {
  if (wants_certificate(plan.policy)) {
    const EngineName engine = plan.policy.engine;
    if (plan.policy.slices.format != SliceFormat::kInt8) plan.policy.engine = EngineName::kAuto;
    KIZAMI_RETURN_IF_ERROR(ozaki2::plan_ozaki2_numerics(plan));
    KIZAMI_RETURN_IF_ERROR(ozaki2::plan_ozaki2_schedule(plan, environment));
    plan.policy.engine = engine;
  }
  KIZAMI_RETURN_IF_ERROR(plan_slice_numerics(plan, complex_form_of(plan.policy.slices, plan.shape.scalar)));
  return plan_slice_schedule(plan, environment);
}

Status validate(const problem::Shape& shape, const Policy& policy, product::MemorySpace /*space*/) {
  return validate_slices(shape, policy);
}

/// By itself the planner chooses the scheme only on a device, where no bits are promised, in gauge norm, where it needs
/// no certificate.
plan::SchemeWish wish(const plan::Plan& plan) {
  const Policy& policy = plan.policy;
  if (policy.scheme == Scheme::kOzaki1) return {plan::SchemeWish::Kind::kNamed};
  const bool may_be = plan::is_on_device(plan) && policy.scheme == Scheme::kAuto && policy.gauge == Gauge::kNorm &&
                      policy.reproducibility == Reproducibility::kNotGuaranteed && policy.forced_moduli == 0 &&
                      policy.accuracy.kind != Accuracy::Kind::kCorrect;
  return {may_be ? plan::SchemeWish::Kind::kMaybe : plan::SchemeWish::Kind::kNever};
}

Status plan_anywhere(plan::Plan& plan, const plan::Environment& environment) {
  return plan::is_on_device(plan) ? plan_device_ozaki1(plan, environment) : plan_on_host(plan, environment);
}

}  // namespace

const plan::SchemePlanner kOzaki1Planner{validate, wish, plan_anywhere};

}  // namespace kizami::ozaki1
