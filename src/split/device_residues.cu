// SPDX-License-Identifier: MIT
// Residue planes of whole operands or of chunks of them, at the rung of the call's state; what is contiguous in memory
// decides how a block reads. One launch takes one operand or both.
#include <algorithm>
#include <array>

#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "plan/device_buffers.hpp"
#include "split/device.hpp"
#include "split/device_line.cuh"
#include "split/device_residue_bytes.cuh"
#include "split/residues.hpp"

namespace kizami::split {
namespace {

using device::Element;
using device::LineScaling;

constexpr int kThreads = 256;
template <class T>
constexpr int kBlocksPerSm = kIsComplex<T> ? 2 : 4;

/// What the blocks of one operand know.
template <class T>
struct Task {
  DeviceOperand<T> operand;
  bool is_across;            ///< neighbouring lines are neighbours in memory
  std::int32_t line_threads; ///< not across: threads that take a line
  std::uint32_t num_blocks;
};

template <class T>
struct Work {
  Task<T> tasks[2];
  std::int64_t first;
  std::int64_t length;
  num::Ladder ladder;
  const plan::DeviceState* state;
  bool has_lowest_rung;
};

/// A tile of a strided operand in shared memory: element h of line i at [h][i ^ (h / 4)], so that lanes that read the same
/// line at elements 4 apart meet different banks, and a warp writes whole rows of 128 bytes.
template <class T>
struct Tile {
  static constexpr int kLength = 128;
  static constexpr int kLines = sizeof(T) == 16 ? 16 : 32;
  static constexpr int kBytes = kLength * kLines * static_cast<int>(sizeof(T));

  [[nodiscard]] __device__ static int at(int h, int i) { return h * kLines + (i ^ (h / 4 % kLines)); }
};

constexpr int kGroupTiles = 8;

/// What split_across() and split_along() share: the scale of a line, and the bytes of four of its elements.
template <class T, int kWords>
struct Splitter {
  const DeviceOperand<T>& operand;
  const num::Rung& rung;
  const std::int32_t* inner_shift;  ///< of the first element; or null
  bool is_equilibrated;

  __device__ Splitter(const Work<T>& work, const Task<T>& task, const num::Selection& selection)
      : operand(task.operand),
        rung(work.ladder.rungs[selection.rung]),
        inner_shift(selection.equilibrated ? task.operand.line_buffers.inner_shift + work.first : nullptr),
        is_equilibrated(selection.equilibrated) {}

