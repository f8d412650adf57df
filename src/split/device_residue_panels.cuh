// SPDX-License-Identifier: MIT
// Residue planes of whole operands or of chunks of them, by the blocks of a grid: a block takes pieces of some neighbouring
// lines through shared memory, a warp or two a line. For the kernel of device_residues.cu, and for the second look, which
// goes on to the planes of the rung that it chose.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/int_math.hpp"
#include "num/rung.hpp"
#include "plan/device_buffers.hpp"
#include "split/device.hpp"
#include "split/device_panel.cuh"
#include "split/device_residue_rows.cuh"
#include "split/residues.hpp"

namespace kizami::split::device {

/// One operand and what the blocks do.
template <class T>
struct PanelTask {
  DeviceOperand<T> operand;  ///< lines end where the chunk does
  bool is_across;
  std::uint32_t pieces;      ///< of a line
  std::uint32_t num_panels;  ///< in all
};

template <class T>
struct ResiduePanels {
  PanelTask<T> tasks[2];
  std::int64_t first;  ///< element of the lines at which the planes begin

  [[nodiscard]] KIZAMI_HOST_DEVICE std::uint32_t num_panels() const {
    return tasks[0].num_panels + tasks[1].num_panels;
  }
};

/// Shared memory that a block needs.
template <class T>
inline constexpr int kResiduePanelBytes = Panel<T>::bytes(kPanelLength);

/// One or two operands, elements [first, first + length) of their lines.
template <class T>
[[nodiscard]] ResiduePanels<T> residue_panels(std::span<const DeviceOperand<T>> operands, std::int64_t first,
                                              std::int64_t length) {
  ResiduePanels<T> panels{{}, first};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    PanelTask<T>& task = panels.tasks[i];
    task.operand = operands[i];
    task.operand.lines.length = first + length;
    task.is_across = lies_across(operands[i].lines);
    task.pieces =
        static_cast<std::uint32_t>(base::ceil_div(operands[i].planes.row_stride, std::int64_t{kPanelLength}));
    const std::int64_t lines = base::round_up(operands[i].lines.num_lines, plan::kReadRows);
    task.num_panels = task.pieces * static_cast<std::uint32_t>(base::ceil_div(lines, std::int64_t{Panel<T>::kLines}));
  }
  return panels;
}

/// All threads of a block call it, kPanelThreads of which or more work.
template <class T, int kWords>
__device__ void split_panel(const ResiduePanels<T>& panels, const PanelTask<T>& task, std::uint32_t number,
                            const num::Rung& rung, bool is_equilibrated,
                            const PlaneRow<Element<T>::kTerms, kWords>* rows, unsigned char* panel) {
  using P = Panel<T>;
  const problem::Lines<T>& lines = task.operand.lines;
  const plan::DeviceLineBuffers& buffers = task.operand.line_buffers;
  const DevicePlanes& planes = task.operand.planes;
  const std::int64_t first_line = static_cast<std::int64_t>(number / task.pieces) * P::kLines;
  const std::uint32_t piece = number % task.pieces;
  const std::int64_t at = static_cast<std::int64_t>(piece) * kPanelLength;  // in a row of the planes
  const auto length = static_cast<int>(min(static_cast<std::int64_t>(kPanelLength), planes.row_stride - at));
  const bool works = threadIdx.x < kPanelThreads;
  if (works) load_panel(lines, task.is_across, first_line, panels.first + at, kPanelLength, panel);

  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t line = first_line + warp / P::kWarpsPerLine;
  LineScaling scaling;
  if (works && line < lines.num_lines) {
    const num::LineStats stats = (is_equilibrated ? buffers.equilibrated : buffers.stats)[line];
    scaling = LineScaling{line_scale(rung, stats), !stats.is_zero()};
    if (piece == 0 && threadIdx.x % (32 * P::kWarpsPerLine) == 0)
      buffers.scales[line] = stats.is_finite ? scaling.scale : num::kSkipLine;
  }
  wait_for_copies();
  __syncthreads();
  const unsigned char* const elements_of_line = panel + warp / P::kWarpsPerLine * P::pitch(kPanelLength);
  if (works && line < base::round_up(lines.num_lines, plan::kReadRows)) {
    const std::int32_t* const inner_shift = is_equilibrated ? buffers.inner_shift + panels.first + at : nullptr;
    const auto fragment = [&](int h, int i) {
      h += pair_of_lane(i);
      Element<T> elements[2];
      read_pair(elements_of_line, h, elements);
      return Fragment<T, kWords>(elements, lines.is_conjugated, scaling,
                                 inner_shift == nullptr ? nullptr : inner_shift + h);
    };
    write_line<T, kWords>(fragment, kBlockLength * (warp % P::kWarpsPerLine), length, kBlockLength * P::kWarpsPerLine,
                          rows, num::num_planes(plan::ring_of(kScalarOf<T>), rung.num_moduli),
                          planes.data + line * planes.row_stride + at, planes.plane_stride);
  }
  __syncthreads();
}

/// A block takes every gridDim-th panel of both operands.
template <class T, int kWords>
__device__ void split_panels(const ResiduePanels<T>& panels, const num::Rung& rung, bool is_equilibrated,
                             unsigned char* panel) {
  __shared__ PlaneRow<Element<T>::kTerms, kWords> rows[num::kMaxPlanes];
  load_plane_rows(rows, num::num_planes(plan::ring_of(kScalarOf<T>), rung.num_moduli));
  const std::uint32_t of_first = panels.tasks[0].num_panels;
  for (std::uint32_t number = blockIdx.x; number < panels.num_panels(); number += gridDim.x) {
    const bool is_second = number >= of_first;
    split_panel<T, kWords>(panels, panels.tasks[is_second ? 1 : 0], number - (is_second ? of_first : 0), rung,
                           is_equilibrated, rows, panel);
  }
}

/// The planes and scales of all lines at `rung`, see device_residue_planes().
/// @param memory [kResiduePanelBytes<T>] of shared memory, on a 16-byte boundary
/// @range  all threads of the grid call it, blocks of kPanelThreads or more
template <class T>
__device__ void make_residue_planes(const ResiduePanels<T>& panels, const num::Rung& rung, bool is_equilibrated,
                                    unsigned char* memory) {
  const int bits = integer_bits(rung);
  if (bits <= 63) {
    split_panels<T, 2>(panels, rung, is_equilibrated, memory);
  } else if (bits <= 95) {
    split_panels<T, 3>(panels, rung, is_equilibrated, memory);
  } else {
    split_panels<T, kMaxWords>(panels, rung, is_equilibrated, memory);
  }
}

}  // namespace kizami::split::device
