// SPDX-License-Identifier: MIT
// The CRT of Strassen's seven products: residues of an element of C are sums of up to four products' residues, without
// a reduction, and the formulas of crt_pieces.hpp take them with a wider v:
//   v = 1 + (r + 511) 2^-12,   |r| <= 512,   sum_q r_q W_q = sum_q v_q (2^12 W_q) - (2^12 + 511) sum_q W_q.
// A thread takes four neighbouring rows of a column of both upper quadrants, then of both lower ones: its residues are
// words of four, which become two words of two numbers of 16 bits, and sums of those. What the lower ones read again comes
// from the caches.
#include <cstdint>

#include "base/overlapped_launch.hpp"
#include "device/quads.cuh"
#include "schemes/ozaki2/crt_pieces.hpp"
#include "schemes/ozaki2/device_crt_epilogue.cuh"
#include "schemes/ozaki2/device_crt_pieces.cuh"
#include "schemes/ozaki2/device_strassen.hpp"

namespace kizami::ozaki2 {
namespace {

constexpr int kCrtBlocksPerSm = 2;
/// Planes whose residues are on their way.
constexpr int kAhead = 4;
template <int kPieces>
constexpr int kPlanes = most_piece_planes(false, kPieces);
static_assert(kPlanes<kMostStrassenPieces> <= kPieceGroup, "one offset for all planes");
template <int kPieces>
using LayoutOf = kernels::PieceLayout<kPieces, kPlanes<kPieces>>;

/// Products that the quadrants of a half of the lines read: P1, P5 and P6, and two more.
constexpr int kRead = 5;
[[nodiscard]] __device__ __forceinline__ int read_product(bool is_lower, int k) {
  if (k == 0) return 0;
  if (k < 3) return 3 + k;
  return k == 3 ? (is_lower ? 3 : 1) : is_lower ? 6 : 2;
}

/// Words of four residues to two words of two sums of 16 bits for the left quadrant and the right one, with 511 added and
/// 0xF000, which number_of_sum() wants. Of P1 the planes hold -P1, of P4 what C21 adds.
__device__ __forceinline__ void add_products(const std::uint32_t (&words)[kRead], bool is_lower,
                                             std::uint32_t (&left)[2], std::uint32_t (&right)[2]) {
#pragma unroll
  for (int pair = 0; pair < 2; ++pair) {
    std::uint32_t p[kRead];
#pragma unroll
    for (int k = 0; k < kRead; ++k) {  // residues + 128, or their negatives + 127
      const std::uint32_t biased = words[k] ^ (k == 0 ? 0x7F7F7F7Fu : 0x80808080u);
      p[k] = __byte_perm(biased, 0, pair == 0 ? 0x4140 : 0x4342);
    }
    p[0] += 0xF000F000u;
    const std::uint32_t three = p[0] + p[2] + p[4];               // P1 + P6 + P7, or P3
    left[pair] = (is_lower ? three : p[0] + 0x01000100u) + p[3];  // of two products: they have 255 between them
    right[pair] = three + p[1];
  }
}

/// v of one of the two sums of a word.
__device__ __forceinline__ double number_of_sum(std::uint32_t sums, int e, std::uint32_t one) {
  const std::uint32_t high = __byte_perm(sums, one, e == 0 ? 0x7104u : 0x7324u);
  return __hiloint2double(static_cast<int>(high), 0);
}

/// What a block shares: the Layout, with the offset of this kernel.
template <int kPieces>
__device__ void share_constants(const DeviceCrtTable& table, double* shared) {
  using Layout = LayoutOf<kPieces>;
  const int thread = static_cast<int>(threadIdx.x + threadIdx.y * blockDim.x);
  for (int at = thread; at < Layout::kSize; at += device::kThreads) shared[at] = Layout::value(table.pieces, at);
  __syncthreads();
  if (thread < kPieces) {
    double sum = 0;  // of 2^12 W_q, and all below exact
    for (int q = 0; q < table.num_planes; ++q) sum += shared[q * kPieces + thread];
    shared[Layout::kOffset + thread] = -(4096.0 + 511.0) * (sum * 0x1p-12);
  }
  __syncthreads();
}

/// The integers of rows i .. i + 3 of both quadrants of a half of the lines, of column j of each.
template <int kPieces>
__device__ __forceinline__ void rebuild(const ResiduePlanes& planes, const DeviceCrtTable& table,
                                        const double* constants, bool is_lower, std::int64_t i, std::int64_t j,
                                        double (&left)[4], double (&right)[4]) {
  using Layout = LayoutOf<kPieces>;
  const int num_planes = table.num_planes;
  const std::int8_t* at[kRead];
#pragma unroll
  for (int k = 0; k < kRead; ++k)
    at[k] = planes.data + j * planes.col_stride + i + read_product(is_lower, k) * planes.plane_stride;
  const std::int64_t step = kStrassenProducts * planes.plane_stride;
  std::uint32_t ahead[kAhead][kRead];
  const auto load = [&](std::uint32_t(&to)[kRead]) {
#pragma unroll
    for (int k = 0; k < kRead; ++k) {
      to[k] = kernels::load_word(at[k]);
      at[k] += step;
    }
  };
#pragma unroll
  for (int slot = 0; slot < kAhead; ++slot) {
    if (slot < num_planes) load(ahead[slot]);
  }
  const std::uint32_t one = kernels::high_word_of_one();
  double sum[2][4][kPieces];
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
#pragma unroll
    for (int e = 0; e < 4; ++e) sum[0][e][piece] = sum[1][e][piece] = constants[Layout::kOffset + piece];
  }
#pragma unroll 1
  for (int first = 0; first < num_planes; first += kAhead) {
#pragma unroll
    for (int slot = 0; slot < kAhead; ++slot) {
      const int q = first + slot;
      if (q >= num_planes) break;
      std::uint32_t sums[2][2];
      add_products(ahead[slot], is_lower, sums[0], sums[1]);
      if (q + kAhead < num_planes) load(ahead[slot]);
      double weight[kPieces];
#pragma unroll
      for (int piece = 0; piece < kPieces; ++piece) weight[piece] = constants[q * kPieces + piece];
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        const double v = number_of_sum(sums[e / 4][e % 4 / 2], e % 2, one);
#pragma unroll
        for (int piece = 0; piece < kPieces; ++piece)
          sum[e / 4][e % 4][piece] = std::fma(v, weight[piece], sum[e / 4][e % 4][piece]);
      }
    }
  }
  kernels::finish_sums<kPieces, kPlanes<kPieces>>(sum[0], constants, table.pieces, left);
  kernels::finish_sums<kPieces, kPlanes<kPieces>>(sum[1], constants, table.pieces, right);
}

