// SPDX-License-Identifier: MIT
// The CRT of Strassen's products: residues of an element of C are sums of up to four products' residues, of two levels 16,
// without a reduction, and the formulas of crt_pieces.hpp take them with a wider v:
//   v = 1 + (r + o) 2^-12,   |r| <= o + 1,   sum_q r_q W_q = sum_q v_q (2^12 W_q) - (2^12 + o) sum_q W_q;
// o = 511, of two levels 2048. A thread takes four neighbouring rows of a column of both upper quadrants, then of both
// lower ones; of two levels so for each quadrant of the first, whose products are the sums of products of products. Its
// residues are words of four, which become two words of two numbers of 16 bits, and sums of those. What is read again comes
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

constexpr int kBlocksPerSm = 2;
/// Planes whose residues are on their way; of two levels one.
constexpr int kAhead = 4;
/// o
template <int kLevels>
constexpr int kOffset = kLevels == 2 ? 2048 : 511;
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

/// Four residues + 128, or their negatives + 127, of which two become 16 bits each.
[[nodiscard]] __device__ __forceinline__ std::uint32_t biased_pair(std::uint32_t word, bool is_negated, int pair) {
  const std::uint32_t biased = word ^ (is_negated ? 0x7F7F7F7Fu : 0x80808080u);
  return __byte_perm(biased, 0, pair == 0 ? 0x4140 : 0x4342);
}

/// Sums of the products of a half, p[0] with 0xF000 in each number, which number_of_sum() wants, for the left quadrant and
/// the right one.
/// @param missing  of two products, for those that four have more
__device__ __forceinline__ void add_half(const std::uint32_t (&p)[kRead], bool is_lower, std::uint32_t missing,
                                         std::uint32_t& left, std::uint32_t& right) {
  const std::uint32_t three = p[0] + p[2] + p[4];  // P1 + P6 + P7, or P3
  left = (is_lower ? three : p[0] + missing) + p[3];
  right = three + p[1];
}

/// Words of four residues to two words of two sums of 16 bits for the left quadrant and the right one, with 511 added. Of P1
/// the planes hold -P1, of P4 what C21 adds.
__device__ __forceinline__ void add_products(const std::uint32_t (&words)[kRead], bool is_lower,
                                             std::uint32_t (&left)[2], std::uint32_t (&right)[2]) {
#pragma unroll
  for (int pair = 0; pair < 2; ++pair) {
    std::uint32_t p[kRead];
#pragma unroll
    for (int k = 0; k < kRead; ++k) p[k] = biased_pair(words[k], k == 0, pair);
    p[0] += 0xF000F000u;
    add_half(p, is_lower, 0x01000100u, left[pair], right[pair]);  // two products have 255 between them
  }
}

/// The first level's products whose sum is a quadrant's, that of P1 first.
[[nodiscard]] __device__ __forceinline__ int num_outer_products(bool is_lower, bool is_right) {
  return is_lower || is_right ? 4 : 2;
}
[[nodiscard]] __device__ __forceinline__ int outer_product(bool is_lower, bool is_right, int i) {
  const unsigned packed = is_right ? (is_lower ? 0x4650u : 0x2450u) : (is_lower ? 0x3650u : 0x0010u);
  return static_cast<int>(packed >> (4 * i) & 15u);
}

/// The same of two levels, from words of `count` outer products, with 2048 added.
__device__ __forceinline__ void add_products(const std::uint32_t (&words)[4][kRead], int count, bool is_lower,
                                             std::uint32_t (&left)[2], std::uint32_t (&right)[2]) {
  // Four inner products of four outer ones have 2042 between them, two of four or four of two 1020, two of two 510.
  const bool are_four = count == 4;
  const std::uint32_t first = are_four ? 0xF006F006u : 0xF404F404u;
  const std::uint32_t missing = are_four ? 0x03FE03FEu : 0x01FE01FEu;
#pragma unroll
  for (int pair = 0; pair < 2; ++pair) {
    std::uint32_t p[kRead];
#pragma unroll
    for (int k = 0; k < kRead; ++k) {
      p[k] = biased_pair(words[0][k], k != 0, pair) + biased_pair(words[1][k], k == 0, pair);
      if (are_four) p[k] += biased_pair(words[2][k], k == 0, pair) + biased_pair(words[3][k], k == 0, pair);
    }
    p[0] += first;
    add_half(p, is_lower, missing, left[pair], right[pair]);
  }
}

