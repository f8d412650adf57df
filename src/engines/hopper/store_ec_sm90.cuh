// SPDX-License-Identifier: MIT
// From FP32 sums in registers to C: scaling by powers of two, alpha, beta. A line of B (index j) is a row of wgmma and a line
// of A (index i) a column, so that a quad, four lanes with the same row, stores 32 consecutive bytes of a column of C.
// Nothing outside C is read or written; C is not read for beta = 0.
#pragma once

#include <cstdint>

#include "engines/hopper/ec_params.hpp"
#include "engines/hopper/tile_pipeline_sm90.cuh"
#include "num/line_stats.hpp"

namespace kizami::engines::hopper {

/// Sums of two scales of at most this magnitude are exponents of normal FP32 numbers.
inline constexpr std::int32_t kModerateScale = 63;

[[nodiscard]] __device__ __forceinline__ bool is_moderate(std::int32_t scale) {
  return static_cast<std::uint32_t>(scale + kModerateScale) <= 2U * kModerateScale;
}

/// 2^exponent. @range -126..127
[[nodiscard]] __device__ __forceinline__ float power_of_two(std::int32_t exponent) {
  return __int_as_float((exponent + 127) << 23);
}

/// d 2^-scale, rounded once, or twice where it is subnormal. @range |scale| <= 2 * 163
[[nodiscard]] __device__ __forceinline__ float unscale(float d, std::int32_t scale) {
  const std::int32_t first = max(-126, min(126, scale));
  const std::int32_t second = max(-126, min(126, scale - first));
  return __fmul_rn(__fmul_rn(__fmul_rn(d, power_of_two(-first)), power_of_two(-second)),
                   power_of_two(first + second - scale));
}

/// alpha and beta, read once a kernel.
struct EcFactors {
  float alpha;
  float beta;

  /// alpha x + beta c; c is read only if beta is not zero.
  [[nodiscard]] __device__ __forceinline__ float combine(float x, const float* c) const {
    const float product = alpha == 0 ? 0.0F : __fmul_rn(alpha, x);
    return beta == 0 ? product : __fmaf_rn(beta, *c, product);
  }
};

/// store_ec_tile() for lines of moderate scales (kIsPlain), or any others; of lines with NaN or Inf nothing is stored.
template <int kTileI, bool kIsPlain>
__device__ __forceinline__ void store_ec_rows(const float (&d)[kTileI / 2], const EcParams& params,
                                              const EcFactors& factors, int i_first, int j_first, int thread) {
  const int x = thread % 4;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int j = j_first + thread / 32 * 16 + h * 8 + thread % 32 / 4;
    if (j >= params.n) continue;
    const std::int32_t b_scale = params.b_scales[j];
    if (!kIsPlain && b_scale == num::kSkipLine) continue;
    float* const column = params.c + j * params.c_col_stride;
    const std::int32_t base = (127 - b_scale) << 23;
#pragma unroll
    for (int g = 0; g < kTileI / 8; ++g) {
      const int i = i_first + 8 * g + 2 * x;
      if (i >= params.m) continue;
      const int2 a_scale = *reinterpret_cast<const int2*>(params.a_scales + i);
      float* const to = column + i;
      if constexpr (kIsPlain) {
        const float first = __fmul_rn(d[4 * g + 2 * h], __int_as_float(base - (a_scale.x << 23)));
        const float second = __fmul_rn(d[4 * g + 2 * h + 1], __int_as_float(base - (a_scale.y << 23)));
        if (params.has_aligned_c != 0 && i + 1 < params.m) {
          float2 before = make_float2(0, 0);
          if (factors.beta != 0) before = *reinterpret_cast<const float2*>(to);
          *reinterpret_cast<float2*>(to) =
              make_float2(factors.combine(first, &before.x), factors.combine(second, &before.y));
        } else {
          to[0] = factors.combine(first, to);
          if (i + 1 < params.m) to[1] = factors.combine(second, to + 1);
        }
      } else {
        if (a_scale.x != num::kSkipLine) to[0] = factors.combine(unscale(d[4 * g + 2 * h], a_scale.x + b_scale), to);
        if (i + 1 < params.m && a_scale.y != num::kSkipLine) {
          to[1] = factors.combine(unscale(d[4 * g + 2 * h + 1], a_scale.y + b_scale), to + 1);
        }
      }
    }
  }
}

/// The elements of this thread's tile that lie in lines with NaN or Inf, as sums in the order of k.
template <int kTileI>
__device__ __forceinline__ void sum_nonfinite(const EcParams& params, const EcFactors& factors, int i_first, int j_first,
                                              int thread) {
  const problem::Lines<float>& a = params.a_lines;
  const problem::Lines<float>& b = params.b_lines;
#pragma unroll 1
  for (int e = 0; e < kTileI / 2; ++e) {
    const int i = i_first + e / 4 * 8 + thread % 4 * 2 + e % 2;
    const int j = j_first + thread / 32 * 16 + e / 2 % 2 * 8 + thread % 32 / 4;
    if (i >= params.m || j >= params.n) continue;
    if (params.a_scales[i] != num::kSkipLine && params.b_scales[j] != num::kSkipLine) continue;
    float sum = 0;
#pragma unroll 4
    for (std::int64_t h = 0; h < a.length; ++h) {
      sum = __fmaf_rn(a.data[i * a.line_stride + h * a.inner_stride], b.data[j * b.line_stride + h * b.inner_stride], sum);
    }
    float* const to = params.c + j * params.c_col_stride + i;
    *to = factors.combine(sum, to);
  }
}

/// The scales of this thread's rows, and of columns that no other lane of its warp looks at. Loaded before the sums are made,
/// looked at after, so that nothing waits for them.
template <int kTileI>
struct TileScales {
  std::int32_t rows[2];
  std::int32_t columns[kTileI / 32];

  __device__ __forceinline__ TileScales(const EcParams& params, int i_first, int j_first, int thread) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int j = j_first + thread / 32 * 16 + h * 8 + thread % 32 / 4;
      rows[h] = j < params.n ? params.b_scales[j] : 0;
    }
#pragma unroll
    for (int x = 0; x < kTileI / 32; ++x) {
      const int i = i_first + x * 32 + thread % 32;
      columns[x] = i < params.m ? params.a_scales[i] : 0;
    }
  }
  [[nodiscard]] __device__ __forceinline__ bool are_moderate() const {
    bool result = is_moderate(rows[0]) && is_moderate(rows[1]);
#pragma unroll
    for (const std::int32_t scale : columns) result = result && is_moderate(scale);
    return result;
  }
};

/// Stores 64 rows (lines j_first.. of B) by kTileI columns (lines i_first.. of A) that a warpgroup holds.
/// @range all 128 threads of the warpgroup take part; thread = 0..127 within it; i_first even
template <int kTileI>
__device__ __forceinline__ void store_ec_tile(const float (&d)[kTileI / 2], const EcParams& params,
                                              const EcFactors& factors, const TileScales<kTileI>& scales, int i_first,
                                              int j_first, int thread) {
  if (__all_sync(kWholeWarp, scales.are_moderate())) {
    store_ec_rows<kTileI, true>(d, params, factors, i_first, j_first, thread);
  } else {
    store_ec_rows<kTileI, false>(d, params, factors, i_first, j_first, thread);
    sum_nonfinite<kTileI>(params, factors, i_first, j_first, thread);
  }
}

}  // namespace kizami::engines::hopper
