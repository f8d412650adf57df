// SPDX-License-Identifier: MIT
// Planes of the sums of quadrants that Strassen's products take, of whole operands or of some of their lines, where
// statistics are there already: of lines too long for one pass, and of blocks of C.
#include <cstdint>
#include <type_traits>

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

/// Panels of neighbouring lines that are taken before others of the same lines: where lines lie across memory, together
/// they read what it gives at a time.
template <class T, int kLevels>
constexpr std::uint32_t kNeighbours = static_cast<std::uint32_t>(device::kReadRows) / QuadrantPanel<T, kLevels>::kPairs;

/// One operand and what blocks do with it.
template <class T>
struct Task {
  DeviceOperand<T> operand;
  std::int64_t part_lines;
  bool is_across;
  bool is_second;            ///< B
  std::uint32_t num_panels;  ///< kNeighbours times the pieces of a line times some
};

template <class T>
struct Work {
  Task<T> tasks[2];
  std::uint32_t pieces;  ///< of a part of a line
  std::int32_t length;   ///< elements of a piece, a multiple of kernels::kBlockLength
  std::int64_t part_k;
  num::Rung rung;
  std::int32_t num_planes;
  const device::DeviceState* state;
};

template <class T, int kLevels>
[[nodiscard]] __device__ QuadrantPanel<T, kLevels> panel_of(const Work<T>& work, const Task<T>& task,
                                                            std::uint32_t number) {
  constexpr std::uint32_t kBeside = kNeighbours<T, kLevels>;
  const std::uint32_t piece = number / kBeside % work.pieces;
  const std::uint32_t group = number / kBeside / work.pieces * kBeside + number % kBeside;
  return {static_cast<std::int64_t>(group) * QuadrantPanel<T, kLevels>::kPairs, task.part_lines,
          static_cast<std::int64_t>(piece) * work.length, work.part_k, work.length};
}

/// @range  one block: a panel of one operand
template <class T, int kLevels>
__global__ void __launch_bounds__(device::kPanelThreads, kQuadrantBlocksPerSm)
    strassen_residues(const __grid_constant__ Work<T> work) {
  using P = device::Panel<T>;
  extern __shared__ __align__(16) unsigned char panel[];
  __shared__ PlaneRow<device::Element<T>::kTerms, kQuadrantWords> rows[num::kMaxPlanes];
  base::follow_previous_kernel();
  if (work.state->num_strassen_products == 0) return;
  const bool is_other = blockIdx.x >= work.tasks[0].num_panels;
  const Task<T>& task = work.tasks[is_other ? 1 : 0];
  const problem::Lines<T>& lines = task.operand.lines;
  const int length = work.length;
  const QuadrantPanel<T, kLevels> at =
      panel_of<T, kLevels>(work, task, blockIdx.x - (is_other ? work.tasks[0].num_panels : 0));
  const bool is_in_chunks = task.is_across && comes_in_chunks(lines, at);
  if (is_in_chunks) {
    load_chunks(lines, at, panel);
  } else {
    load_panel(lines, task.is_across, at, panel);
  }
  kernels::load_plane_rows(rows, work.num_planes);
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
    if (is_in_chunks) device::order_chunks<T>(at.total_length(), panel);
  }
  __syncthreads();
  kernels::convert_line<T, kLevels>(panel + slot * P::pitch(at.total_length()), length, part, task.is_second,
                                    lines.is_conjugated, scaling);
  __syncthreads();
  kernels::write_sums<T, kLevels>(panel, at, task.is_second, rows, work.num_planes, task.operand.planes);
}

}  // namespace

template <class T>
Status device_strassen_residues(std::span<const StrassenOperand<T>> operands, const StrassenParts& parts,
                                const num::Ladder& ladder, const device::DeviceState* state, product::Queue queue) {
  using P = device::Panel<T>;
  constexpr std::int64_t kStep = kernels::kBlockLength;
  const std::int64_t most = device::kPanelLength >> parts.levels;
  const std::int64_t length = base::round_up(base::ceil_div(parts.k, base::ceil_div(parts.k, most)), kStep);
  Work<T> work{.tasks = {},
               .pieces = static_cast<std::uint32_t>(base::ceil_div(parts.k, length)),
               .length = static_cast<std::int32_t>(length),
               .part_k = parts.k,
               .rung = ladder.rungs[0],
               .num_planes = num::num_planes(plan::ring_of(kScalarOf<T>), ladder.rungs[0].num_moduli),
               .state = state};
  const auto start = [&]<int kLevels>(std::integral_constant<int, kLevels>) -> Status {
    std::uint32_t panels = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const StrassenOperand<T>& operand = operands[i];
      Task<T>& task = work.tasks[i];
      task.operand = operand.operand;
      task.part_lines = operand.part_lines;
      task.is_across = device::lies_across(operand.operand.lines);
      task.is_second = operand.side == Side::kB;
      task.num_panels =
          static_cast<std::uint32_t>(operand.part_lines / QuadrantPanel<T, kLevels>::kPairs) * work.pieces;
      panels += task.num_panels;
    }
    if (panels == 0) return {};
    const auto kernel = strassen_residues<T, kLevels>;
    KIZAMI_RETURN_IF_ERROR(base::cuda_status(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, P::bytes(device::kPanelLength)),
        "shared memory of sums of quadrants"));
    return base::launch_overlapped("strassen_residues", kernel, panels, device::kPanelThreads,
                                   static_cast<std::size_t>(P::bytes(static_cast<int>(length << kLevels))), queue,
                                   work);
  };
  return parts.levels == 2 ? start(std::integral_constant<int, 2>{}) : start(std::integral_constant<int, 1>{});
}

template Status device_strassen_residues<double>(std::span<const StrassenOperand<double>>, const StrassenParts&,
                                                 const num::Ladder&, const device::DeviceState*, product::Queue);

}  // namespace kizami::ozaki2
