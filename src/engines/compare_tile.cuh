// SPDX-License-Identifier: MIT
// The epilogue kCompare: accumulators in registers are floors of products of magnitudes, and pairs that the sampled
// certificate refuses are counted. Nothing is stored. Rows, columns and lanes as in store_tile.cuh, in order.
#pragma once

#include <cstdint>

#include "engines/result_params.hpp"
#include "engines/store_tile.cuh"
#include "num/rung.hpp"

namespace kizami::engines {

/// static_cast<float>(sum) by two bit patterns and two additions, of which the first is exact: conversions are slow.
/// @range  0 <= sum
[[nodiscard]] __device__ __forceinline__ float float_of_sum(std::int32_t sum) {
  const auto bits = static_cast<std::uint32_t>(sum);
  const float high = __uint_as_float(__byte_perm(bits, 0x53000000u, 0x7632u));  // 2^39 + 2^16 (sum >> 16)
  const float low = __uint_as_float(__byte_perm(bits, 0x4B000000u, 0x7610u));   // 2^23 + (sum mod 2^16)
  return __fadd_rn(__fadd_rn(high, -(0x1p39F + 0x1p23F)), low);
}

/// Rows of the pairs of a thread: two of every block of `kLines` lines of B. Lines that are not there weigh nothing: they are never refused.
template <int kBlocks, int kLines>
struct RowWeights {
  num::RungWeight of[kBlocks][2];

  __device__ __forceinline__ RowWeights(const TileOrder& order, const ResultParams& params, int j_first, int thread) {
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int j = j_first + b * kLines + thread / 32 * 16 + h * 8 + thread % 32 / 4;
        if (j < order.n) of[b][h] = params.b_weights[j];
      }
    }
  }
};

/// Weights of lines i and i + 1 of A; those of lines that are not there are zeros, but for the second of an odd m, which may be anything.
[[nodiscard]] __device__ __forceinline__ float4 two_column_weights(const TileOrder& order, const ResultParams& params,
                                                                   int i) {
  float4 two = make_float4(0, 0, 0, 0);
  if (i < order.m) two = *reinterpret_cast<const float4*>(params.a_weights + i);
  return two;
}

/// Pairs that num::is_certified() refuses, of those that a thread holds: `kBlocks` blocks, `kLines` lines of B apart; the others as of store_tile().
/// Where num::QuickLook sees at once that none is refused, as in nearly every tile, they are not looked at one by one.
template <int kTileI, int kBlocks, int kLines>
[[nodiscard]] __device__ __forceinline__ std::uint32_t num_refused_of_tile(
    const std::int32_t (&acc)[kBlocks][kTileI / 2], const TileOrder& order, const ResultParams& params, int i_first,
    int j_first, int thread) {
  const RowWeights<kBlocks, kLines> rows(order, params, j_first, thread);
  const int i_of_lane = i_first + 2 * (thread % 4);
  const num::QuickLook quick(params.allowance);
  std::uint32_t signs = 0;
#pragma unroll
  for (int g = 0; g < kTileI / 8; ++g) {
    const float4 two = two_column_weights(order, params, i_of_lane + 8 * g);
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const std::int32_t* const sums = acc[b] + 4 * g + 2 * h;
        signs |= __float_as_uint(quick.margin({two.x, two.y}, rows.of[b][h], sums[0])) |
                 __float_as_uint(quick.margin({two.z, two.w}, rows.of[b][h], sums[1]));
      }
    }
  }
  std::uint32_t num_refused = 0;
  if (static_cast<std::int32_t>(signs) >= 0) return num_refused;
  int i_again = i_of_lane;
  asm volatile(
      ""
      : "+r"(
          i_again));  // or weights and conditions of all columns would be kept since the first pass, in registers that are not there
#pragma unroll
  for (int g = 0; g < kTileI / 8; ++g) {
    const int i = i_again + 8 * g;
    const float4 two = two_column_weights(order, params, i);
    const bool has_second = i + 1 < order.m;
    const num::RungWeight columns[2] = {{two.x, two.y}, {has_second ? two.z : 0.0F, has_second ? two.w : 0.0F}};
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          if (!num::is_certified(params.allowance, columns[e], rows.of[b][h], float_of_sum(acc[b][4 * g + 2 * h + e])))
            ++num_refused;
        }
      }
    }
  }
  return num_refused;
}

/// Adds what the lanes of a warp have counted.
__device__ __forceinline__ void add_refused(const ResultParams& params, std::uint32_t num_refused, std::uint32_t lane) {
  const std::uint32_t all = __reduce_add_sync(kWholeWarp, num_refused);
  if (lane == 0 && all != 0)
    atomicAdd(static_cast<unsigned long long*>(params.c), static_cast<unsigned long long>(all));
}

}  // namespace kizami::engines
