// SPDX-License-Identifier: MIT
// Planes of the sums of quadrants that Strassen's products take, of whole operands or of some of their lines, where
// statistics are there already: of lines too long for one pass, and of blocks of C.
#include <complex>
#include <cstdint>

#include "base/code_capability.hpp"
#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "device/padding.hpp"
#include "device/panel.cuh"
#include "schemes/ozaki2/device_quadrants.cuh"
#include "schemes/ozaki2/device_residue_rows.cuh"
#include "schemes/ozaki2/device_strassen.hpp"
#include "schemes/ozaki2/residues.hpp"

namespace kizami::ozaki2 {
namespace {

using kernels::kQuadrantBlocksPerSm;
using kernels::kQuadrantWords;
using kernels::LineScaling;
using kernels::PlaneRow;
using kernels::QuadrantPanel;

/// Elements of each half of a line in a panel at most.
constexpr std::int64_t kMostHalf = device::kPanelLength / 2;
/// Panels of neighbouring lines that are taken before others of the same lines: where lines lie across memory, together
/// they read what it gives at a time.
template <class T>
constexpr std::uint32_t kNeighbours = static_cast<std::uint32_t>(device::kReadRows) / QuadrantPanel<T>::kPairs;

/// One operand and what blocks do with it.
template <class T>
struct Task {
  DeviceOperand<T> operand;
  std::int64_t half_lines;
  std::int64_t first_line;  ///< of the first half
  bool is_across;
  bool is_second;            ///< B
  std::uint32_t num_panels;  ///< kNeighbours times the pieces of a line times some
};

template <class T>
struct Work {
  Task<T> tasks[2];
  std::uint32_t pieces;  ///< of half a line
  std::int32_t half;     ///< elements of a piece, a multiple of kernels::kBlockLength
  std::int64_t half_k;
  num::Rung rung;
  std::int32_t num_planes;
  const device::DeviceState* state;
};

template <class T>
[[nodiscard]] __device__ QuadrantPanel<T> panel_of(const Work<T>& work, const Task<T>& task, std::uint32_t number) {
  const std::uint32_t neighbour = number % kNeighbours<T>;
  const std::uint32_t piece = number / kNeighbours<T> % work.pieces;
  const std::uint32_t group = number / kNeighbours<T> / work.pieces * kNeighbours<T> + neighbour;
  return {task.first_line + static_cast<std::int64_t>(group) * QuadrantPanel<T>::kPairs, task.half_lines,
          static_cast<std::int64_t>(piece) * work.half, work.half_k, work.half};
}

/// @range  one block: a panel of one operand
template <class T>
__global__ void __launch_bounds__(device::kPanelThreads, kQuadrantBlocksPerSm)
    strassen_residues(const __grid_constant__ Work<T> work) {
  if (!base::code_has_quadrants()) return __trap();
  using P = device::Panel<T>;
  extern __shared__ __align__(16) unsigned char panel[];
  __shared__ PlaneRow<device::Element<T>::kTerms, kQuadrantWords<T>> rows[num::kMaxPlanes];
  base::follow_previous_kernel();
  if (work.state->num_strassen_products == 0) return;
  const bool is_other = blockIdx.x >= work.tasks[0].num_panels;
  const Task<T>& task = work.tasks[is_other ? 1 : 0];
  const problem::Lines<T>& lines = task.operand.lines;
  const int half = work.half;
  const QuadrantPanel<T> at = panel_of(work, task, blockIdx.x - (is_other ? work.tasks[0].num_panels : 0));
  const bool is_in_chunks = task.is_across && comes_in_chunks(lines, at);
  if (is_in_chunks) {
    load_chunks(lines, at, panel);
  } else {
    load_panel(lines, task.is_across, at, panel);
  }
  kernels::load_plane_rows(rows, work.num_planes, /*is_unsigned=*/true);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int slot = warp / P::kWarpsPerLine;
  const int part = warp % P::kWarpsPerLine;
  LineScaling scaling;
  if (const std::int64_t line = at.line(slot); line < lines.num_lines) {
    const num::LineStats stats = task.operand.line_buffers.stats[line];
    scaling = LineScaling{line_scale(work.rung, stats), !stats.is_zero()};
    if (at.first == 0 && threadIdx.x % (32 * P::kWarpsPerLine) == 0)
      task.operand.line_buffers.scales[line] = stats.is_finite ? scaling.scale : num::kSkipLine;
  }
  device::wait_for_copies();
  if constexpr (sizeof(T) < 16) {
    if (is_in_chunks) device::order_chunks<T>(2 * half, panel);
  }
  __syncthreads();
  kernels::convert_line<T>(panel + slot * P::pitch(2 * half), half, part, task.is_second,
                           slot / QuadrantPanel<T>::kPairs, lines.is_conjugated, scaling);
  __syncthreads();
  kernels::write_sums<T>(panel, at, task.is_second, rows, work.num_planes, task.operand.planes);
}

}  // namespace

template <class T>
Status device_strassen_residues(std::span<const StrassenOperand<T>> operands, std::int64_t half_k,
                                const num::Ladder& ladder, const device::DeviceState* state, product::Queue queue) {
  using P = device::Panel<T>;
  constexpr std::int64_t kStep = kernels::kBlockLength;
  const std::int64_t half = base::round_up(base::ceil_div(half_k, base::ceil_div(half_k, kMostHalf)), kStep);
  Work<T> work{.tasks = {},
               .pieces = static_cast<std::uint32_t>(base::ceil_div(half_k, half)),
               .half = static_cast<std::int32_t>(half),
               .half_k = half_k,
               .rung = ladder.rungs[0],
               .num_planes = num::num_planes(plan::ring_of(kScalarOf<T>), ladder.rungs[0].num_moduli),
               .state = state};
  std::uint32_t panels = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const StrassenOperand<T>& operand = operands[i];
    Task<T>& task = work.tasks[i];
    task.operand = operand.operand;
    task.half_lines = operand.half_lines;
    task.first_line = operand.pairs.first;
    task.is_across = device::lies_across(operand.operand.lines);
    task.is_second = operand.side == Side::kB;
    task.num_panels = static_cast<std::uint32_t>(operand.pairs.count / QuadrantPanel<T>::kPairs) * work.pieces;
    panels += task.num_panels;
  }
  if (panels == 0) return {};
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(
      cudaFuncSetAttribute(strassen_residues<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, P::bytes(2 * kMostHalf)),
      "shared memory of sums of quadrants"));
  return base::launch_overlapped("strassen_residues", strassen_residues<T>, panels, device::kPanelThreads,
                                 static_cast<std::size_t>(P::bytes(static_cast<int>(2 * half))), queue, work);
}

#define KIZAMI_INSTANTIATE(T)                                                                                        \
  template Status device_strassen_residues<T>(std::span<const StrassenOperand<T>>, std::int64_t, const num::Ladder&, \
                                              const device::DeviceState*, product::Queue)
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki2
