// SPDX-License-Identifier: MIT
// Residue planes of whole operands or of chunks of them, at the rung of the call's state. A block takes pieces of some
// neighbouring lines through shared memory, a warp or two a line. One launch takes one operand or both.
#include <algorithm>

#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "plan/device_buffers.hpp"
#include "split/device.hpp"
#include "split/device_panel.cuh"
#include "split/device_residue_rows.cuh"
#include "split/residues.hpp"

namespace kizami::split {
namespace {

using device::Element;
using device::LineScaling;
using device::PlaneRow;

constexpr int kBlocksPerSm = 2;

/// Words of 32 bits that hold the integers of a rung: 2, 3 or device::kMaxWords.
[[nodiscard]] KIZAMI_HOST_DEVICE inline int words_of(const num::Rung& rung) {
  return fits_two_words(rung) ? 2 : integer_bits(rung) <= 95 ? 3 : device::kMaxWords;
}

/// One operand and what its blocks do.
template <class T>
struct Task {
  DeviceOperand<T> operand;  ///< lines end where the chunk does
  bool is_across;
  std::uint32_t pieces;      ///< of a line
  std::uint32_t num_panels;  ///< in all
};

template <class T>
struct Work {
  Task<T> tasks[2];
  std::int64_t first;
  num::Ladder ladder;
  const plan::DeviceState* state;
  bool has_first_rung;
};

template <class T, int kWords>
__device__ void split_panel(const Work<T>& work, const Task<T>& task, std::uint32_t number,
                            const num::Selection& selection, const PlaneRow<Element<T>::kTerms, kWords>* rows,
                            unsigned char* panel) {
  using P = device::Panel<T>;
  const problem::Lines<T>& lines = task.operand.lines;
  const plan::DeviceLineBuffers& buffers = task.operand.line_buffers;
  const DevicePlanes& planes = task.operand.planes;
  const std::int64_t first_line = static_cast<std::int64_t>(number / task.pieces) * P::kLines;
  const std::uint32_t piece = number % task.pieces;
  const std::int64_t at = static_cast<std::int64_t>(piece) * device::kPanelLength;  // in a row of the planes
  const auto length = static_cast<int>(min(static_cast<std::int64_t>(device::kPanelLength), planes.row_stride - at));
  device::load_panel(lines, task.is_across, first_line, work.first + at, device::kPanelLength, panel);

  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t line = first_line + warp / P::kWarpsPerLine;
  LineScaling scaling;
  if (line < lines.num_lines) {
    const num::Rung& rung = work.ladder.rungs[selection.rung];
    const num::LineStats stats = (selection.equilibrated ? buffers.equilibrated : buffers.stats)[line];
    scaling = LineScaling{line_scale(rung, stats), !stats.is_zero()};
    if (piece == 0 && threadIdx.x % (32 * P::kWarpsPerLine) == 0)
      buffers.scales[line] = stats.is_finite ? scaling.scale : num::kSkipLine;
  }
  device::wait_for_copies();
  __syncthreads();
  const unsigned char* const elements_of_line = panel + warp / P::kWarpsPerLine * P::pitch(device::kPanelLength);
  if (line < base::round_up(lines.num_lines, plan::kReadRows)) {
    const std::int32_t* const inner_shift = selection.equilibrated ? buffers.inner_shift + work.first + at : nullptr;
    const auto fragment = [&](int h, int i) {
      h += device::pair_of_lane(i);
      Element<T> elements[2];
      device::read_pair(elements_of_line, h, elements);
      return device::Fragment<T, kWords>(elements, lines.is_conjugated, scaling,
                                         inner_shift == nullptr ? nullptr : inner_shift + h);
    };
    device::write_line_by_blocks<T, kWords, /*kHasFours=*/true>(
        fragment, device::kBlockLength * (warp % P::kWarpsPerLine), length, device::kBlockLength * P::kWarpsPerLine,
        rows, num::num_planes(plan::ring_of(kScalarOf<T>), work.ladder.rungs[selection.rung].num_moduli),
        planes.data + line * planes.row_stride + at, planes.plane_stride);
  }
  __syncthreads();
}

template <class T>
[[nodiscard]] __device__ bool is_done(const Task<T>& task) {
  return task.operand.done != nullptr && *task.operand.done != 0;
}

/// A block takes every gridDim-th panel of both operands.
template <class T, int kWords>
__device__ void split_panels(const Work<T>& work, const num::Selection& selection) {
  constexpr int kTerms = Element<T>::kTerms;
  extern __shared__ __align__(16) unsigned char panel[];
  __shared__ PlaneRow<kTerms, kWords> rows[num::kMaxPlanes];
  device::load_plane_rows(rows,
                          num::num_planes(plan::ring_of(kScalarOf<T>), work.ladder.rungs[selection.rung].num_moduli));
  const std::uint32_t of_first = work.tasks[0].num_panels;
  const bool is_first_done = is_done(work.tasks[0]);
  const bool is_second_done = is_done(work.tasks[1]);
  for (std::uint32_t number = blockIdx.x; number < of_first + work.tasks[1].num_panels; number += gridDim.x) {
    const bool is_second = number >= of_first;
    if (is_second ? is_second_done : is_first_done) continue;
    split_panel<T, kWords>(work, work.tasks[is_second ? 1 : 0], number - (is_second ? of_first : 0), selection, rows,
                           panel);
  }
}

/// kMostWords: of the integers of the ladder's highest rung. Apart, so that the registers of the usual ones are not those of more.
template <class T, int kMostWords>
__global__ void __launch_bounds__(device::kPanelThreads, kBlocksPerSm)
    split_residues(const __grid_constant__ Work<T> work) {
  base::follow_previous_kernel();
  const num::Selection selection = work.state->selection;
  const bool is_scaling_only = work.state->is_scaling_only != 0;
  const bool has_first_rung = work.has_first_rung & (work.state->look != plan::Look::kBlocksFirst);
  const bool is_there = has_first_rung & (selection.rung == work.state->first_rung) & !selection.equilibrated;
  if ((selection.rung < 0) | is_scaling_only | is_there) return;
  const int words = words_of(work.ladder.rungs[selection.rung]);
  if (words == 2) {
    split_panels<T, 2>(work, selection);
  } else if (words == 3) {
    if constexpr (kMostWords >= 3) split_panels<T, 3>(work, selection);
  } else {
    if constexpr (kMostWords > 3) split_panels<T, device::kMaxWords>(work, selection);
  }
}

}  // namespace

template <class T>
Status device_residue_planes(std::span<const DeviceOperand<T>> operands, std::int64_t first, std::int64_t length,
                             const num::Ladder& ladder, const plan::DeviceState* state, bool has_first_rung,
                             int num_sms, product::Queue queue) {
  using P = device::Panel<T>;
  Work<T> work{{}, first, ladder, state, has_first_rung};
  unsigned panels = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Task<T>& task = work.tasks[i];
    task.operand = operands[i];
    task.operand.lines.length = first + length;
    task.is_across = device::lies_across(operands[i].lines);
    task.pieces =
        static_cast<std::uint32_t>(base::ceil_div(operands[i].planes.row_stride, std::int64_t{device::kPanelLength}));
    const std::int64_t lines = base::round_up(operands[i].lines.num_lines, plan::kReadRows);
    task.num_panels = task.pieces * static_cast<std::uint32_t>(base::ceil_div(lines, std::int64_t{P::kLines}));
    panels += task.num_panels;
  }
  if (panels == 0) return {};
  const auto start = [&](auto kernel) -> Status {
    constexpr int kBytes = P::bytes(device::kPanelLength);
    KIZAMI_RETURN_IF_ERROR(
        base::cuda_status(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
                          "shared memory of the residues"));
    // No more blocks than run at once: if there is nothing to do, they are what it costs.
    const unsigned grid = std::min(panels, static_cast<unsigned>(kBlocksPerSm * num_sms));
    return base::launch_overlapped("split_residues", kernel, grid, device::kPanelThreads, kBytes, queue, work);
  };
  const int words = words_of(ladder.rungs[ladder.num_rungs - 1]);
  return words <= 3 ? start(split_residues<T, 3>) : start(split_residues<T, device::kMaxWords>);
}

#define KIZAMI_INSTANTIATE(T)                                                                             \
  template Status device_residue_planes<T>(std::span<const DeviceOperand<T>>, std::int64_t, std::int64_t, \
                                           const num::Ladder&, const plan::DeviceState*, bool, int, product::Queue)

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::split
