// SPDX-License-Identifier: MIT
#include "plan/device_buffers.hpp"

#include <algorithm>
#include <variant>

#include "base/int_math.hpp"
#include "num/moduli.hpp"
#include "plan/buffers.hpp"
#include "plan/engine_bytes.hpp"
#include "product/device_phases.hpp"

namespace kizami::plan {
namespace {

using base::ceil_div;
using base::round_up;

/// Bytes of INT32 products of the sampled certificate that are held at a time.
constexpr std::int64_t kMostAccBytes = std::int64_t{512} << 20;

/// Blocks of columns of chunks of lines, pieces of k as planes. Here and below lines of A are padded as exec passes them.
[[nodiscard]] std::size_t sampled_bytes(const Plan& plan, const SampledBuffers& buffers) {
  const Chunk& chunk = plan.schedule.certificate;
  product::ProductDesc desc = device_sampled_product(plan, buffers, chunk.mc, buffers.cols_at_once);
  const Extents ms(round_up(plan.shape.m, kReadRows), round_up(chunk.mc, kReadRows));
  std::size_t most = 0;
  for (const std::int64_t planes : Extents(buffers.num_pieces, product::kMaxProducts)) {
    desc.num_products = static_cast<int>(planes);
    for (const std::int64_t cols : Extents(plan.shape.n, chunk.nc)) {
      most = std::max(most, engine_bytes(plan, desc, ms, {cols, buffers.cols_at_once}, {desc.k, desc.k}));
    }
  }
  return most;
}

/// Chunks at every rung.
[[nodiscard]] std::size_t main_bytes(const Plan& plan) {
  const Chunk& chunk = plan.schedule.chunk;
  const num::Ladder& ladder = plan.numerics.ladder;
  const Extents ms(round_up(plan.shape.m, kReadRows), round_up(chunk.mc, kReadRows));
  std::size_t most = 0;
  for (int r = 0; r < ladder.num_rungs; ++r) {
    const int num_moduli = ladder.rungs[static_cast<std::size_t>(r)].num_moduli;
    most = std::max(most, engine_bytes(plan, device_main_product(plan, chunk, num_moduli), ms, {plan.shape.n, chunk.nc},
                                       {plan.shape.k, chunk.kc}));
  }
  return most;
}

DeviceLineBuffers carve_lines(base::Carver& carver, std::int64_t lines, const Plan& plan) {
  DeviceLineBuffers buffers;
  buffers.stats = carver.take<num::LineStats>(lines);
  buffers.scales = carver.take<std::int32_t>(lines);
  if (plan.numerics.has_certificate && splits_in_one_pass(plan))
    buffers.weights = carver.take<num::RungWeight>(round_up(lines, kReadRows));
  if (plan.numerics.ladder.may_equilibrate) {
    buffers.equilibrated = carver.take<num::LineStats>(lines);
    buffers.inner_shift = carver.take<std::int32_t>(plan.shape.k);
  }
  return buffers;
}

/// The rows of digits of a call.
[[nodiscard]] SampledBuffers sampled_rows(const Plan& plan, const num::Ladder& ladder) {
  SampledBuffers buffers;
  buffers.allowance = num::sampled_allowance(ladder.rungs[0].allowance, num_terms(plan.shape)) * 0x1p-12F;  // exact
  const std::int64_t length = num::num_sampled_terms(plan.shape.k, is_complex(plan.shape.scalar) ? 2 : 1);
  buffers.num_pieces = ceil_div(length, product::kBlockMaxI8);
  buffers.row_stride =
      buffers.num_pieces > 1 ? buffers.num_pieces * product::kBlockMaxI8 : round_up(length, kDeviceInnerPad);
  return buffers;
}

/// Whether the engine compares the products of such rows.
[[nodiscard]] bool may_compare(const Plan& plan, SampledBuffers buffers) {
  buffers.is_compared = true;
  if (buffers.num_pieces > 1) return false;
  const Chunk& chunk = plan.schedule.certificate;
  const product::ProductDesc desc = device_sampled_product(plan, buffers, chunk.mc, chunk.nc);
  return std::holds_alternative<product::Offer>(plan.schedule.engine->query(desc, plan.schedule.facts));
}

[[nodiscard]] int most_planes(const Plan& plan) {
  const num::Ladder& ladder = plan.numerics.ladder;
  return num::num_planes(ring_of(plan.shape.scalar),
                         ladder.rungs[static_cast<std::size_t>(ladder.num_rungs - 1)].num_moduli);
}

/// Bytes from one plane of lines x length residues to the next. Not their product alone, often a power of two: the same
/// places of all planes, which kernels want at the same time, would meet in few channels of the memory.
[[nodiscard]] constexpr std::int64_t plane_stride(std::int64_t lines, std::int64_t length) {
  constexpr std::int64_t kSkew = 129 * kDeviceInnerPad;
  return lines * length + kSkew;
}

void carve_planes(base::Carver& carver, const Plan& plan, DeviceMainBuffers& buffers) {
  const Chunk& chunk = plan.schedule.chunk;
  const int planes = most_planes(plan);
  buffers.a_planes = carver.take<std::int8_t>(planes, plane_stride(round_up(chunk.mc, kDeviceLinePad), chunk.kc));
  buffers.b_planes = carver.take<std::int8_t>(planes, plane_stride(round_up(chunk.nc, kDeviceLinePad), chunk.kc));
}

void carve_residues(base::Carver& carver, const Plan& plan, DeviceMainBuffers& buffers) {
  const Chunk& chunk = plan.schedule.chunk;
  buffers.residues =
      carver.take<std::int8_t>(most_planes(plan), plane_stride(chunk.nc, round_up(chunk.mc, kDeviceLinePad)));
  buffers.engine_bytes = main_bytes(plan);
  buffers.engine = carver.take<std::byte>(buffers.engine_bytes);
}

DevicePhaseBuffers carve_phases(base::Carver& carver, const Plan& plan) {
  DevicePhaseBuffers buffers;
  buffers.split_factors = carver.take<double>(2, std::max(plan.shape.m, plan.shape.n));
  buffers.row_factors = carver.take<double>(plan.schedule.chunk.mc);
  buffers.col_factors = carver.take<double>(plan.schedule.chunk.nc);
  buffers.a_moduli = carver.take<std::int32_t>(1);
  buffers.b_moduli = carver.take<std::int32_t>(1);
  buffers.result_moduli = carver.take<std::int32_t>(1);
  return buffers;
}

}  // namespace

SampledBuffers carve_sampled(base::Carver& carver, const Plan& plan, const num::Ladder& ladder, bool has_weights) {
  const Chunk& chunk = plan.schedule.certificate;
  const std::int64_t parts = is_complex(plan.shape.scalar) ? 2 : 1;
  SampledBuffers buffers = sampled_rows(plan, ladder);
  const std::int64_t rows = round_up(chunk.mc, kDeviceLinePad);
  const std::int64_t cols = round_up(chunk.nc, kDeviceLinePad);
  buffers.a_digits = carver.take<std::int8_t>(rows, buffers.row_stride);
  buffers.b_digits = carver.take<std::int8_t>(cols, buffers.row_stride);
  if (parts == 2) buffers.b_swapped = carver.take<std::int8_t>(cols, buffers.row_stride);
  buffers.is_compared = has_weights && may_compare(plan, buffers);
  if (buffers.is_compared) {
    buffers.cols_at_once = chunk.nc;
    buffers.engine_bytes = sampled_bytes(plan, buffers);
    buffers.engine = carver.take<std::byte>(buffers.engine_bytes);
    return buffers;
  }
  const std::int64_t col_bytes = 4 * parts * buffers.num_pieces * rows;
  buffers.cols_at_once = std::clamp<std::int64_t>(kMostAccBytes / col_bytes, 1, chunk.nc);
  buffers.acc = carver.take<std::int32_t>(parts, buffers.num_pieces, buffers.cols_at_once, rows);
  buffers.engine_bytes = sampled_bytes(plan, buffers);
  buffers.engine = carver.take<std::byte>(buffers.engine_bytes);
  return buffers;
}

DeviceBuffers carve_device(base::Carver& carver, const Plan& plan) {
  DeviceBuffers buffers;
  buffers.state = carver.take<DeviceState>(1);
  if (is_empty(plan.shape)) return buffers;
  buffers.a = carve_lines(carver, plan.shape.m, plan);
  buffers.b = carve_lines(carver, plan.shape.n, plan);
  const bool has_rungs = plan.numerics.ladder.num_rungs > 0;
  // Planes made before the certificate live beside what it needs; others share its memory.
  const bool is_single_pass = splits_in_one_pass(plan);
  if (is_single_pass) carve_planes(carver, plan, buffers.main);
  if (plan.numerics.has_certificate) {
    buffers.repairs = carver.take<Pair>((plan.shape.m * plan.shape.n) >> num::kMostRepairShift);
    buffers.repair_bits = carver.take<std::uint32_t>(plan.shape.n, ceil_div(plan.shape.m, 32));
    const std::size_t mark = carver.mark();
    buffers.sampled = carve_sampled(carver, plan, plan.numerics.ladder, is_single_pass);
    carver.rewind(mark);
    const Chunk& chunk = plan.schedule.certificate;
    buffers.second_look =
        carve_second_look(carver, {chunk.mc, chunk.nc}, plan.shape.k, is_complex(plan.shape.scalar) ? 2 : 1);
    carver.rewind(mark);
  }
  if (has_rungs && !is_single_pass) carve_planes(carver, plan, buffers.main);
  if (has_rungs) carve_residues(carver, plan, buffers.main);
  if (has_rungs && has_device_phases(plan)) buffers.phases = carve_phases(carver, plan);
  return buffers;
}

bool has_device_phases(const Plan& plan) {
  return plan.shape.scalar == Scalar::kF64 && product::device_phases_of(plan.schedule.engine) != nullptr;
}

bool splits_in_one_pass(const Plan& plan) {
  const num::Ladder& ladder = plan.numerics.ladder;
  if (ladder.num_rungs == 0 || is_empty(plan.shape) || plan.shape.k > kMaxSinglePassLength) return false;
  if (has_device_phases(plan)) return false;
  const Chunk& chunk = plan.schedule.chunk;
  const Chunk& certificate = plan.schedule.certificate;
  const auto is_whole = [&](const Chunk& part) { return part.mc >= plan.shape.m && part.nc >= plan.shape.n; };
  if (!is_whole(chunk) || chunk.kc < plan.shape.k) return false;
  if (plan.numerics.has_certificate && !is_whole(certificate)) return false;
  return ladder.rungs[0].norm_limit < kMaxSinglePassNorm;
}

bool compares_in_product(const Plan& plan) {
  return plan.numerics.has_certificate && splits_in_one_pass(plan) &&
         may_compare(plan, sampled_rows(plan, plan.numerics.ladder));
}

bool has_scout(const Plan& plan) {
  constexpr std::int64_t kLeast = 3072;
  return plan.shape.m >= kLeast && plan.shape.n >= kLeast && plan.shape.k >= kLeast && compares_in_product(plan) &&
         plan.schedule.engine->reads_num_products();
}

bool learns_look(const Plan& plan) {
  constexpr double kLeastTerms = 0x1p33;  // to tell the host takes 3 microseconds
  const problem::Shape& shape = plan.shape;
  return static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k) >= kLeastTerms &&
         compares_in_product(plan);
}

