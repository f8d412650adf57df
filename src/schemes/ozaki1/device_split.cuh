// SPDX-License-Identifier: MIT
// The kernels of device_split.hpp: one that takes whole lines on the chip, in clusters, and finds exponents and digits
// in one pass; and one for pieces of lines whose exponents are known.
#pragma once

#include <algorithm>

#include "base/cluster_sm90.cuh"
#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "certify/device_line_stats.cuh"
#include "certify/device_line_warps.cuh"
#include "device/panel.cuh"
#include "schemes/ozaki1/device_slice_rows.cuh"
#include "schemes/ozaki1/device_split.hpp"
#include "schemes/ozaki2/device_buffers.hpp"

namespace kizami::ozaki1::kernels {

/// Elements of a slice, with its padding.
template <class T>
[[nodiscard]] KIZAMI_HOST_DEVICE std::int64_t slice_elements(const DeviceSlicePlanes& planes) {
  return planes.slice_stride / numbers_per_element(planes, kIsComplex<T>);
}

// ---- whole lines
// -------------------------------------------------------------------------------------------------------

template <class T>
struct SlicePassOperand {
  DeviceSliceOperand<T> operand;
  bool is_across;
};

template <class T>
struct SlicePass {
  SlicePassOperand<T> operands[2];
  std::uint32_t blocks_of_first;
  std::int32_t cluster;
  std::int32_t length;  ///< elements of a line that a block takes, a multiple of 128
  SliceDigits digits;
  const device::DeviceState* state;
};

/// @range  one cluster: some whole lines of one operand
template <class T>
__global__ void __launch_bounds__(device::kPanelThreads, 3) slice_pass(const __grid_constant__ SlicePass<T> pass) {
  using P = device::Panel<T>;
  extern __shared__ __align__(16) unsigned char panel[];
  __shared__ __align__(16) certify::kernels::Mailbox<T> mailbox;
  base::begin_in_cluster(&mailbox, sizeof mailbox);
  base::follow_previous_kernel();
  if (pass.state->is_scaling_only != 0) return;
  const bool is_second = blockIdx.x >= pass.blocks_of_first;
  const SlicePassOperand<T>& task = pass.operands[is_second ? 1 : 0];
  const problem::Lines<T>& lines = task.operand.lines;
  const std::uint32_t block = blockIdx.x - (is_second ? pass.blocks_of_first : 0);
  const int rank = static_cast<int>(block % static_cast<std::uint32_t>(pass.cluster));
  const std::int64_t first_line =
      static_cast<std::int64_t>(block / static_cast<std::uint32_t>(pass.cluster)) * P::kLines;
  const int length = pass.length;
  const std::int64_t first = static_cast<std::int64_t>(rank) * length;
  const certify::kernels::LineWarps<T> line_warps(mailbox, pass.cluster, rank);
  const bool is_in_chunks = task.is_across && device::comes_in_chunks(lines, first_line, first, length);
  if (is_in_chunks) {
    device::load_chunks(lines, first_line, first, length, panel);
  } else {
    device::load_panel(lines, task.is_across, first_line, first, length, panel);
  }
  device::wait_for_copies();
  if constexpr (sizeof(T) < 16) {
    if (is_in_chunks) device::order_chunks<T>(length, panel);
  }
  __syncthreads();

  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int part = warp % P::kWarpsPerLine;
  const std::int64_t line = first_line + warp / P::kWarpsPerLine;
  const unsigned char* const piece = panel + warp / P::kWarpsPerLine * P::pitch(length);
  const certify::kernels::LineRange seen =
      certify::kernels::first_look(lines, line, line_warps, [&](const auto& visit) {
#pragma unroll 4
        for (int h = 64 * part + 2 * lane; h < length; h += 64 * P::kWarpsPerLine) {
          device::Element<T> elements[2];
          device::read_pair(piece, h, elements);
          visit(elements);
        }
      });
  const certify::kernels::Range& range = seen.range;
  const int exponent = seen.exponent;
  if (line >= lines.num_lines) return;
  if (rank == 0 && part == 0 && lane == 0) {
    task.operand.stats[line] = certify::kernels::line_stats(range, exponent, certify::kernels::Sums{});
    task.operand.exponents[line] = range.is_nonfinite() ? num::kSkipLine : range.is_zero() ? 0 : exponent;
    if (range.is_nonfinite()) atomicAdd(reinterpret_cast<unsigned long long*>(task.operand.nonfinite), 1ull);
  }
  const DeviceSlicePlanes& planes = task.operand.planes;
  const auto end = static_cast<int>(min(static_cast<std::int64_t>(length), slice_elements<T>(planes) - first));
  const SliceWork work{planes, pass.digits, lines.is_conjugated};
  std::int8_t* const row =
      place_of(planes, line * planes.row_stride + first * numbers_per_element(planes, kIsComplex<T>));
  write_slices<T>(piece, kQuadsLength * part, end, kQuadsLength * P::kWarpsPerLine, exponent, work, row);
}

// ---- pieces of lines
// ---------------------------------------------------------------------------------------------------

inline constexpr int kSliceBlocksPerSm = 2;

template <class T>
struct SliceTask {
  DeviceSliceOperand<T> operand;  ///< lines end where the block of k does
  bool is_across;
  std::uint32_t pieces;      ///< of a line
  std::uint32_t num_panels;  ///< in all
};

template <class T>
struct SlicePieces {
  SliceTask<T> tasks[2];
  std::int64_t first;
  SliceDigits digits;
  const device::DeviceState* state;
};

template <class T>
__device__ void slice_panel(const SlicePieces<T>& pieces, const SliceTask<T>& task, std::uint32_t number,
                            unsigned char* panel) {
  using P = device::Panel<T>;
  const problem::Lines<T>& lines = task.operand.lines;
  const DeviceSlicePlanes& planes = task.operand.planes;
  const std::int64_t first_line = static_cast<std::int64_t>(number / task.pieces) * P::kLines;
  const std::uint32_t piece = number % task.pieces;
  const std::int64_t at = static_cast<std::int64_t>(piece) * device::kPanelLength;  // in a slice
  device::load_panel(lines, task.is_across, first_line, pieces.first + at, device::kPanelLength, panel);
  device::wait_for_copies();
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int part = warp % P::kWarpsPerLine;
  const std::int64_t line = first_line + warp / P::kWarpsPerLine;
  if (line < lines.num_lines) {
    const num::LineStats stats = task.operand.stats[line];
    const std::int32_t* const one_exponent = task.operand.one_exponent;
    const int exponent = stats.is_zero() ? num::kNoExponent : one_exponent != nullptr ? *one_exponent : stats.exponent;
    if (piece == 0 && threadIdx.x % (32 * P::kWarpsPerLine) == 0)
      task.operand.exponents[line] = !stats.is_finite ? num::kSkipLine : stats.is_zero() ? 0 : exponent;
    const auto end =
        static_cast<int>(min(static_cast<std::int64_t>(device::kPanelLength), slice_elements<T>(planes) - at));
    const SliceWork work{planes, pieces.digits, lines.is_conjugated};
    std::int8_t* const row =
        place_of(planes, line * planes.row_stride + at * numbers_per_element(planes, kIsComplex<T>));
    write_slices<T>(panel + warp / P::kWarpsPerLine * P::pitch(device::kPanelLength), kQuadsLength * part, end,
                    kQuadsLength * P::kWarpsPerLine, exponent, work, row);
  }
  __syncthreads();
}

/// A block takes every gridDim-th panel of both operands.
template <class T>
__global__ void __launch_bounds__(device::kPanelThreads, kSliceBlocksPerSm)
    slice_pieces(const __grid_constant__ SlicePieces<T> pieces) {
  extern __shared__ __align__(16) unsigned char panel[];
  base::follow_previous_kernel();
  if (pieces.state->is_scaling_only != 0) return;
  const std::uint32_t of_first = pieces.tasks[0].num_panels;
  for (std::uint32_t number = blockIdx.x; number < of_first + pieces.tasks[1].num_panels; number += gridDim.x) {
    const bool is_second = number >= of_first;
    slice_panel(pieces, pieces.tasks[is_second ? 1 : 0], number - (is_second ? of_first : 0), panel);
  }
}

}  // namespace kizami::ozaki1::kernels