/// v of one of the two sums of a word.
__device__ __forceinline__ double number_of_sum(std::uint32_t sums, int e, std::uint32_t one) {
  const std::uint32_t high = __byte_perm(sums, one, e == 0 ? 0x7104u : 0x7324u);
  return __hiloint2double(static_cast<int>(high), 0);
}

/// What a block shares: the Layout, with the offset of this kernel.
template <int kPieces, int kLevels>
__device__ void share_constants(const DeviceCrtTable& table, double* shared) {
  using Layout = LayoutOf<kPieces>;
  const int thread = static_cast<int>(threadIdx.x + threadIdx.y * blockDim.x);
  for (int at = thread; at < Layout::kSize; at += device::kThreads) shared[at] = Layout::value(table.pieces, at);
  __syncthreads();
  if (thread < kPieces) {
    double sum = 0;  // of 2^12 W_q, and all below exact
    for (int q = 0; q < table.num_planes; ++q) sum += shared[q * kPieces + thread];
    shared[Layout::kOffset + thread] = -(4096.0 + kOffset<kLevels>)*(sum * 0x1p-12);
  }
  __syncthreads();
}

/// The numbers of four rows of both quadrants, which sums of residues are added to.
template <int kPieces>
struct Sums {
  double of[2][4][kPieces];

  __device__ explicit Sums(const double* constants) {
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
#pragma unroll
      for (int e = 0; e < 4; ++e) of[0][e][piece] = of[1][e][piece] = constants[LayoutOf<kPieces>::kOffset + piece];
    }
  }
  __device__ void add(const std::uint32_t (&sums)[2][2], const double* weights, std::uint32_t one) {
    double weight[kPieces];
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) weight[piece] = weights[piece];
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const double v = number_of_sum(sums[e / 4][e % 4 / 2], e % 2, one);
#pragma unroll
      for (int piece = 0; piece < kPieces; ++piece)
        of[e / 4][e % 4][piece] = std::fma(v, weight[piece], of[e / 4][e % 4][piece]);
    }
  }
};

/// The sums for rows i .. i + 3 of both quadrants of a half of the lines, of column j of each.
template <int kPieces>
__device__ __forceinline__ void add_all(const ResiduePlanes& planes, int num_planes, const double* constants,
                                        bool is_lower, std::int64_t i, std::int64_t j, Sums<kPieces>& sum) {
  const std::int8_t* at[kRead];
#pragma unroll
  for (int k = 0; k < kRead; ++k)
    at[k] = planes.data + j * planes.col_stride + i + read_product(is_lower, k) * planes.plane_stride;
  const std::int64_t step = strassen_products(1) * planes.plane_stride;
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
#pragma unroll 1
  for (int first = 0; first < num_planes; first += kAhead) {
#pragma unroll
    for (int slot = 0; slot < kAhead; ++slot) {
      const int q = first + slot;
      if (q >= num_planes) break;
      std::uint32_t sums[2][2];
      add_products(ahead[slot], is_lower, sums[0], sums[1]);
      if (q + kAhead < num_planes) load(ahead[slot]);
      sum.add(sums, constants + q * kPieces, one);
    }
  }
}