bool repairs_have_own_kernel(const Plan& plan) {
  const Numerics& numerics = plan.numerics;
  return numerics.scheme == Scheme::kOzaki2 && numerics.has_certificate &&
         plan.shape.m * plan.shape.n >= kOwnRepairElements;
}

product::ProductDesc device_main_product(const Plan& plan, const Chunk& chunk, int num_moduli) {
  product::ProductDesc desc = main_product(plan, chunk, num_moduli);
  desc.a_plane_stride = plane_stride(round_up(chunk.mc, kDeviceLinePad), chunk.kc);
  desc.b_plane_stride = plane_stride(round_up(chunk.nc, kDeviceLinePad), chunk.kc);
  desc.c_col_stride = round_up(chunk.mc, kDeviceLinePad);
  desc.c_plane_stride = plane_stride(chunk.nc, desc.c_col_stride);
  return desc;
}

product::ProductDesc device_sampled_product(const Plan& plan, const SampledBuffers& buffers, std::int64_t m,
                                            std::int64_t n) {
  product::ProductDesc desc;
  desc.m = m;
  desc.n = n;
  desc.k = std::min(buffers.row_stride, product::kBlockMaxI8);
  desc.num_products = static_cast<int>(std::min<std::int64_t>(buffers.num_pieces, product::kMaxProducts));
  desc.epilogue = buffers.is_compared ? product::Epilogue::kCompare : product::Epilogue::kStoreAcc;
  desc.a_row_stride = desc.b_row_stride = buffers.row_stride;
  desc.a_plane_stride = desc.b_plane_stride = buffers.num_pieces > 1 ? product::kBlockMaxI8 : 0;
  desc.c_col_stride = round_up(plan.schedule.certificate.mc, kDeviceLinePad);
  desc.c_plane_stride = buffers.cols_at_once * desc.c_col_stride;
  if (buffers.is_compared) desc.allowance = buffers.allowance;
  return desc;
}

}  // namespace kizami::plan
