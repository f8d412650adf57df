// SPDX-License-Identifier: MIT
#include "schemes/ozaki1/device_plan.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/int_math.hpp"
#include "certify/device_certificate_plan.hpp"
#include "device/batch_buffers.hpp"
#include "plan/cheapest.hpp"
#include "product/engine_bytes.hpp"
#include "schemes/ozaki1/device_rungs_plan.hpp"
#include "schemes/ozaki1/plan.hpp"
#include "schemes/ozaki2/plan.hpp"

namespace kizami::ozaki1 {
namespace {

using base::ceil_div;
using base::round_up;
using product::kWindowPad;

/// Blocks of ozIMMU_EF_L, and blocks for libraries that are slow where both operands have many lines. Measured:
/// docs/perf/h200_slices.md.
constexpr SliceBlocks kStreamedBlocks{.lines = 2048, .num_streams = 2};
constexpr SliceBlocks kLargeBlocks{.lines = 2048, .num_streams = 1};
constexpr std::int64_t kMostLinesWhole = 8192;

/// Bits of the factors within a group, and its planes: |sum| <= 2^4 2^31 2^26 < 2^62.
constexpr int kMostFactorBits = 26;
constexpr int kMostGroupPlanes = 16;

Status unsupported_on_device(const std::string& what) {
  return {StatusCode::kUnsupported, "scheme ozaki1: " + what + ", for operands in device memory"};
}

/// Elements of k that one window may have, a multiple of its padding: as many as sum exactly, in INT32 where the engine
/// promotes FP32 sums. 0: the engine carries no window of the format.
[[nodiscard]] std::int64_t most_numbers(const plan::Plan& plan) {
  const SliceNumerics& slices = ozaki1_of(plan).numerics;
  const bool promotes = ozaki1_of(plan).engine != nullptr && ozaki1_of(plan).engine->promotes_sums();
  std::int64_t exact = slice_sum_limit(slices.format, slices.rule);
  if (slices.format != SliceFormat::kInt8 && promotes) {
    const bool is_fp8 = product::element_bytes(slices.format) == 1;
    exact = is_fp8 ? num::float_block(slices.rule.head) : num::int32_block(slices.rule);  // product.hpp
  }
  return std::min(exact, product::kBlockMaxI8) / kWindowPad * kWindowPad;
}

[[nodiscard]] std::string why_no_window(const plan::Plan& plan) {
  const SliceNumerics& slices = ozaki1_of(plan).numerics;
  return "FP32 sums of " + std::string(to_string(slices.format)) + " products are exact for " +
         std::to_string(slice_sum_limit(slices.format, slices.rule)) + " elements of k, windows have " +
         std::to_string(slice_numbers(plan, 1) * kWindowPad) + " and more";
}

/// Launches of the products of one block of C, and the planes that they write.
struct Launches {
  std::int64_t batches = 0;
  std::int64_t planes = 0;
};
[[nodiscard]] Launches count_launches(const plan::Plan& plan) {
  Launches count;
  const std::int64_t kc = ozaki1_of(plan).chunk.kc;
  for (const auto& [elements, blocks] :
       {std::pair(std::min(kc, plan.shape.k), plan.shape.k / kc), {plan.shape.k % kc, std::int64_t{1}}}) {
    if (elements == 0 || blocks == 0) continue;
    SliceWalk walk(plan, elements);
    SliceBatch batch;
    while (walk.next(batch)) {
      count.batches += blocks;
      count.planes += blocks * batch.num_planes;
    }
  }
  return count;
}

/// The batch with the most planes of all blocks of k.
[[nodiscard]] SliceBatch largest_batch(const plan::Plan& plan) {
  SliceBatch largest;
  for (const std::int64_t elements : product::Extents(plan.shape.k, ozaki1_of(plan).chunk.kc)) {
    SliceWalk walk(plan, elements);
    SliceBatch batch;
    while (walk.next(batch)) {
      if (batch.num_planes > largest.num_planes) largest = batch;
    }
  }
  return largest;
}

[[nodiscard]] std::size_t slice_bytes(const plan::Plan& plan) {
  base::Carver counter;
  static_cast<void>(carve_device_slices(counter, plan));
  return counter.bytes();
}
/// Of the certificate, of each rung and of scheme ozaki2 behind them, whichever comes.
[[nodiscard]] std::size_t most_bytes(const plan::Plan& plan) {
  if (!has_slice_rungs(plan)) return slice_bytes(plan);
  std::size_t most = certified_slices_bytes(plan);
  for (int r = 0; r < ozaki1_of(plan).numerics.num_rungs; ++r)
    most = std::max(most, slice_bytes(plan_at_slice_rung(plan, r)));
  return most;
}
[[nodiscard]] std::size_t booked_bytes(const plan::Plan& plan, std::size_t limit) {
  return device::device_batch_bytes(plan.shape, plan.schedule.batch, most_bytes(plan), limit);
}

/// Lines down to the padding, then k, unless all of k must stay together.
bool shrink_on_device(plan::Chunk& chunk, bool keeps_k) {
  const auto halve = [](std::int64_t& extent, std::int64_t pad) {
    const std::int64_t half = round_up((extent + 1) / 2, pad);
    if (half >= extent) return false;
    extent = half;
    return true;
  };
  std::int64_t& longer = chunk.mc >= chunk.nc ? chunk.mc : chunk.nc;
  return halve(longer, device::kDeviceLinePad) || (!keeps_k && halve(chunk.kc, kWindowPad));
}

/// @return 0, or the least workspace, above the limit
std::size_t plan_chunk(plan::Plan& plan) {
  const problem::Shape& shape = plan.shape;
  const std::size_t limit = device::workspace_limit(plan.policy.workspace_limit_bytes, plan.schedule.facts);
  Ozaki1Stage& stage = plan::edit_stage<Ozaki1Stage>(plan);
  plan::Chunk& chunk = stage.chunk;
  const bool is_fused = ozaki1_of(plan).sums == SliceSums::kFused;
  const std::int64_t most = most_numbers(plan) / slice_numbers(plan, 1) / kWindowPad * kWindowPad;
  chunk = {shape.m, shape.n, std::max<std::int64_t>(shape.k, 1)};
  if (!is_fused) chunk.kc = std::min(chunk.kc, most);
  if (stage.blocks.lines > 0) {
    std::int64_t& longer = chunk.mc >= chunk.nc ? chunk.mc : chunk.nc;
    if (chunk.kc < shape.k || longer <= stage.blocks.lines) {  // slices of a part of k do not stay
      longer = std::min(longer, stage.blocks.lines);
      stage.blocks = {};
    }
  }
  while (booked_bytes(plan, limit) > limit && shrink_on_device(chunk, is_fused || stage.numerics.rounds_sums)) {
  }
  plan.schedule.product_bytes = most_bytes(plan);
  plan.schedule.workspace_bytes = booked_bytes(plan, limit);
  const bool is_too_small =
      plan.policy.workspace_limit_bytes != 0 && plan.schedule.workspace_bytes > plan.policy.workspace_limit_bytes;
  return is_too_small ? plan.schedule.workspace_bytes : 0;
}

/// Seconds of all products by the engine, or why it refuses.
[[nodiscard]] std::variant<double, product::Refusal> ask(const plan::Plan& plan) {
  if (plan::is_empty(plan.shape)) return 0.0;
  const plan::Chunk& chunk = ozaki1_of(plan).chunk;
  const auto passes = [](std::int64_t extent, std::int64_t part) {
    return static_cast<double>(ceil_div(extent, part));
  };
  const double chunks = passes(plan.shape.m, chunk.mc) * passes(plan.shape.n, chunk.nc);
  if (ozaki1_of(plan).sums == SliceSums::kFused) {
    const product::FusedSliceDesc desc =
        fused_slice_product(plan, std::min(chunk.mc, plan.shape.m), std::min(chunk.nc, plan.shape.n));
    const auto answer = product::fused_slices_of(ozaki1_of(plan).engine)->query(desc, plan.schedule.facts);
    if (const auto* const refusal = std::get_if<product::Refusal>(&answer)) return *refusal;
    return std::get<product::Offer>(answer).seconds * chunks;
  }
  const BlockExtents block = slice_block(plan);
  const double blocks = passes(chunk.mc, block.m) * passes(chunk.nc, block.n);
  double seconds = 0;
  SliceWalk walk(plan, std::min(chunk.kc, plan.shape.k));
  SliceBatch batch;
  while (walk.next(batch)) {
    const product::ProductDesc desc =
        device_slice_product(plan, batch, std::min(block.m, plan.shape.m), std::min(block.n, plan.shape.n));
    const auto answer = ozaki1_of(plan).engine->query(desc, plan.schedule.facts);
    if (const auto* const refusal = std::get_if<product::Refusal>(&answer)) return *refusal;
    seconds += std::get<product::Offer>(answer).seconds;
  }
  return seconds * blocks * chunks * passes(plan.shape.k, chunk.kc);
}

/// Everything but the products: split, sums, launches.
[[nodiscard]] double phase_seconds(const plan::Plan& plan) {
  if (plan.shape.m == 0 || plan.shape.n == 0) return 0;
  constexpr double kUntakenSeconds = 5e-6;  // begin, FP64 rung, and the gaps between launches
  constexpr double kSplitBytesPerSecond = 2.7e12;
  constexpr double kSplitSeconds = 3e-6;
  constexpr double kSumBytesPerSecond = 2.9e12;
  constexpr double kSumSeconds = 3e-6;
  // Fitted to lab/results/h200/slice_sums.jsonl.
  constexpr double kPlaneSeconds = 0.3e-6;
  constexpr double kSumDigitSeconds = 12e-12;  // of a digit of a sum of two parts, whose bits may be far apart
  const double memory = plan.schedule.facts.rates.memory;
  const SlicedForm form = device_sliced_form(plan);
  const SliceRung& rung = ozaki1_of(plan).numerics.last();
  const auto m = static_cast<double>(plan.shape.m);
  const auto n = static_cast<double>(plan.shape.n);
  const double element = size_bytes(plan.shape.scalar);
  const double passes = slices_in_one_pass(plan) ? 1.0 : 3.0;  // over the operands; two for the statistics
  const double digits = static_cast<double>(form.num_parts * rung.num_slices * slice_numbers(plan, 1) *
                                            product::element_bytes(ozaki1_of(plan).numerics.format));  // bytes
  // Lines of A are sliced again for each chunk of columns, unless all of them stay.
  const plan::Chunk& chunk = ozaki1_of(plan).chunk;
  const bool keeps_a = chunk.mc >= plan.shape.m && chunk.kc >= plan.shape.k;
  const double a_passes = keeps_a ? 1.0 : std::max(1.0, static_cast<double>(ceil_div(plan.shape.n, chunk.nc)));
  const double b_passes =
      chunk.kc >= plan.shape.k ? 1.0 : std::max(1.0, static_cast<double>(ceil_div(plan.shape.m, chunk.mc)));
  const double split = (a_passes * m + b_passes * n) * static_cast<double>(plan.shape.k) * (passes * element + digits);
  const bool has_sums_of_parts = ozaki1_of(plan).numerics.complex_form == ComplexForm::kKaratsuba;
  const double of_sums =
      has_sums_of_parts ? kSumDigitSeconds * rung.num_slices * (m + n) * static_cast<double>(plan.shape.k) : 0.0;
  const double before_sums = kUntakenSeconds + split / (kSplitBytesPerSecond * memory) + kSplitSeconds + of_sums;
  if (ozaki1_of(plan).sums == SliceSums::kFused) return before_sums;
  const Launches launches = count_launches(plan);
  const double kept =
      2.0 * 8.0 * device_sum_words(plan) * (is_complex(plan.shape.scalar) ? 2 : 1);  // from one to the next
  const double sums = m * n *
                      (4.0 * static_cast<double>(launches.planes) + element +
                       kept * static_cast<double>(std::max<std::int64_t>(launches.batches, 1) - 1));
  return before_sums + sums / (kSumBytesPerSecond * memory) + kSumSeconds +
         kPlaneSeconds * static_cast<double>(launches.planes);
}

/// What the certificate of slices adds to that.
[[nodiscard]] double certificate_seconds(const plan::Plan& plan) {
  if (!ozaki2::ozaki2_of(plan).has_certificate) return 0.0;
  constexpr double kUntakenSeconds = 10e-6;  // second look, weights, and the host that waits
  constexpr double kStatisticsBytesPerSecond = 2.7e12;
  const plan::Chunk& chunk = ozaki2::ozaki2_of(plan).certificate;
  const double elements = static_cast<double>(plan.shape.m + plan.shape.n) * static_cast<double>(plan.shape.k);
  const bool is_compared = chunk.mc >= plan.shape.m && chunk.nc >= plan.shape.n;
  return kUntakenSeconds +
         2.0 * elements * size_bytes(plan.shape.scalar) /
             (kStatisticsBytesPerSecond * plan.schedule.facts.rates.memory) +
         certify::device_certificate_seconds(plan.shape, ozaki1_of(plan).numerics.ladder, plan.schedule.facts.rates,
                                             is_compared);
}

/// Seconds of a call that the lowest rung answers, or the first refusal of any rung.
[[nodiscard]] std::variant<double, product::Refusal> predict(const plan::Plan& plan) {
  if (!has_slice_rungs(plan)) {
    auto answer = ask(plan);
    if (auto* const seconds = std::get_if<double>(&answer)) *seconds += phase_seconds(plan);
    return answer;
  }
  double seconds = 0;
  for (int r = ozaki1_of(plan).numerics.num_rungs - 1; r >= 0; --r) {
    auto answer = predict(plan_at_slice_rung(plan, r));
    if (std::holds_alternative<product::Refusal>(answer)) return answer;
    seconds = std::get<double>(answer);
  }
  return seconds + certificate_seconds(plan);
}

/// Why the sums of a plan cannot be fused on its engine; nothing if they can.
[[nodiscard]] std::string why_not_fused(plan::Plan plan) {
  const SliceNumerics& slices = ozaki1_of(plan).numerics;
  const product::FusedSliceEngine* const fused = product::fused_slices_of(ozaki1_of(plan).engine);
  if (fused == nullptr) return "it has no kernel for sums = fused";
  if (has_slice_rungs(plan)) return "sums = fused takes no rungs of slices";
  if (slices.format != SliceFormat::kInt8 || is_complex(plan.shape.scalar))
    return "sums = fused takes slices of int8 of real types";
  if (slices.until_zero) return "sums = fused takes a named number of slices";
  if (slices.last().num_diagonals != slices.last().num_slices) {
    return "sums = fused takes as many diagonals as slices, got " + std::to_string(slices.last().num_diagonals) +
           " of " + std::to_string(slices.last().num_slices);
  }
  plan::edit_stage<Ozaki1Stage>(plan).chunk = {plan.shape.m, plan.shape.n, plan.shape.k};
  const auto answer = fused->query(fused_slice_product(plan, plan.shape.m, plan.shape.n), plan.schedule.facts);
  if (const auto* const refusal = std::get_if<product::Refusal>(&answer)) return "sums = fused: " + refusal->reason;
  return "";
}

/// Chunks of a candidate, and of what stands behind its slices. @return as plan_ozaki2_on_engine()
[[nodiscard]] ozaki2::EngineAnswer plan_on_engine(plan::Plan& plan) {
  std::size_t needed = 0;
  if (has_slice_rungs(plan)) {
    ozaki2::EngineAnswer behind = plan_behind_slices(plan);
    if (std::holds_alternative<product::Refusal>(behind)) return behind;
    if (const auto* const wanted = std::get_if<ozaki2::WantedWorkspace>(&behind)) {  // with that, slices may want more
      plan.policy.workspace_limit_bytes = needed = wanted->bytes;
      static_cast<void>(plan_behind_slices(plan));
    }
  }
  needed = std::max(needed, plan_chunk(plan));
  if (needed > 0) return ozaki2::WantedWorkspace{needed};
  const auto predicted = predict(plan);
  if (const auto* const refusal = std::get_if<product::Refusal>(&predicted)) return *refusal;
  return std::get<double>(predicted);
}

/// For instance "hopper, blocked by 2048 lines".
[[nodiscard]] std::string candidate_name(const plan::Plan& plan) {
  const Ozaki1Stage& stage = ozaki1_of(plan);
  std::string name = std::string(stage.engine->name()) + ", " + std::string(to_string(stage.sums));
  if (stage.blocks.lines > 0) name += " by " + std::to_string(stage.blocks.lines) + " lines";
  if (is_complex(plan.shape.scalar)) name += ", " + std::string(to_string(stage.numerics.complex_form));
  return name;
}

/// What one engine offers, with sums and blocks as the schedule says.
void try_engine(const plan::Plan& plan, const product::Engine* engine, SliceSums sums, SliceBlocks blocks,
                plan::Cheapest& cheapest) {
  const std::string_view name = engine->name();
  plan::Plan candidate = plan;
  Ozaki1Stage& stage = plan::edit_stage<Ozaki1Stage>(candidate);
  stage.engine = engine;
  stage.sums = sums;
  stage.blocks = blocks;
  if (wants_certificate(plan.policy)) plan::edit_stage<ozaki2::Ozaki2Stage>(candidate).engine = engine;
  if (sums == SliceSums::kFused) {
    if (const std::string reason = why_not_fused(candidate); !reason.empty()) return cheapest.refuses(name, reason);
  } else if (most_numbers(candidate) < slice_numbers(plan, 1) * kWindowPad) {
    return cheapest.refuses(name, why_no_window(candidate));
  }
  const ozaki2::EngineAnswer answer = plan_on_engine(candidate);
  if (const auto* const wanted = std::get_if<ozaki2::WantedWorkspace>(&answer))
    return cheapest.wants_workspace(name, wanted->bytes);
  if (const auto* const refusal = std::get_if<product::Refusal>(&answer))
    return cheapest.refuses(name, refusal->reason);
  candidate.schedule.seconds = std::get<double>(answer) * static_cast<double>(plan.schedule.batch.num_products);
  const std::string label = candidate_name(candidate);
  cheapest.offers(label, std::move(candidate));
}

/// What all engines offer of a plan with its numerics.
void try_engines(const plan::Plan& plan, const plan::Environment& environment, plan::Cheapest& cheapest) {
  const SliceSums wanted = plan.policy.slices.sums;
  const Slicing& wishes = plan.policy.slices;
  SliceBlocks wanted_blocks = wanted == SliceSums::kBlocked ? kStreamedBlocks : SliceBlocks{};
  if (wishes.block_lines > 0) wanted_blocks.lines = wishes.block_lines;
  if (wishes.num_streams > 0) wanted_blocks.num_streams = wishes.num_streams;
  for (const product::Engine* engine : environment.engines) {
    if (!cheapest.may_be(engine->name())) continue;
    if (wanted != SliceSums::kAuto) {
      try_engine(plan, engine, wanted, wanted_blocks, cheapest);
      continue;
    }
    try_engine(plan, engine, SliceSums::kConcatenated, {}, cheapest);
    if (ozaki1_of(plan).numerics.format == SliceFormat::kInt8 &&
        std::max(plan.shape.m, plan.shape.n) > kMostLinesWhole) {
      try_engine(plan, engine, SliceSums::kConcatenated, kLargeBlocks, cheapest);
      try_engine(plan, engine, SliceSums::kConcatenated, kStreamedBlocks, cheapest);
      try_engine(plan, engine, SliceSums::kBlocked, kStreamedBlocks, cheapest);
    }
    plan::Plan on_engine = plan;
    plan::edit_stage<Ozaki1Stage>(on_engine).engine = engine;
    if (!plan::is_empty(plan.shape) && why_not_fused(on_engine).empty())
      try_engine(plan, engine, SliceSums::kFused, {}, cheapest);
  }
}

}  // namespace

SlicedForm device_sliced_form(const plan::Plan& plan) {
  SlicedForm form = sliced_form(is_complex(plan.shape.scalar), ozaki1_of(plan).numerics.complex_form);
  if (form.num_stacked == 1) return form;
  form.num_products = form.num_stacked;
  for (int q = 0; q < form.num_stacked; ++q)
    form.products[q] = {.a_part = q, .b_part = 0, .signs = {q == 0 ? 1 : 0, q == 1 ? 1 : 0}};
  return form;
}

std::int64_t device_slice_stride(const plan::Plan& plan, std::int64_t elements) {
  return round_up(std::max<std::int64_t>(slice_numbers(plan, elements), 1), kWindowPad);
}

SliceWalk::SliceWalk(const plan::Plan& plan, std::int64_t elements)
    : plan_(plan),
      form_(device_sliced_form(plan)),
      numbers_(slice_numbers(plan, elements)),
      stride_(device_slice_stride(plan, elements)) {
  const SliceNumerics& slices = ozaki1_of(plan).numerics;
  const SliceSums sums = ozaki1_of(plan).sums;
  is_concatenated_ = sums == SliceSums::kConcatenated;
  const bool adds = slices.format == SliceFormat::kInt8 && (sums == SliceSums::kGrouped || sums == SliceSums::kBlocked);
  most_added_ = adds ? slices_per_sum(plan, elements) : 1;
  most_numbers_ = most_numbers(plan);
  is_one_by_one_ = slices.rounds_sums;
  place_.diagonal = first_diagonal();
  place_.first = first_slice(place_.diagonal);
}

int SliceWalk::first_diagonal() const {
  return is_one_by_one_ ? 0 : ozaki1_of(plan_).numerics.last().num_diagonals - 1;
}

int SliceWalk::first_slice(int diagonal) const {
  return std::max(0, diagonal - ozaki1_of(plan_).numerics.last().num_slices + 1);
}

bool SliceWalk::next(SliceBatch& batch) {
  const SliceNumerics& slices = ozaki1_of(plan_).numerics;
  const int l = slices.last().num_slices;
  const int d = slices.last().num_diagonals;
  // In the order of rising shifts within a product, which groups want.
  struct Plane {
    int first_window = 0;
    int num_windows = 0;
    std::int64_t k = 0;
    int diagonal = -1;
    int product = -1;
  };
  std::array<product::Window, product::kMaxWindows> windows;
  std::array<Plane, product::kMaxWindows> planes;
  SliceSumList& sums = batch.sums;
  sums.num_groups = 0;
  int num_windows = 0;
  int num_planes = 0;
  int base_shift = 0;
  int product_of_group = -1;
  int first_of_group = 0;
  const int most_windows = is_one_by_one_ ? 1 : product::kMaxWindows;
  while (num_windows < most_windows && place_.product < form_.num_products) {
    const SlicedProduct& product = form_.products[place_.product];
    const int end = std::min(place_.diagonal, l - 1) + 1;
    // Slice t of B lies at place l - 1 - t: those that slices first, first + 1, ... of A meet are one after another.
    // Such a run is cut into windows of equal lengths that sum exactly.
    const int slices_here = is_concatenated_ ? end - place_.first : 1;
    const std::int64_t run = (slices_here - 1) * stride_ + numbers_;
    const std::int64_t length = round_up(ceil_div(run, ceil_div(run, most_numbers_)), kWindowPad);
    product::Window& window = windows[static_cast<std::size_t>(num_windows)];
    window = {product.a_part, product.b_part, place_.first * stride_ + place_.taken,
              (l - 1 - (place_.diagonal - place_.first)) * stride_ + place_.taken,
              std::min(length, run - place_.taken)};
    if (num_planes > 0) {
      const Plane& before = planes[static_cast<std::size_t>(num_planes - 1)];
      window.is_added =
          before.product == place_.product && before.diagonal == place_.diagonal && before.num_windows < most_added_;
    }
    if (!window.is_added) {
      const int shift = slices.rule.step * (d - 1 - place_.diagonal) + product.shift;
      const bool joins = product_of_group == place_.product && shift - base_shift <= kMostFactorBits &&
                         num_planes - first_of_group < kMostGroupPlanes;
      if (!joins) {
        base_shift = shift;
        first_of_group = num_planes;
        product_of_group = place_.product;
        SliceGroup& group = sums.groups[sums.num_groups++];
        group.shift = shift;
        std::copy_n(product.signs, 2, group.signs);
      }
      sums.factors[num_planes] = std::int32_t{1} << (shift - base_shift);
      planes[static_cast<std::size_t>(num_planes++)] = {num_windows, 0, 0, place_.diagonal, place_.product};
      sums.groups[sums.num_groups - 1].end = num_planes;
    }
    Plane& plane = planes[static_cast<std::size_t>(num_planes - 1)];
    ++plane.num_windows;
    plane.k += window.k;
    ++num_windows;
    place_.taken += length;
    if (place_.taken < run) continue;
    place_.taken = 0;
    place_.first += slices_here;
    if (place_.first < end) continue;
    place_.diagonal += is_one_by_one_ ? 1 : -1;
    if (place_.diagonal < 0 || place_.diagonal == d) {
      ++place_.product;
      place_.diagonal = first_diagonal();
    }
    place_.first = first_slice(place_.diagonal);
  }
  // Planes in the order of falling k.
  std::array<int, product::kMaxWindows> order;
  for (int p = 0; p < num_planes; ++p) order[static_cast<std::size_t>(p)] = p;
  std::stable_sort(order.begin(), order.begin() + num_planes, [&](int x, int y) {
    return planes[static_cast<std::size_t>(x)].k > planes[static_cast<std::size_t>(y)].k;
  });
  product::Window* next = batch.windows;
  for (int p = 0; p < num_planes; ++p) {
    const int from = order[static_cast<std::size_t>(p)];
    const Plane& plane = planes[static_cast<std::size_t>(from)];
    next = std::copy_n(windows.begin() + plane.first_window, plane.num_windows, next);
    sums.planes[from] = p;
  }
  batch.num_planes = num_planes;
  batch.num_windows = num_windows;
  return num_windows > 0;
}

DeviceSliceBuffers carve_device_slices(base::Carver& carver, const plan::Plan& plan) {
  DeviceSliceBuffers buffers;
  buffers.state = carver.take<device::DeviceState>(1);
  if (plan::is_empty(plan.shape)) return buffers;
  const plan::Chunk& chunk = ozaki1_of(plan).chunk;
  const SlicedForm form = device_sliced_form(plan);
  const std::int64_t row = ozaki1_of(plan).numerics.last().num_slices * device_slice_stride(plan, chunk.kc);
  const auto carve_lines = [&](std::int64_t lines) {
    DeviceSliceLineBuffers of_lines;
    of_lines.stats = carver.take<num::LineStats>(lines);
    of_lines.exponents = carver.take<std::int32_t>(lines);
    return of_lines;
  };
  buffers.a = carve_lines(plan.shape.m);
  buffers.b = carve_lines(plan.shape.n);
  const std::int64_t row_bytes = row * product::element_bytes(ozaki1_of(plan).numerics.format);
  buffers.a_slices = carver.take<std::int8_t>(form.num_parts, round_up(chunk.mc, device::kReadRows), row_bytes);
  buffers.b_slices = carver.take<std::int8_t>(form.b_parts(), round_up(chunk.nc, device::kReadRows), row_bytes);
  if (ozaki1_of(plan).sums == SliceSums::kFused) return buffers;
  const SliceBatch largest = largest_batch(plan);
  const bool has_stored_sums = count_launches(plan).batches > 1;
  const BlockExtents block = slice_block(plan);
  const product::ProductDesc desc = device_slice_product(plan, largest, block.m, block.n);
  std::size_t engine_bytes = 0;
  if (ozaki1_of(plan).engine != nullptr)
    engine_bytes = product::engine_bytes(*ozaki1_of(plan).engine, plan.schedule.facts, desc, {plan.shape.m, block.m},
                                         {plan.shape.n, block.n}, {desc.k, desc.k});
  for (int s = 0; s < ozaki1_of(plan).blocks.num_streams; ++s) {
    DeviceSliceBlockBuffers& of_stream = buffers.blocks[s];
    of_stream.acc = carver.take<std::int32_t>(largest.num_planes, block.n, round_up(block.m, device::kDeviceLinePad));
    if (has_stored_sums) {
      of_stream.sums =
          carver.take<std::uint64_t>(is_complex(plan.shape.scalar) ? 2 : 1, block.n, block.m, device_sum_words(plan));
    }
    of_stream.engine_bytes = engine_bytes;
    of_stream.engine = carver.take<std::byte>(engine_bytes);
  }
  return buffers;
}

BlockExtents slice_block(const plan::Plan& plan) {
  const plan::Chunk& chunk = ozaki1_of(plan).chunk;
  const SliceBlocks& blocks = ozaki1_of(plan).blocks;
  BlockExtents block{chunk.mc, chunk.nc};
  if (blocks.lines == 0) return block;
  std::int64_t& longer = chunk.mc >= chunk.nc ? block.m : block.n;
  longer = std::min(longer, blocks.lines);
  return block;
}

int device_sum_words(const plan::Plan& plan) {
  const int words = slice_sum_words(plan);
  if (words == 1) return 1;
  return words <= 2 ? 2 : words <= 4 ? 4 : 8;
}

bool has_slice_survey(const plan::Plan& plan) {
  return ozaki1_of(plan).numerics.until_zero || ozaki1_of(plan).numerics.one_scale;
}

bool slices_in_one_pass(const plan::Plan& plan) {
  const plan::Chunk& chunk = ozaki1_of(plan).chunk;
  return !has_slice_survey(plan) && chunk.mc >= plan.shape.m && chunk.nc >= plan.shape.n && chunk.kc >= plan.shape.k &&
         plan.shape.k <= device::longest_cluster_pass(plan.schedule.facts);
}

product::ProductDesc device_slice_product(const plan::Plan& plan, const SliceBatch& batch, std::int64_t m,
                                          std::int64_t n) {
  const plan::Chunk& chunk = ozaki1_of(plan).chunk;
  product::ProductDesc desc;
  desc.m = m;
  desc.n = n;
  desc.k = batch.num_windows == 0 ? 0 : batch.windows[0].k;
  desc.num_products = batch.num_planes;
  desc.num_windows = batch.num_windows;
  std::copy_n(batch.windows, batch.num_windows, desc.windows.begin());
  desc.epilogue = product::Epilogue::kStoreAcc;
  desc.format = ozaki1_of(plan).numerics.format;
  if (desc.format != SliceFormat::kInt8) desc.exact_k = slice_sum_limit(desc.format, ozaki1_of(plan).numerics.rule);
  desc.a_row_stride = desc.b_row_stride =
      ozaki1_of(plan).numerics.last().num_slices * device_slice_stride(plan, chunk.kc);
  desc.a_plane_stride = round_up(chunk.mc, device::kReadRows) * desc.a_row_stride;
  desc.b_plane_stride = round_up(chunk.nc, device::kReadRows) * desc.b_row_stride;
  const BlockExtents block = slice_block(plan);
  desc.c_col_stride = round_up(block.m, device::kDeviceLinePad);
  desc.c_plane_stride = block.n * desc.c_col_stride;
  return desc;
}

product::FusedSliceDesc fused_slice_product(const plan::Plan& plan, std::int64_t m, std::int64_t n) {
  const plan::Chunk& chunk = ozaki1_of(plan).chunk;
  const SliceNumerics& slices = ozaki1_of(plan).numerics;
  product::FusedSliceDesc desc;
  desc.m = m;
  desc.n = n;
  desc.k = slice_numbers(plan, chunk.kc);
  desc.num_slices = slices.last().num_slices;
  desc.step = slices.rule.step;
  desc.slice_stride = device_slice_stride(plan, chunk.kc);
  desc.a_row_stride = desc.b_row_stride = desc.num_slices * desc.slice_stride;
  return desc;
}

Status validate_device_slices(const Policy& policy) {
  const Slicing& wishes = policy.slices;
  if (wishes.num_slices == kUntilZero && !policy.may_sync) {
    return unsupported_on_device(
        "slices = -1 (until nothing is left) with sync = never, must be allowed: the host waits for "
        "the count");
  }
  if (wants_certificate(policy) && !policy.may_sync) {
    return unsupported_on_device(
        "gauge = entry without slices by name and sync = never, must be allowed: the host waits for the rung");
  }
  return {};
}

Status plan_device_ozaki1(plan::Plan& plan, const plan::Environment& environment) {
  KIZAMI_RETURN_IF_ERROR(validate_device_slices(plan.policy));
  if (wants_certificate(plan.policy)) KIZAMI_RETURN_IF_ERROR(ozaki2::plan_ozaki2_numerics(plan));
  const ComplexForm form = complex_form_of(plan.policy.slices, plan.shape.scalar);
  KIZAMI_RETURN_IF_ERROR(plan_slice_numerics(plan, form));
  plan::Cheapest cheapest(plan);
  try_engines(plan, environment, cheapest);
  // Other bits, and a larger bound for as many slices: only where neither is promised.
  const bool may_be_other_form = form != plan.policy.slices.complex_form && plan.policy.gauge == Gauge::kNorm &&
                                 plan.policy.reproducibility == Reproducibility::kNotGuaranteed &&
                                 plan.policy.slices.sums != SliceSums::kRounded;
  if (may_be_other_form) {
    for (const ComplexForm other : {ComplexForm::kFourProducts, ComplexForm::kKaratsuba}) {
      plan::Plan changed = plan;
      if (other != form && plan_slice_numerics(changed, other).ok()) try_engines(changed, environment, cheapest);
    }
  }
  return std::move(cheapest).take(plan, Scheme::kOzaki1);
}

}  // namespace kizami::ozaki1