/// The same of two levels: of a half of the lines of a quadrant of the first.
template <int kPieces>
__device__ __forceinline__ void add_all(const ResiduePlanes& planes, int num_planes, const double* constants,
                                        bool is_outer_lower, bool is_outer_right, bool is_lower, std::int64_t i,
                                        std::int64_t j, Sums<kPieces>& sum) {
  const int count = num_outer_products(is_outer_lower, is_outer_right);
  const std::int8_t* at[4];
#pragma unroll
  for (int x = 0; x < 4; ++x)
    at[x] = planes.data + j * planes.col_stride + i +
            kStrassenProducts * outer_product(is_outer_lower, is_outer_right, x) * planes.plane_stride;
  std::int64_t inner[kRead];
#pragma unroll
  for (int k = 0; k < kRead; ++k) inner[k] = read_product(is_lower, k) * planes.plane_stride;
  const std::int64_t step = strassen_products(2) * planes.plane_stride;
  std::uint32_t words[4][kRead];
  const auto load = [&] {
#pragma unroll
    for (int x = 0; x < 4; ++x) {
      if (x >= count) break;
#pragma unroll
      for (int k = 0; k < kRead; ++k) words[x][k] = kernels::load_word(at[x] + inner[k]);
      at[x] += step;
    }
  };
  load();
  const std::uint32_t one = kernels::high_word_of_one();
#pragma unroll 1
  for (int q = 0; q < num_planes; ++q) {
    std::uint32_t sums[2][2];
    add_products(words, count, is_lower, sums[0], sums[1]);
    if (q + 1 < num_planes) load();
    sum.add(sums, constants + q * kPieces, one);
  }
}

template <int kPieces, int kLevels>
__global__ void __launch_bounds__(device::kThreads, kBlocksPerSm)
    reconstruct_quadrants(const __grid_constant__ DeviceReconstruction<double> task,
                          const __grid_constant__ StrassenParts parts) {
  __shared__ __align__(16) double constants[LayoutOf<kPieces>::kSize];
  base::follow_previous_kernel();
  if ((task.state->num_strassen_products == 0) | (task.state->takes_signs != 0)) return;
  const DeviceCrtTable& table = task.tables[task.ladder.rungs[0].num_moduli - num::kMinModuli];
  share_constants<kPieces, kLevels>(table, constants);
  const std::int64_t i = device::first_row_of_thread();
  if (i >= parts.m) return;
  for (std::int64_t j = device::first_column_of_thread(); j < parts.n; j += device::column_step()) {
#pragma unroll 1
    for (int at = 0; at < 1 << (2 * kLevels - 1); ++at) {  // pairs of parts side by side
      const int y = at >> (kLevels - 1);
      const int pair = at & (kLevels - 1);
      const std::int64_t row = i + y * parts.m;
      const std::int64_t j_left = j + 2 * pair * parts.n;
      if (row >= task.c.rows || j_left >= task.c.cols) continue;
      double left[1][4];
      double right[1][4];
      {
        Sums<kPieces> sum(constants);
        if constexpr (kLevels == 1) {
          add_all<kPieces>(task.planes, table.num_planes, constants, y != 0, i, j, sum);
        } else {
          add_all<kPieces>(task.planes, table.num_planes, constants, y >= 2, pair != 0, y % 2 != 0, i, j, sum);
        }
        kernels::finish_sums<kPieces, kPlanes<kPieces>>(sum.of[0], constants, table.pieces, left[0]);
        kernels::finish_sums<kPieces, kPlanes<kPieces>>(sum.of[1], constants, table.pieces, right[0]);
      }
      // Its registers are free while sums are made.
      const kernels::NumberEpilogue<double, /*kIsPart=*/false> epilogue(task, row);
      const std::int64_t j_right = j_left + parts.n;
      epilogue.write(task, j_left, task.col_scale[j_left], left);
      if (j_right < task.c.cols) epilogue.write(task, j_right, task.col_scale[j_right], right);
    }
  }
}

}  // namespace

Status reconstruct_strassen(const DeviceReconstruction<double>& task, const StrassenParts& parts, int num_sms,
                            product::Queue queue) {
  const device::QuadGrid shape = device::quad_grid(parts.m, parts.n, kBlocksPerSm * num_sms);
  const bool is_short = task.ladder.rungs[0].num_moduli <= most_piece_moduli(false, 2);
  const auto kernel = parts.levels == 2 ? (is_short ? reconstruct_quadrants<2, 2> : reconstruct_quadrants<3, 2>)
                                        : (is_short ? reconstruct_quadrants<2, 1> : reconstruct_quadrants<3, 1>);
  return base::launch_overlapped("reconstruct_quadrants", kernel, shape.grid, shape.block, 0, queue, task, parts);
}

}  // namespace kizami::ozaki2