  /// Lines beyond the last are zero. `is_first`: publishes the scale.
  [[nodiscard]] __device__ LineScaling scaling_of(std::int64_t line, bool is_first) const {
    if (line >= operand.lines.num_lines) return {};
    const num::LineStats s = (is_equilibrated ? operand.line_buffers.equilibrated : operand.line_buffers.stats)[line];
    const LineScaling scaling{line_scale(rung, s), !s.is_zero()};
    if (is_first) operand.line_buffers.scales[line] = s.is_finite ? scaling.scale : num::kSkipLine;
    return scaling;
  }
  __device__ void write(const Element<T> (&elements)[4], const LineScaling& scaling, std::int64_t line,
                        std::int64_t h) const {
    device::write_planes<T, kWords, 4>(elements, operand.lines.is_conjugated, scaling,
                                    inner_shift == nullptr ? nullptr : inner_shift + h, rung.num_moduli,
                                    operand.planes.data + line * operand.planes.row_stride + h,
                                    operand.planes.plane_stride);
  }
};

/// Neighbouring lines are neighbours in memory: elements go through shared memory.
template <class T, int kWords>
__device__ void split_across(const Work<T>& work, const Task<T>& task, std::uint32_t block,
                             const num::Selection& selection) {
  using Shape = Tile<T>;
  __shared__ LineScaling scalings[Shape::kLines];
  extern __shared__ __align__(16) unsigned char memory[];
  T* const tile = reinterpret_cast<T*>(memory);
  const Splitter<T, kWords> splitter(work, task, selection);
  const problem::Lines<T>& lines = task.operand.lines;
  const DevicePlanes& planes = task.operand.planes;
  const std::int64_t padded_lines = base::round_up(lines.num_lines, plan::kReadRows);
  // Blocks that run at the same time take long pieces of memory together, both of the operand and of a plane: some tiles
  // side by side, all of their lines' length.
  const std::int64_t tiles_i = base::ceil_div(padded_lines, static_cast<std::int64_t>(Shape::kLines));
  const std::int64_t tiles_h = base::ceil_div(planes.row_stride, static_cast<std::int64_t>(Shape::kLength));
  const std::int64_t group = block / (kGroupTiles * tiles_h);
  const std::int64_t width = min(static_cast<std::int64_t>(kGroupTiles), tiles_i - group * kGroupTiles);
  const std::int64_t place = block - group * kGroupTiles * tiles_h;
  const std::int64_t tile_h = place / width;
  const std::int64_t first_line = (group * kGroupTiles + place % width) * Shape::kLines;
  const std::int64_t h0 = tile_h * Shape::kLength;
  if (threadIdx.x < Shape::kLines)
    scalings[threadIdx.x] = splitter.scaling_of(first_line + threadIdx.x, tile_h == 0);
  const int i0 = static_cast<int>(threadIdx.x) % Shape::kLines;
  const int first_h = static_cast<int>(threadIdx.x) / Shape::kLines;
  constexpr int kRows = kThreads / Shape::kLines;
  // Rows of this tile that are there, for a line that is there.
  const std::int64_t rest = work.length - h0;
  const int rows = first_line + i0 >= lines.num_lines || rest <= 0
                       ? 0
                       : static_cast<int>(min(rest, static_cast<std::int64_t>(Shape::kLength)));
  const T* element =
      lines.data + (first_line + i0) * lines.line_stride + (work.first + h0 + first_h) * lines.inner_stride;
  const std::int64_t step = kRows * lines.inner_stride;
#pragma unroll 8
  for (int h = first_h; h < Shape::kLength; h += kRows, element += step) {
    T x{};
    if (h < rows) x = *element;
    tile[Shape::at(h, i0)] = x;
  }
  __syncthreads();
  const int quad = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t h = h0 + 4 * quad;
  for (int i = static_cast<int>(threadIdx.x) / 32; i < Shape::kLines; i += kThreads / 32) {
    if (first_line + i >= padded_lines || h >= planes.row_stride) continue;
    Element<T> elements[4];
    for (int e = 0; e < 4; ++e) elements[e] = device::load_element(tile + Shape::at(4 * quad + e, i));
    splitter.write(elements, scalings[i], first_line + i, h);
  }
}

/// Elements of a line are neighbours: line_threads threads take a line, or a piece of one.
template <class T, int kWords>
__device__ void split_along(const Work<T>& work, const Task<T>& task, std::uint32_t block,
                            const num::Selection& selection) {
  constexpr int kLeastLineThreads = 32;
  __shared__ LineScaling scalings[kThreads / kLeastLineThreads];
  const Splitter<T, kWords> splitter(work, task, selection);
  const problem::Lines<T>& lines = task.operand.lines;
  const DevicePlanes& planes = task.operand.planes;
  const int slot = static_cast<int>(threadIdx.x) / task.line_threads;
  const int rank = static_cast<int>(threadIdx.x) % task.line_threads;
  const auto pieces = static_cast<std::uint32_t>(base::ceil_div(planes.row_stride, std::int64_t{4} * task.line_threads));
  const std::uint32_t piece = block % pieces;
  const std::int64_t line = static_cast<std::int64_t>(block / pieces) * (kThreads / task.line_threads) + slot;
  const std::int64_t h = (static_cast<std::int64_t>(piece) * task.line_threads + rank) * 4;
  const bool is_there = line < lines.num_lines;
  Element<T> elements[4];
  const T* const data = lines.data + line * lines.line_stride + (work.first + h) * lines.inner_stride;
  if (std::is_same_v<T, double> && lines.inner_stride == 1 && is_there && h + 4 <= work.length &&
      reinterpret_cast<std::uintptr_t>(data) % 16 == 0) {
    const double2 low = reinterpret_cast<const double2*>(data)[0];
    const double2 high = reinterpret_cast<const double2*>(data)[1];
    elements[0].term[0] = low.x;
    elements[1].term[0] = low.y;
    elements[2].term[0] = high.x;
    elements[3].term[0] = high.y;
  } else {
    for (int e = 0; e < 4; ++e) {
      elements[e] = Element<T>{};
      if (is_there && h + e < work.length) elements[e] = device::load_element(data + e * lines.inner_stride);
    }
  }
  if (rank == 0) scalings[slot] = splitter.scaling_of(line, piece == 0);
  __syncthreads();
  if (line < base::round_up(lines.num_lines, plan::kReadRows) && h < planes.row_stride)
    splitter.write(elements, scalings[slot], line, h);
}

/// A block takes every gridDim-th place of both operands.
template <class T, int kWords>
__device__ void split_places(const Work<T>& work, const num::Selection& selection) {
  const std::uint32_t end = work.tasks[0].num_blocks + work.tasks[1].num_blocks;
  for (std::uint32_t place = blockIdx.x; place < end; place += gridDim.x) {
    const bool is_second = place >= work.tasks[0].num_blocks;
    const Task<T>& task = work.tasks[is_second ? 1 : 0];
    const std::uint32_t block = place - (is_second ? work.tasks[0].num_blocks : 0);
    if (task.is_across) {
      split_across<T, kWords>(work, task, block, selection);
    } else {
      split_along<T, kWords>(work, task, block, selection);
    }
    __syncthreads();
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm<T>) split_residues(const __grid_constant__ Work<T> work) {
  base::follow_previous_kernel();
  const num::Selection selection = work.state->selection;
  if (selection.rung < 0 || work.state->is_scaling_only != 0) return;
  if (work.has_lowest_rung && selection.rung == 0 && !selection.equilibrated) return;
  // |X| < 2^(bits + 1) with 2^bits <= norm_limit, because the largest element of a line counts at least 1.
  const int bits = num::floor_log2(work.ladder.rungs[selection.rung].norm_limit) + 2;
  if (bits <= 63) {
    split_places<T, 2>(work, selection);
  } else if (bits <= 95) {
    split_places<T, 3>(work, selection);
  } else {
    split_places<T, device::kMaxWords>(work, selection);
  }
}

template <class T>
[[nodiscard]] Task<T> make_task(const DeviceOperand<T>& operand) {
  using Shape = Tile<T>;
  Task<T> task{operand, false, kThreads, 0};
  const problem::Lines<T>& lines = operand.lines;
  const std::int64_t padded_lines = base::round_up(lines.num_lines, plan::kReadRows);
  std::int64_t blocks = 0;
  if (lines.inner_stride > lines.line_stride && lines.num_lines > 1) {
    task.is_across = true;
    blocks = base::ceil_div(padded_lines, static_cast<std::int64_t>(Shape::kLines)) *
             base::ceil_div(operand.planes.row_stride, static_cast<std::int64_t>(Shape::kLength));
  } else {
    const std::int64_t quads = operand.planes.row_stride / 4;
    task.line_threads = quads > 128 ? 256 : quads > 64 ? 128 : quads > 32 ? 64 : 32;
    blocks = base::ceil_div(padded_lines, static_cast<std::int64_t>(kThreads / task.line_threads)) *
             base::ceil_div(quads, static_cast<std::int64_t>(task.line_threads));
  }
  task.num_blocks = static_cast<std::uint32_t>(blocks);
  return task;
}

}  // namespace

template <class T>
Status device_residue_planes(std::span<const DeviceOperand<T>> operands, std::int64_t first, std::int64_t length,
                             const num::Ladder& ladder, const plan::DeviceState* state, bool has_lowest_rung,
                             int num_sms, product::Queue queue) {
  Work<T> work{{}, first, length, ladder, state, has_lowest_rung};
  unsigned places = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    work.tasks[i] = make_task(operands[i]);
    places += work.tasks[i].num_blocks;
  }
  if (places == 0) return {};
  // No more blocks than run at once: if there is nothing to do, they are what it costs.
  const unsigned grid = std::min(places, static_cast<unsigned>(kBlocksPerSm<T> * num_sms));
  return base::launch_overlapped("split_residues", split_residues<T>, grid, kThreads, Tile<T>::kBytes, queue, work);
}

#define KIZAMI_INSTANTIATE(T)                                                                                      \
  template Status device_residue_planes<T>(std::span<const DeviceOperand<T>>, std::int64_t, std::int64_t, \
                                           const num::Ladder&, const plan::DeviceState*, bool, int,      \
                                           product::Queue)

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::split
