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

/// Pairs that num::is_certified() refuses, of those that a thread holds; arguments as of store_tile().
template <int kTileI>
[[nodiscard]] __device__ __forceinline__ std::uint32_t num_refused_of_tile(const std::int32_t (&acc)[kTileI / 2],
                                                                           const TileOrder& order,
                                                                           const ResultParams& params, int i_first,
                                                                           int j_first, int thread) {
  const int lane = thread % 32;
  // Lines that are not there weigh nothing: they are never refused.
  num::RungWeight row[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int j = j_first + thread / 32 * 16 + h * 8 + lane / 4;
    if (j < order.n) row[h] = params.b_weights[j];
  }
  std::uint32_t num_refused = 0;
#pragma unroll
  for (int g = 0; g < kTileI / 8; ++g) {
    const int i = i_first + 8 * g + 2 * (lane % 4);
    float4 two = make_float4(0, 0, 0, 0);
    if (i < order.m) two = *reinterpret_cast<const float4*>(params.a_weights + i);
    const bool has_second = i + 1 < order.m;
    const num::RungWeight columns[2] = {{two.x, two.y}, {has_second ? two.z : 0.0F, has_second ? two.w : 0.0F}};
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (!num::is_certified(params.allowance, columns[e], row[h], float_of_sum(acc[4 * g + 2 * h + e])))
          ++num_refused;
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