namespace kizami::ozaki1 {

template <class T>
Status device_slices_in_one_pass(const DeviceSliceOperand<T>& a, const DeviceSliceOperand<T>& b,
                                 const SliceDigits& digits, const device::DeviceState* state, product::Queue queue) {
  using P = device::Panel<T>;
  const std::int64_t span = kernels::slice_elements<T>(a.planes);
  int cluster = 1;
  while (cluster < certify::kernels::kMaxCluster && std::int64_t{cluster} * device::kPanelLength < span) cluster *= 2;
  const auto length = static_cast<int>(base::round_up(base::ceil_div(span, std::int64_t{cluster}), std::int64_t{128}));
  if (length > device::kPanelLength)
    return {StatusCode::kInternal, "lines of " + std::to_string(span) + " elements do not fit in one pass"};
  const auto blocks_of = [&](const DeviceSliceOperand<T>& x) {
    return static_cast<unsigned>(base::ceil_div(x.lines.num_lines, std::int64_t{P::kLines}) * cluster);
  };
  kernels::SlicePass<T> pass{{{a, device::lies_across(a.lines)}, {b, device::lies_across(b.lines)}},
                             blocks_of(a),
                             cluster,
                             length,
                             digits,
                             state};
  const auto kernel = kernels::slice_pass<T>;
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, P::bytes(device::kPanelLength)),
      "shared memory of the slices"));
  if (cluster > 8) {  // more than every device with clusters takes
    KIZAMI_RETURN_IF_ERROR(base::cuda_status(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "clusters of the slices"));
  }
  return base::launch_overlapped_clusters("the slices in one pass", reinterpret_cast<const void*>(kernel),
                                          pass.blocks_of_first + blocks_of(b), device::kPanelThreads, cluster,
                                          static_cast<std::size_t>(P::bytes(length)), queue, &pass);
}

