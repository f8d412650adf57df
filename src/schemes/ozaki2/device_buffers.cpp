// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/device_buffers.hpp"

#include <algorithm>
#include <variant>

#include "base/int_math.hpp"
#include "fp64/device.hpp"
#include "num/moduli.hpp"
#include "product/device_phases.hpp"
#include "product/engine_bytes.hpp"
#include "schemes/ozaki2/buffers.hpp"
#include "schemes/ozaki2/residues.hpp"
#include "schemes/ozaki2/strassen.hpp"

namespace kizami::ozaki2 {
namespace {

using base::ceil_div;
using base::round_up;

/// Chunks at every rung.
[[nodiscard]] std::size_t main_bytes(const plan::Plan& plan) {
  const plan::Chunk& chunk = ozaki2_of(plan).chunk;
  const num::Ladder& ladder = ozaki2_of(plan).ladder;
  const product::Extents ms(round_up(plan.shape.m, device::kReadRows), round_up(chunk.mc, device::kReadRows));
  std::size_t most = 0;
  for (int r = 0; r < ladder.num_rungs; ++r) {
    const int num_moduli = ladder.rungs[static_cast<std::size_t>(r)].num_moduli;
    most = std::max(most, product::engine_bytes(*ozaki2_of(plan).engine, plan.schedule.facts,
                                                device_main_product(plan, chunk, num_moduli), ms,
                                                {plan.shape.n, chunk.nc}, {plan.shape.k, chunk.kc}));
  }
  return most;
}

device::DeviceLineBuffers carve_lines(base::Carver& carver, std::int64_t lines, const plan::Plan& plan) {
  device::DeviceLineBuffers buffers;
  buffers.stats = carver.take<num::LineStats>(lines);
  buffers.scales = carver.take<std::int32_t>(lines);
  if (ozaki2_of(plan).has_certificate && splits_in_one_pass(plan))
    buffers.weights = carver.take<num::RungWeight>(round_up(lines, device::kReadRows));
  if (ozaki2_of(plan).ladder.may_equilibrate) {
    buffers.equilibrated = carver.take<num::LineStats>(lines);
    buffers.inner_shift = carver.take<std::int32_t>(plan.shape.k);
  }
  return buffers;
}

[[nodiscard]] int most_planes(const plan::Plan& plan) {
  const num::Ladder& ladder = ozaki2_of(plan).ladder;
  return num::num_planes(plan::ring_of(plan.shape.scalar),
                         ladder.rungs[static_cast<std::size_t>(ladder.num_rungs - 1)].num_moduli);
}

/// Bytes from one plane of lines x length residues to the next. Not their product alone, often a power of two: the same
/// places of all planes, which kernels want at the same time, would meet in few channels of the memory.
[[nodiscard]] constexpr std::int64_t plane_stride(std::int64_t lines, std::int64_t length) {
  constexpr std::int64_t kSkew = 129 * device::kDeviceInnerPad;
  return lines * length + kSkew;
}

/// The products of quadrants at the lowest rung; none where the plan has none.
[[nodiscard]] product::ProductDesc strassen_or_none(const plan::Plan& plan) {
  const Ozaki2Stage& stage = ozaki2_of(plan);
  return stage.takes_strassen ? strassen_product(plan, stage.ladder.rungs[0].num_moduli) : product::ProductDesc{};
}

/// Room for so many planes, or for those of quadrants if they take more: then neither number of bytes overflows.
[[nodiscard]] std::int8_t* take_planes(base::Carver& carver, std::int64_t planes, std::int64_t stride,
                                       std::int64_t planes_of_quadrants, std::int64_t stride_of_quadrants) {
  if (planes_of_quadrants == 0 || planes_of_quadrants * stride_of_quadrants < planes * stride)
    return carver.take<std::int8_t>(planes, stride);
  return carver.take<std::int8_t>(planes_of_quadrants, stride_of_quadrants);
}

/// Planes at every rung, and those of quadrants if there may be any.
void carve_planes(base::Carver& carver, const plan::Plan& plan, DeviceMainBuffers& buffers) {
  const plan::Chunk& chunk = ozaki2_of(plan).chunk;
  const product::ProductDesc of_quadrants = strassen_or_none(plan);
  const auto take = [&](std::int64_t lines, std::int64_t stride_of_quadrants) {
    return take_planes(carver, most_planes(plan), plane_stride(round_up(lines, device::kDeviceLinePad), chunk.kc),
                       of_quadrants.num_products, stride_of_quadrants);
  };
  buffers.a_planes = take(chunk.mc, of_quadrants.a_plane_stride);
  buffers.b_planes = take(chunk.nc, of_quadrants.b_plane_stride);
}

void carve_residues(base::Carver& carver, const plan::Plan& plan, DeviceMainBuffers& buffers) {
  const plan::Chunk& chunk = ozaki2_of(plan).chunk;
  const product::ProductDesc of_quadrants = strassen_or_none(plan);
  buffers.residues =
      take_planes(carver, most_planes(plan), plane_stride(chunk.nc, round_up(chunk.mc, device::kDeviceLinePad)),
                  of_quadrants.num_products, of_quadrants.c_plane_stride);
  buffers.engine_bytes = main_bytes(plan);
  buffers.engine = carver.take<std::byte>(buffers.engine_bytes);
}

DevicePhaseBuffers carve_phases(base::Carver& carver, const plan::Plan& plan) {
  DevicePhaseBuffers buffers;
  buffers.split_factors = carver.take<double>(2, std::max(plan.shape.m, plan.shape.n));
  buffers.row_factors = carver.take<double>(ozaki2_of(plan).chunk.mc);
  buffers.col_factors = carver.take<double>(ozaki2_of(plan).chunk.nc);
  buffers.a_moduli = carver.take<std::int32_t>(1);
  buffers.b_moduli = carver.take<std::int32_t>(1);
  buffers.result_moduli = carver.take<std::int32_t>(1);
  return buffers;
}

}  // namespace

DeviceBuffers carve_device(base::Carver& carver, const plan::Plan& plan) {
  DeviceBuffers buffers;
  buffers.state = carver.take<device::DeviceState>(1);
  if (plan::is_empty(plan.shape)) return buffers;
  buffers.a = carve_lines(carver, plan.shape.m, plan);
  buffers.b = carve_lines(carver, plan.shape.n, plan);
  buffers.counts = carver.take<PlaneCounts>(1);
  const bool has_rungs = ozaki2_of(plan).ladder.num_rungs > 0;
  // Planes made before the certificate live beside what it needs; others share its memory. Sums of quadrants may be made
  // before of long lines too, of a block (BlockEvents).
  const bool is_single_pass = splits_in_one_pass(plan);
  const bool has_early_planes = is_single_pass || (has_rungs && is_one_strassen_chunk(plan));
  if (has_early_planes) carve_planes(carver, plan, buffers.main);
  if (ozaki2_of(plan).has_certificate) {
    buffers.repairs = carver.take<device::Pair>((plan.shape.m * plan.shape.n) >> num::kMostRepairShift);
    buffers.repair_bits = carver.take<std::uint32_t>(plan.shape.n, ceil_div(plan.shape.m, 32));
    const std::size_t mark = carver.mark();
    buffers.sampled = certify::carve_sampled(carver, certificate_plan(plan), ozaki2_of(plan).ladder, is_single_pass);
    carver.rewind(mark);
    const plan::Chunk& chunk = ozaki2_of(plan).certificate;
    buffers.second_look =
        certify::carve_second_look(carver, {chunk.mc, chunk.nc}, plan.shape.k, is_complex(plan.shape.scalar) ? 2 : 1);
    carver.rewind(mark);
  }
  if (has_rungs && !has_early_planes) carve_planes(carver, plan, buffers.main);
  if (has_rungs) carve_residues(carver, plan, buffers.main);
  if (has_rungs && has_device_phases(plan)) buffers.phases = carve_phases(carver, plan);
  return buffers;
}

ClippedCheck clipped_check_of(const plan::Plan& plan, device::DeviceState* state, bool has_samples) {
  const float allowance = ozaki2_of(plan).ladder.rungs[0].allowance;
  return {num::sampled_allowance(allowance, plan::num_terms(plan.shape)), &state->open_lines,
          has_samples ? nullptr : &state->sampled_failures};
}

DevicePreparedBuffers carve_device_prepared(base::Carver& carver, const plan::Plan& plan, Side side,
                                            std::int64_t num_lines) {
  const Ozaki2Stage& stage = ozaki2_of(plan);
  const std::int64_t rows = round_up(num_lines, device::kDeviceLinePad);
  DevicePreparedBuffers kept;
  kept.state = carver.take<device::DeviceState>(1);
  kept.lines.stats = carver.take<num::LineStats>(num_lines);
  kept.lines.scales = carver.take<std::int32_t>(num_lines);
  if (stage.has_certificate) {
    if (prepares_in_one_pass(plan)) kept.lines.weights = carver.take<num::RungWeight>(rows);
    const certify::SampledBuffers sampled = certify::sampled_rows(certificate_plan(plan), stage.ladder);
    kept.digits = {carver.take<std::int8_t>(rows, sampled.row_stride), nullptr, sampled.log_stride, sampled.row_stride};
    if (side == Side::kB && is_complex(plan.shape.scalar))
      kept.digits.swapped = carver.take<std::int8_t>(rows, sampled.row_stride);
  }
  const int planes = num::num_planes(plan::ring_of(plan.shape.scalar), stage.ladder.rungs[0].num_moduli);
  kept.planes.row_stride = round_up(plan.shape.k, device::kDeviceInnerPad);
  kept.planes.plane_stride = plane_stride(rows, kept.planes.row_stride);
  kept.planes.data = carver.take<std::int8_t>(planes, kept.planes.plane_stride);
  return kept;
}

bool one_pass_takes(const base::DeviceLimits& device, Scalar scalar, std::int64_t k, const num::Rung& rung) {
  if (k > device::longest_single_pass(device) || rung.norm_limit >= device::kMaxSinglePassNorm) return false;
  if (fits_two_words(rung)) return true;
  return k <= device::longest_cluster_pass(device) &&
         (!needs_more_room(scalar, words_of(rung)) || device.shared_bytes >= kRoomForMore);
}

bool prepares_in_one_pass(const plan::Plan& plan) {
  return one_pass_takes(plan.schedule.facts, plan.shape.scalar, plan.shape.k, ozaki2_of(plan).ladder.rungs[0]);
}

bool has_device_phases(const plan::Plan& plan) {
  return plan.shape.scalar == Scalar::kF64 && product::device_phases_of(ozaki2_of(plan).engine) != nullptr;
}

namespace {

/// Sums of quadrants are made in one pass by clusters alone, which have both halves of their lines.
[[nodiscard]] bool halves_fit_one_pass(const plan::Plan& plan) {
  return strassen_halves(plan.shape).k <= device::longest_cluster_pass(plan.schedule.facts) / 2;
}

}  // namespace

bool splits_in_one_pass(const plan::Plan& plan) {
  const num::Ladder& ladder = ozaki2_of(plan).ladder;
  if (ladder.num_rungs == 0 || plan::is_empty(plan.shape) || !prepares_in_one_pass(plan)) return false;
  if (has_device_phases(plan)) return false;
  if (ozaki2_of(plan).takes_strassen && !halves_fit_one_pass(plan)) return false;
  const plan::Chunk& chunk = ozaki2_of(plan).chunk;
  const plan::Chunk& certificate = ozaki2_of(plan).certificate;
  const auto is_whole = [&](const plan::Chunk& part) { return part.mc >= plan.shape.m && part.nc >= plan.shape.n; };
  if (!is_whole(chunk) || chunk.kc < plan.shape.k) return false;
  return !ozaki2_of(plan).has_certificate || is_whole(certificate);
}

bool compares_in_product(const plan::Plan& plan) {
  return ozaki2_of(plan).has_certificate && splits_in_one_pass(plan) &&
         certify::may_compare_sampled(certificate_plan(plan),
                                      certify::sampled_rows(certificate_plan(plan), ozaki2_of(plan).ladder));
}

bool has_scout(const plan::Plan& plan) {
  constexpr std::int64_t kLeast = 3072;
  return plan.shape.m >= kLeast && plan.shape.n >= kLeast && plan.shape.k >= kLeast && compares_in_product(plan) &&
         ozaki2_of(plan).engine->reads_num_products() && plan.schedule.facts.has_clusters();
}

bool learns_look(const plan::Plan& plan) {
  constexpr double kLeastTerms = 0x1p27;  // below, calls are not worth a word of the host's memory
  const problem::Shape& shape = plan.shape;
  return static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k) >= kLeastTerms &&
         compares_in_product(plan);
}

bool repairs_have_own_kernel(const plan::Plan& plan) {
  return plan.first().scheme == Scheme::kOzaki2 && ozaki2_of(plan).has_certificate &&
         plan.shape.m * plan.shape.n >= kOwnRepairElements &&
         plan.schedule.facts.shared_bytes >= fp64::kRepairSharedBytes;
}

product::ProductDesc device_main_product(const plan::Plan& plan, const plan::Chunk& chunk, int num_moduli) {
  product::ProductDesc desc = main_product(plan, chunk, num_moduli);
  desc.a_plane_stride = plane_stride(round_up(chunk.mc, device::kDeviceLinePad), chunk.kc);
  desc.b_plane_stride = plane_stride(round_up(chunk.nc, device::kDeviceLinePad), chunk.kc);
  desc.c_col_stride = round_up(chunk.mc, device::kDeviceLinePad);
  desc.c_plane_stride = plane_stride(chunk.nc, desc.c_col_stride);
  return desc;
}

}  // namespace kizami::ozaki2
