// SPDX-License-Identifier: MIT
// FP64 products by pairs of FP32 on CUDA cores: the baseline "ff32" (apps/check/float_float.hpp).
#pragma once

#include <cstdint>

#include "check/float_float.hpp"
#include "device_bench.cuh"

namespace bench {

inline constexpr int kPairTile = 64;   ///< rows and columns of C of a block
inline constexpr int kPairDepth = 16;  ///< terms in shared memory at a time
inline constexpr int kPairBlock = 4;   ///< rows and columns of a thread

/// Counts elements that pairs of FP32 do not take.
__global__ void count_unfit(const double* x, std::int64_t count, unsigned long long* unfit) {
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    if (!kizami::check::is_float_float(x[i])) atomicAdd(unfit, 1ull);
  }
}

/// C = A B, column-major C, terms in the order of k. @bound check::float_float_bound(k) |A||B|
__global__ void __launch_bounds__(256)
    multiply_float_float(const double* a, Strides a_strides, const double* b, Strides b_strides, double* c,
                         std::int64_t m, std::int64_t n, std::int64_t k) {
  using kizami::check::FloatFloat;
  __shared__ float2 a_tile[kPairDepth][kPairTile];
  __shared__ float2 b_tile[kPairDepth][kPairTile];
  const std::int64_t i0 = blockIdx.x * std::int64_t{kPairTile};
  const std::int64_t j0 = blockIdx.y * std::int64_t{kPairTile};
  const int i_thread = static_cast<int>(threadIdx.x) % 16 * kPairBlock;
  const int j_thread = static_cast<int>(threadIdx.x) / 16 * kPairBlock;
  FloatFloat sums[kPairBlock][kPairBlock] = {};
  const auto load = [](const double* x, Strides strides, std::int64_t row, std::int64_t rows, std::int64_t col,
                       std::int64_t cols) {
    const double value = row < rows && col < cols ? x[row * strides.row + col * strides.col] : 0.0;
    const FloatFloat pair = kizami::check::to_float_float(value);
    return make_float2(pair.hi, pair.lo);
  };
  for (std::int64_t h0 = 0; h0 < k; h0 += kPairDepth) {
    for (int e = static_cast<int>(threadIdx.x); e < kPairDepth * kPairTile; e += static_cast<int>(blockDim.x)) {
      a_tile[e / kPairTile][e % kPairTile] = load(a, a_strides, i0 + e % kPairTile, m, h0 + e / kPairTile, k);
      b_tile[e % kPairDepth][e / kPairDepth] = load(b, b_strides, h0 + e % kPairDepth, k, j0 + e / kPairDepth, n);
    }
    __syncthreads();
#pragma unroll 2
    for (int h = 0; h < kPairDepth; ++h) {
      FloatFloat x[kPairBlock];
      FloatFloat y[kPairBlock];
#pragma unroll
      for (int t = 0; t < kPairBlock; ++t) {
        x[t] = {a_tile[h][i_thread + t].x, a_tile[h][i_thread + t].y};
        y[t] = {b_tile[h][j_thread + t].x, b_tile[h][j_thread + t].y};
      }
#pragma unroll
      for (int s = 0; s < kPairBlock; ++s) {
#pragma unroll
        for (int t = 0; t < kPairBlock; ++t) sums[s][t] = kizami::check::multiply_add(sums[s][t], x[s], y[t]);
      }
    }
    __syncthreads();
  }
  for (int t = 0; t < kPairBlock; ++t) {
    for (int s = 0; s < kPairBlock; ++s) {
      const std::int64_t i = i0 + i_thread + s;
      const std::int64_t j = j0 + j_thread + t;
      if (i < m && j < n) c[j * m + i] = kizami::check::to_double(sums[s][t]);
    }
  }
}

}  // namespace bench