template <class T>
Status device_slices(std::span<const DeviceSliceOperand<T>> operands, std::int64_t first, std::int64_t length,
                     const SliceDigits& digits, const device::DeviceState* state, int num_sms, product::Queue queue) {
  using P = device::Panel<T>;
  kernels::SlicePieces<T> pieces{{}, first, digits, state};
  unsigned panels = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    kernels::SliceTask<T>& task = pieces.tasks[i];
    task.operand = operands[i];
    task.operand.lines.length = first + length;
    task.is_across = device::lies_across(operands[i].lines);
    task.pieces = static_cast<std::uint32_t>(
        base::ceil_div(kernels::slice_elements<T>(operands[i].planes), std::int64_t{device::kPanelLength}));
    task.num_panels =
        task.pieces * static_cast<std::uint32_t>(base::ceil_div(operands[i].lines.num_lines, std::int64_t{P::kLines}));
    panels += task.num_panels;
  }
  if (panels == 0) return {};
  constexpr int kBytes = P::bytes(device::kPanelLength);
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(
      cudaFuncSetAttribute(kernels::slice_pieces<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
      "shared memory of the slices"));
  const unsigned grid = std::min(panels, static_cast<unsigned>(kernels::kSliceBlocksPerSm * num_sms));
  return base::launch_overlapped("slice_pieces", kernels::slice_pieces<T>, grid, device::kPanelThreads, kBytes, queue,
                                 pieces);
}

}  // namespace kizami::ozaki1

/// In one file for each type, for the time that they take to compile.
#define KIZAMI_INSTANTIATE_DEVICE_SLICES(T)                                                   \
  template ::kizami::Status kizami::ozaki1::device_slices_in_one_pass<T>(                     \
      const DeviceSliceOperand<T>&, const DeviceSliceOperand<T>&, const SliceDigits&,         \
      const ::kizami::device::DeviceState*, ::kizami::product::Queue);                        \
  template ::kizami::Status kizami::ozaki1::device_slices<T>(                                 \
      std::span<const DeviceSliceOperand<T>>, std::int64_t, std::int64_t, const SliceDigits&, \
      const ::kizami::device::DeviceState*, int, ::kizami::product::Queue)
