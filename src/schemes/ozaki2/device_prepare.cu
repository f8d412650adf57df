// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/device_prepare.hpp"

#include <algorithm>
#include <complex>
#include <span>

#include "base/cuda_status.hpp"
#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "base/phase_range.hpp"
#include "certify/device_begin.hpp"
#include "certify/device_statistics.hpp"
#include "num/moduli.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::ozaki2 {
namespace {

constexpr unsigned kPrepareThreads = 256;

struct AdoptedLines {
  const std::int32_t* from;
  std::int32_t* to;
  std::int64_t num_lines;  ///< 0: of no operand
  const device::DeviceState* kept;
  std::uint64_t* nonfinite;
};

__global__ void __launch_bounds__(kPrepareThreads)
    adopt_lines(const AdoptedLines a, const AdoptedLines b, device::DeviceState* state) {
  base::follow_previous_kernel();
  if (state->is_scaling_only != 0) return;
  const std::int64_t thread = blockIdx.x * static_cast<std::int64_t>(kPrepareThreads) + threadIdx.x;
  const std::int64_t step = gridDim.x * static_cast<std::int64_t>(kPrepareThreads);
  const auto adopt = [&](const AdoptedLines& lines) {
    if (lines.num_lines == 0) return;
    for (std::int64_t i = thread; i < lines.num_lines; i += step) lines.to[i] = lines.from[i];
    if (thread != 0) return;
    *lines.nonfinite += lines.kept->nonfinite_rows;
    state->open_lines += lines.kept->open_lines;
  };
  adopt(a);
  adopt(b);
}

struct PlaneCopy {
  const std::int8_t* from;
  std::int8_t* to;
  DevicePlanes kept;
  DevicePlanes made;
  std::int64_t num_lines;
  std::int64_t chunks;  ///< of 16 bytes, of a row
  std::int64_t count;   ///< of all planes
};

__global__ void __launch_bounds__(kPrepareThreads)
    copy_planes(const __grid_constant__ PlaneCopy copy, const device::DeviceState* state) {
  base::follow_previous_kernel();
  const num::Selection selection = state->selection;
  if ((selection.rung != 0) | selection.equilibrated | (state->is_scaling_only != 0)) return;
  const std::int64_t step = gridDim.x * static_cast<std::int64_t>(kPrepareThreads);
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kPrepareThreads) + threadIdx.x; i < copy.count;
       i += step) {
    const std::int64_t row = i / copy.chunks;
    const std::int64_t at = i % copy.chunks * 16;
    const std::int64_t plane = row / copy.num_lines;
    const std::int64_t line = row % copy.num_lines;
    *reinterpret_cast<uint4*>(copy.to + plane * copy.made.plane_stride + line * copy.made.row_stride + at) =
        *reinterpret_cast<const uint4*>(copy.from + plane * copy.kept.plane_stride + line * copy.kept.row_stride + at);
  }
}

}  // namespace

template <class T>
Status prepare_device_ozaki2(const plan::Plan& plan, Side side, const problem::Lines<T>& lines, std::byte* memory,
                             product::Queue queue) {
  const base::PhaseRange phase(base::Phase::kSplit);
  const Ozaki2Stage& stage = ozaki2_of(plan);
  const int num_sms = plan.schedule.facts.num_sms;
  base::Carver carver(memory);
  const DevicePreparedBuffers kept = carve_device_prepared(carver, plan, side, lines.num_lines);
  const int planes = num::num_planes(plan::ring_of(plan.shape.scalar), stage.ladder.rungs[0].num_moduli);
  KIZAMI_RETURN_IF_ERROR(certify::begin_state(kept.state, Factor<T>(T{1}), planes, 0, 0, queue));
  const DeviceOperand<T> operand{lines, kept.lines, kept.planes};
  std::uint64_t* const nonfinite = &kept.state->nonfinite_rows;
  if (prepares_in_one_pass(plan)) {
    return device_single_pass<T>({operand, kept.digits, nonfinite}, {}, stage.ladder, 0, {}, /*leaves_samples=*/false,
                                 kept.state, queue, /*b_is_a=*/false,
                                 stage.has_certificate ? clipped_check_of(plan, kept.state) : ClippedCheck{});
  }
  if (kept.digits.digits != nullptr) {  // of which products read rows beyond the last
    const std::int64_t row = kept.digits.row_stride;
    const auto padding =
        static_cast<std::size_t>((base::round_up(lines.num_lines, device::kReadRows) - lines.num_lines) * row);
    for (std::int8_t* digits : {kept.digits.digits, kept.digits.swapped}) {
      if (digits == nullptr || padding == 0) continue;
      KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaMemsetAsync(digits + lines.num_lines * row, 0, padding, queue),
                                               "clearing the padding"));
    }
  }
  KIZAMI_RETURN_IF_ERROR(
      certify::device_statistics(lines, kept.lines.stats, kept.digits, nonfinite, kept.state, num_sms, queue));
  return device_residue_planes<T>(std::span(&operand, 1), 0, lines.length, stage.ladder, kept.state,
                                  /*has_first_rung=*/false, num_sms, queue);
}

Status adopt_prepared(const Adoption& a, const Adoption& b, device::DeviceState* state, product::Queue queue) {
  const auto lines_of = [](const Adoption& x) -> AdoptedLines {
    if (x.kept == nullptr) return {};
    return {x.kept->lines.scales, x.scales, x.num_lines, x.kept->state, x.nonfinite};
  };
  const AdoptedLines of_a = lines_of(a), of_b = lines_of(b);
  constexpr std::int64_t kMostBlocks = 32;
  const auto blocks = static_cast<unsigned>(std::clamp<std::int64_t>(
      base::ceil_div(std::max(of_a.num_lines, of_b.num_lines), std::int64_t{kPrepareThreads}), 1, kMostBlocks));
  return base::launch_overlapped("adopt_lines", adopt_lines, dim3(blocks), dim3(kPrepareThreads), 0, queue, of_a, of_b,
                                 state);
}

Status copy_kept_planes(const DevicePlanes& kept, std::int64_t line, std::int64_t num_lines, std::int64_t first,
                        std::int64_t length, int num_planes, const DevicePlanes& to, const device::DeviceState* state,
                        int num_sms, product::Queue queue) {
  PlaneCopy copy{kept.data + line * kept.row_stride + first, to.data, kept, to, num_lines, length / 16, 0};
  copy.count = copy.chunks * num_lines * num_planes;
  constexpr int kBlocksPerSm = 8;
  const auto blocks = static_cast<unsigned>(std::clamp<std::int64_t>(
      base::ceil_div(copy.count, std::int64_t{kPrepareThreads}), 1, std::int64_t{kBlocksPerSm} * num_sms));
  return base::launch_overlapped("copy_planes", copy_planes, dim3(blocks), dim3(kPrepareThreads), 0, queue, copy,
                                 state);
}

#define KIZAMI_INSTANTIATE(T)                                                                             \
  template Status prepare_device_ozaki2<T>(const plan::Plan&, Side, const problem::Lines<T>&, std::byte*, \
                                           product::Queue)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki2
