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

/// Weights of the lines whose pairs a warp holds: kBlocks blocks of 16 lines of B, kLines apart, and kTileI lines of A. Those of A lie spread over its
/// lanes, so that they can wait in registers for sums that are still on their way: a lane has lines 2 l and 2 l + 1 of every 64. Lines that
/// are not there weigh nothing: they are never refused.
template <int kTileI, int kBlocks, int kLines>
class TileWeights {
  static_assert(kTileI % 64 == 0);

 public:
  /// @param i_first, j_first, thread as of store_tile(), j_first that of the first block
  __device__ __forceinline__ TileWeights(const TileOrder& order, const ResultParams& params, int i_first, int j_first,
                                         int thread)
      : lane_(thread % 32) {
#pragma unroll
    for (int q = 0; q < kTileI / 64; ++q) {
      const int i = i_first + 64 * q + 2 * lane_;
      two_[q] = make_float4(0, 0, 0, 0);
      if (i < order.m) two_[q] = *reinterpret_cast<const float4*>(params.a_weights + i);
      if (i + 1 >= order.m) two_[q].z = two_[q].w = 0;
    }
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int j = j_first + b * kLines + thread / 32 * 16 + h * 8 + lane_ / 4;
        if (j < order.n) rows_[b][h] = params.b_weights[j];
      }
    }
  }

  /// Pairs that num::is_certified() refuses, of those that a thread holds. Where num::QuickLook sees at once that none of the warp's is, as in
  /// nearly every tile, they are not looked at one by one. @range called by whole warps
  [[nodiscard]] __device__ __forceinline__ std::uint32_t num_refused(
      float allowance, const std::int32_t (&acc)[kBlocks][kTileI / 2]) const {
    const num::QuickLook quick(allowance);
    std::uint32_t signs = 0;
    for_pairs([&](const num::RungWeight& a, const num::RungWeight& b,
                  std::int32_t sum) { signs |= __float_as_uint(quick.margin(a, b, sum)); },
              acc);
    std::uint32_t count = 0;
    if (__any_sync(kWholeWarp, static_cast<std::int32_t>(signs) < 0)) {
      for_pairs(
          [&](const num::RungWeight& a, const num::RungWeight& b, std::int32_t sum) {
            if (!num::is_certified(allowance, a, b, float_of_sum(sum))) ++count;
          },
          acc);
    }
    return count;
  }

 private:
  template <class Visit>
  __device__ __forceinline__ void for_pairs(const Visit& visit, const std::int32_t (&acc)[kBlocks][kTileI / 2]) const {
#pragma unroll
    for (int g = 0; g < kTileI / 8; ++g) {
      const float4& held = two_[g / 8];
      const int from = 4 * (g % 8) + lane_ % 4;
      const num::RungWeight columns[2] = {
          {__shfl_sync(kWholeWarp, held.x, from), __shfl_sync(kWholeWarp, held.y, from)},
          {__shfl_sync(kWholeWarp, held.z, from), __shfl_sync(kWholeWarp, held.w, from)}};
#pragma unroll
      for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
#pragma unroll
          for (int e = 0; e < 2; ++e) visit(columns[e], rows_[b][h], acc[b][4 * g + 2 * h + e]);
        }
      }
    }
  }

  int lane_;
  float4 two_[kTileI / 64];
  num::RungWeight rows_[kBlocks][2];
};

/// Adds what the lanes of a warp have counted.
__device__ __forceinline__ void add_refused(const ResultParams& params, std::uint32_t num_refused, std::uint32_t lane) {
  const std::uint32_t all = __reduce_add_sync(kWholeWarp, num_refused);
  if (lane == 0 && all != 0)
    atomicAdd(static_cast<unsigned long long*>(params.c), static_cast<unsigned long long>(all));
}

}  // namespace kizami::engines
