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

/// Bits of the factors within a group, and its planes: |sum| <= 2^4 2^31 2^26 < 2^62.
constexpr int kMostFactorBits = 26;
constexpr int kMostGroupPlanes = 16;

Status unsupported(const std::string& what) {
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

/// Windows that one block of k has.
[[nodiscard]] std::int64_t count_windows(const plan::Plan& plan, std::int64_t elements) {
  SliceWalk walk(plan, elements);
  SliceBatch batch;
  std::int64_t count = 0;
  while (walk.next(batch)) count += batch.num_windows;
  return count;
}

[[nodiscard]] bool has_one_batch(const plan::Plan& plan) {
  const std::int64_t kc = ozaki1_of(plan).chunk.kc;
  return kc >= plan.shape.k && count_windows(plan, kc) <= product::kMaxWindows;
}

/// The batch with most windows of all blocks of k, and so the most planes.
[[nodiscard]] SliceBatch largest_batch(const plan::Plan& plan) {
  SliceBatch largest;
  for (const std::int64_t elements : product::Extents(plan.shape.k, ozaki1_of(plan).chunk.kc)) {
    SliceWalk walk(plan, elements);
    SliceBatch batch;
    while (walk.next(batch)) {
      if (batch.num_windows > largest.num_windows) largest = batch;
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
[[nodiscard]] std::size_t booked_bytes(const plan::Plan& plan) {
  return device::device_batch_bytes(plan.shape, plan.schedule.batch, most_bytes(plan));
}

/// Lines down to the padding, then k, unless all of k must stay together.
bool shrink(plan::Chunk& chunk, bool keeps_k) {
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
  const std::size_t limit =
      plan.policy.workspace_limit_bytes != 0 ? plan.policy.workspace_limit_bytes : plan.schedule.facts.memory_bytes / 4;
  plan::Chunk& chunk = plan::edit_stage<Ozaki1Stage>(plan).chunk;
  const bool is_fused = ozaki1_of(plan).sums == SliceSums::kFused;
  const std::int64_t most = most_numbers(plan) / slice_numbers(plan, 1) / kWindowPad * kWindowPad;
  chunk = {shape.m, shape.n, std::max<std::int64_t>(shape.k, 1)};
  if (!is_fused) chunk.kc = std::min(chunk.kc, most);
  if (plan.policy.slices.sums == SliceSums::kBlocked) {
    std::int64_t& longer = chunk.mc >= chunk.nc ? chunk.mc : chunk.nc;
    longer = std::min(longer, kSliceBlockLines);
  }
  while (booked_bytes(plan) > limit && shrink(chunk, is_fused)) {
  }
  plan.schedule.product_bytes = most_bytes(plan);
  plan.schedule.workspace_bytes = booked_bytes(plan);
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
  const double blocks = passes(plan.shape.m, chunk.mc) * passes(plan.shape.n, chunk.nc);
  if (ozaki1_of(plan).sums == SliceSums::kFused) {
    const product::FusedSliceDesc desc =
        fused_slice_product(plan, std::min(chunk.mc, plan.shape.m), std::min(chunk.nc, plan.shape.n));
    const auto answer = product::fused_slices_of(ozaki1_of(plan).engine)->query(desc, plan.schedule.facts);
    if (const auto* const refusal = std::get_if<product::Refusal>(&answer)) return *refusal;
    return std::get<product::Offer>(answer).seconds * blocks;
  }
  double seconds = 0;
  SliceWalk walk(plan, std::min(chunk.kc, plan.shape.k));
  SliceBatch batch;
  while (walk.next(batch)) {
    const product::ProductDesc desc =
        device_slice_product(plan, batch, std::min(chunk.mc, plan.shape.m), std::min(chunk.nc, plan.shape.n));
    const auto answer = ozaki1_of(plan).engine->query(desc, plan.schedule.facts);
    if (const auto* const refusal = std::get_if<product::Refusal>(&answer)) return *refusal;
    seconds += std::get<product::Offer>(answer).seconds;
  }
  return seconds * blocks * passes(plan.shape.k, chunk.kc);
}

/// Everything but the products: split, sums, launches.
[[nodiscard]] double phase_seconds(const plan::Plan& plan) {
  constexpr double kUntakenSeconds = 5e-6;  // begin, FP64 rung, and the gaps between launches
  constexpr double kSplitBytesPerSecond = 2.7e12;
  constexpr double kSplitSeconds = 3e-6;
  constexpr double kSumBytesPerSecond = 2.9e12;
  constexpr double kSumSeconds = 3e-6;
  const SlicedForm form = device_sliced_form(plan);
  const SliceRung& rung = ozaki1_of(plan).numerics.last();
  const auto m = static_cast<double>(plan.shape.m);
  const auto n = static_cast<double>(plan.shape.n);
  const double element = size_bytes(plan.shape.scalar);
  const double passes = slices_in_one_pass(plan) ? 1.0 : 3.0;  // over the operands; two for the statistics
  const double digits = static_cast<double>(form.num_parts * rung.num_slices * slice_numbers(plan, 1) *
                                            product::element_bytes(ozaki1_of(plan).numerics.format));  // bytes
  const double split = (m + n) * static_cast<double>(plan.shape.k) * (passes * element + digits);
  const double before_sums = kUntakenSeconds + split / kSplitBytesPerSecond + kSplitSeconds;
  if (ozaki1_of(plan).sums == SliceSums::kFused) return before_sums;
  const double planes = form.num_products * rung.num_diagonals;  // of a diagonal one, if it sums in INT32
  const double sums = m * n * (4.0 * planes + element);
  return before_sums + sums / kSumBytesPerSecond + kSumSeconds;
}

/// What the certificate of slices adds to that.
[[nodiscard]] double certificate_seconds(const plan::Plan& plan) {
  if (!ozaki2::ozaki2_of(plan).has_certificate) return 0.0;
  constexpr double kUntakenSeconds = 10e-6;  // second look, weights, and the host that waits
  constexpr double kStatisticsBytesPerSecond = 2.7e12;
  const plan::Chunk& chunk = ozaki2::ozaki2_of(plan).certificate;
  const double elements = static_cast<double>(plan.shape.m + plan.shape.n) * static_cast<double>(plan.shape.k);
  const bool is_compared = chunk.mc >= plan.shape.m && chunk.nc >= plan.shape.n;
  return kUntakenSeconds + 2.0 * elements * size_bytes(plan.shape.scalar) / kStatisticsBytesPerSecond +
         certify::device_certificate_seconds(plan.shape, is_compared);
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

/// What one engine offers, with sums as the schedule says.
void try_engine(const plan::Plan& plan, const product::Engine* engine, SliceSums sums, plan::Cheapest& cheapest) {
  const std::string_view name = engine->name();
  plan::Plan candidate = plan;
  Ozaki1Stage& stage = plan::edit_stage<Ozaki1Stage>(candidate);
  stage.engine = engine;
  stage.sums = sums;
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
  cheapest.offers(name, std::move(candidate));
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
  is_concatenated_ = ozaki1_of(plan).sums == SliceSums::kConcatenated;
  most_numbers_ = most_numbers(plan);
  place_.diagonal = slices.last().num_diagonals - 1;
  place_.first = first_slice(place_.diagonal);
}

int SliceWalk::first_slice(int diagonal) const {
  return std::max(0, diagonal - ozaki1_of(plan_).numerics.last().num_slices + 1);
}

bool SliceWalk::next(SliceBatch& batch) {
  const SliceNumerics& slices = ozaki1_of(plan_).numerics;
  const int l = slices.last().num_slices;
  const int d = slices.last().num_diagonals;
  // In the order of rising shifts within a product, which groups want.
  std::array<product::Window, product::kMaxWindows> windows;
  SliceSumList& sums = batch.sums;
  sums.num_groups = 0;
  int count = 0;
  int base_shift = 0;
  int product_of_group = -1;
  int first_of_group = 0;
  while (count < product::kMaxWindows && place_.product < form_.num_products) {
    const SlicedProduct& product = form_.products[place_.product];
    const int end = std::min(place_.diagonal, l - 1) + 1;
    // Slice t of B lies at place l - 1 - t: those that slices first, first + 1, ... of A meet are one after another.
    // Such a run is cut into windows of equal lengths that sum exactly.
    const int slices_here = is_concatenated_ ? end - place_.first : 1;
    const std::int64_t run = (slices_here - 1) * stride_ + numbers_;
    const std::int64_t length = round_up(ceil_div(run, ceil_div(run, most_numbers_)), kWindowPad);
    windows[static_cast<std::size_t>(count)] = {product.a_part, product.b_part, place_.first * stride_ + place_.taken,
                                                (l - 1 - (place_.diagonal - place_.first)) * stride_ + place_.taken,
                                                std::min(length, run - place_.taken)};
    const int shift = slices.rule.step * (d - 1 - place_.diagonal) + product.shift;
    const bool joins = product_of_group == place_.product && shift - base_shift <= kMostFactorBits &&
                       count - first_of_group < kMostGroupPlanes;
    if (!joins) {
      base_shift = shift;
      first_of_group = count;
      product_of_group = place_.product;
      SliceGroup& group = sums.groups[sums.num_groups++];
      group.shift = shift;
      std::copy_n(product.signs, 2, group.signs);
    }
    sums.factors[count] = std::int32_t{1} << (shift - base_shift);
    ++count;
    sums.groups[sums.num_groups - 1].end = count;
    place_.taken += length;
    if (place_.taken < run) continue;
    place_.taken = 0;
    place_.first += slices_here;
    if (place_.first < end) continue;
    if (--place_.diagonal < 0) {
      ++place_.product;
      place_.diagonal = d - 1;
    }
    place_.first = first_slice(place_.diagonal);
  }
  // Planes in the order of falling k.
  std::array<int, product::kMaxWindows> order;
  for (int p = 0; p < count; ++p) order[static_cast<std::size_t>(p)] = p;
  std::stable_sort(order.begin(), order.begin() + count, [&](int x, int y) {
    return windows[static_cast<std::size_t>(x)].k > windows[static_cast<std::size_t>(y)].k;
  });
  for (int p = 0; p < count; ++p) {
    const int from = order[static_cast<std::size_t>(p)];
    batch.windows[p] = windows[static_cast<std::size_t>(from)];
    sums.planes[from] = p;
  }
  batch.num_windows = count;
  return count > 0;
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
  buffers.acc = carver.take<std::int32_t>(largest.num_windows, chunk.nc, round_up(chunk.mc, device::kDeviceLinePad));
  if (!has_one_batch(plan)) {
    buffers.sums =
        carver.take<std::uint64_t>(is_complex(plan.shape.scalar) ? 2 : 1, chunk.nc, chunk.mc, device_sum_words(plan));
  }
  const product::ProductDesc desc = device_slice_product(plan, largest, chunk.mc, chunk.nc);
  if (ozaki1_of(plan).engine != nullptr)
    buffers.engine_bytes = product::engine_bytes(*ozaki1_of(plan).engine, plan.schedule.facts, desc,
                                                 {plan.shape.m, chunk.mc}, {plan.shape.n, chunk.nc}, {desc.k, desc.k});
  buffers.engine = carver.take<std::byte>(buffers.engine_bytes);
  return buffers;
}

int device_sum_words(const plan::Plan& plan) {
  const int words = slice_sum_words(plan);
  return words <= 2 ? 2 : words <= 4 ? 4 : 8;
}

bool has_slice_survey(const plan::Plan& plan) {
  return ozaki1_of(plan).numerics.until_zero || ozaki1_of(plan).numerics.one_scale;
}

bool slices_in_one_pass(const plan::Plan& plan) {
  const plan::Chunk& chunk = ozaki1_of(plan).chunk;
  return !has_slice_survey(plan) && chunk.mc >= plan.shape.m && chunk.nc >= plan.shape.n && chunk.kc >= plan.shape.k &&
         plan.shape.k <= device::kMaxSinglePassLength;
}

product::ProductDesc device_slice_product(const plan::Plan& plan, const SliceBatch& batch, std::int64_t m,
                                          std::int64_t n) {
  const plan::Chunk& chunk = ozaki1_of(plan).chunk;
  product::ProductDesc desc;
  desc.m = m;
  desc.n = n;
  desc.k = batch.num_windows == 0 ? 0 : batch.windows[0].k;
  desc.num_products = desc.num_windows = batch.num_windows;
  std::copy_n(batch.windows, batch.num_windows, desc.windows.begin());
  desc.epilogue = product::Epilogue::kStoreAcc;
  desc.format = ozaki1_of(plan).numerics.format;
  if (desc.format != SliceFormat::kInt8) desc.exact_k = slice_sum_limit(desc.format, ozaki1_of(plan).numerics.rule);
  desc.a_row_stride = desc.b_row_stride =
      ozaki1_of(plan).numerics.last().num_slices * device_slice_stride(plan, chunk.kc);
  desc.a_plane_stride = round_up(chunk.mc, device::kReadRows) * desc.a_row_stride;
  desc.b_plane_stride = round_up(chunk.nc, device::kReadRows) * desc.b_row_stride;
  desc.c_col_stride = round_up(chunk.mc, device::kDeviceLinePad);
  desc.c_plane_stride = chunk.nc * desc.c_col_stride;
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
    return unsupported(
        "slices = -1 (until nothing is left) with sync = never, must be allowed: the host waits for "
        "the count");
  }
  if (wants_certificate(policy) && !policy.may_sync) {
    return unsupported(
        "gauge = entry without slices by name and sync = never, must be allowed: the host waits for the rung");
  }
  return {};
}

Status plan_device_ozaki1(plan::Plan& plan, const plan::Environment& environment) {
  KIZAMI_RETURN_IF_ERROR(validate_device_slices(plan.policy));
  if (wants_certificate(plan.policy)) KIZAMI_RETURN_IF_ERROR(ozaki2::plan_ozaki2_numerics(plan));
  KIZAMI_RETURN_IF_ERROR(plan_slice_numerics(plan));
  const SliceSums wanted = plan.policy.slices.sums;
  plan::Cheapest cheapest(plan);
  for (const product::Engine* engine : environment.engines) {
    if (!cheapest.may_be(engine->name())) continue;
    try_engine(plan, engine, wanted == SliceSums::kAuto ? SliceSums::kConcatenated : wanted, cheapest);
    plan::Plan on_engine = plan;
    plan::edit_stage<Ozaki1Stage>(on_engine).engine = engine;
    if (wanted == SliceSums::kAuto && !plan::is_empty(plan.shape) && why_not_fused(on_engine).empty())
      try_engine(plan, engine, SliceSums::kFused, cheapest);
  }
  return std::move(cheapest).take(plan, Scheme::kOzaki1);
}

}  // namespace kizami::ozaki1