template <int kPieces>
__global__ void __launch_bounds__(device::kThreads, kCrtBlocksPerSm)
    reconstruct_quadrants(const __grid_constant__ DeviceReconstruction<double> task,
                          const __grid_constant__ StrassenHalves halves, std::int64_t first_col, std::int64_t end_col) {
  __shared__ __align__(16) double constants[LayoutOf<kPieces>::kSize];
  base::follow_previous_kernel();
  if ((task.state->num_strassen_products == 0) | (task.state->takes_signs != 0)) return;
  const DeviceCrtTable& table = task.tables[task.ladder.rungs[0].num_moduli - num::kMinModuli];
  share_constants<kPieces>(table, constants);
  const std::int64_t i = device::first_row_of_thread();
  if (i >= halves.m) return;
  for (std::int64_t j = first_col + device::first_column_of_thread(); j < end_col; j += device::column_step()) {
#pragma unroll 1
    for (int half = 0; half < 2; ++half) {
      const std::int64_t row = i + half * halves.m;
      if (row >= task.c.rows) continue;
      double left[1][4];
      double right[1][4];
      rebuild<kPieces>(task.planes, table, constants, half != 0, i, j, left[0], right[0]);
      // Its registers are free while sums are made.
      const kernels::NumberEpilogue<double, /*kIsPart=*/false> epilogue(task, row);
      const std::int64_t j_right = halves.n + j;
      if (j < task.c.cols) epilogue.write(task, j, task.col_scale[j], left);
      if (j_right < task.c.cols) epilogue.write(task, j_right, task.col_scale[j_right], right);
    }
  }
}

}  // namespace

Status reconstruct_strassen(const DeviceReconstruction<double>& task, const StrassenHalves& halves, std::int64_t first,
                            std::int64_t end, int num_sms, product::Queue queue) {
  if (first >= end) return {};
  const device::QuadGrid shape = device::quad_grid(halves.m, end - first, kCrtBlocksPerSm * num_sms);
  const bool is_short = task.ladder.rungs[0].num_moduli <= most_piece_moduli(false, 2);
  return base::launch_overlapped("reconstruct_quadrants",
                                 is_short ? reconstruct_quadrants<2> : reconstruct_quadrants<3>, shape.grid,
                                 shape.block, 0, queue, task, halves, first, end);
}

}  // namespace kizami::ozaki2
