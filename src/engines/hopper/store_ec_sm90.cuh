// SPDX-License-Identifier: MIT
// From FP32 sums in registers to C: scaling by powers of two, alpha, beta. A line of B (index j) is a row of wgmma and
// a line of A (index i) a column, so that a quad, four lanes with the same row, has 8 consecutive elements of a column
// of C, two a lane. Inside C pairs of lanes exchange, and a quad stores 64 consecutive bytes; that code has no
// branches, so that loads and stores overlap. At edges, and for lines of any scales, elements are stored one by one.
// A complex C is one of twice as many rows: lines 2i and 2i + 1 of A make the real and imaginary parts of row i, which
// one lane holds.
// Nothing outside C, or its part, is read or written; C is not read for beta = 0.
// Params: EcParams, EcTriangleParams, or EcProductOfBatch, which has what is read here by the same names.
#pragma once

#include <complex>
#include <cstdint>

#include "engines/hopper/ec_params.hpp"
#include "engines/hopper/tile_pipeline_sm90.cuh"
#include "num/line_stats.hpp"

namespace kizami::engines::hopper {

/// Whether two scales of such lines and alpha's exponent are together the exponent of a normal FP32 number. @range
/// limit >= 0
[[nodiscard]] __device__ __forceinline__ bool is_moderate(std::int32_t scale, std::int32_t limit) {
  return static_cast<std::uint32_t>(scale + limit) <= 2U * static_cast<std::uint32_t>(limit);
}

/// 2^exponent. @range -126..127
[[nodiscard]] __device__ __forceinline__ float power_of_two(std::int32_t exponent) {
  return __int_as_float((exponent + 127) << 23);
}

/// d 2^-scale, rounded once, or twice where it is subnormal. |d| < 2^123, so beyond 378 the result is 0.
/// @range scale >= -378: two lines are -113 at least, alpha's exponent is 127 at most
[[nodiscard]] __device__ __forceinline__ float unscale(float d, std::int32_t scale) {
  scale = min(scale, 378);
  const std::int32_t first = max(-126, min(126, scale));
  const std::int32_t second = max(-126, min(126, scale - first));
  return __fmul_rn(__fmul_rn(__fmul_rn(d, power_of_two(-first)), power_of_two(-second)),
                   power_of_two(first + second - scale));
}

/// Whether alpha is not zero.
[[nodiscard]] __device__ __forceinline__ bool has_product(const EcParams& params) {
  return params.is_complex != 0 ? params.complex_alpha.load() != std::complex<float>(0) : params.alpha.load() != 0;
}

/// alpha and beta. alpha is taken apart, so that alpha A B overflows only where it is too large: its larger
/// part is in [1, 2), times 2^exponent.
struct EcFactors {
  float alpha;
  float alpha_imag;  ///< complex C
  std::int32_t exponent = 0;
  float beta;
  float beta_imag;

  explicit __device__ __forceinline__ EcFactors(const EcParams& params) {
    if (params.is_complex != 0) {
      const std::complex<float> a = params.complex_alpha.load();
      const std::complex<float> b = params.complex_beta.load();
      alpha = a.real();
      alpha_imag = a.imag();
      beta = b.real();
      beta_imag = b.imag();
    } else {
      alpha = params.alpha.load();
      beta = params.beta.load();
      alpha_imag = beta_imag = 0;
    }
    const float largest = fmaxf(fabsf(alpha), fabsf(alpha_imag));
    if (largest > 0 && largest < __int_as_float(0x7F800000)) {
      exponent = ilogbf(largest);
      alpha = ldexpf(alpha, -exponent);
      alpha_imag = ldexpf(alpha_imag, -exponent);
    }
  }
  [[nodiscard]] __device__ __forceinline__ bool has_product() const { return alpha != 0 || alpha_imag != 0; }
  [[nodiscard]] __device__ __forceinline__ bool reads_c() const { return beta != 0 || beta_imag != 0; }
  /// See is_moderate(); negative where alpha leaves no scale to be moderate.
  [[nodiscard]] __device__ __forceinline__ std::int32_t scale_limit() const { return 63 - (abs(exponent) + 1) / 2; }

  /// alpha 2^-exponent x for x = (real, imaginary) or two neighbours of a real column.
  [[nodiscard]] __device__ __forceinline__ float2 times_alpha(float2 x) const {
    float2 out = make_float2(__fmul_rn(alpha, x.x), __fmul_rn(alpha, x.y));
    if (alpha_imag != 0) {
      out = make_float2(__fmaf_rn(-alpha_imag, x.y, out.x), __fmaf_rn(alpha_imag, x.x, out.y));
    }
    return out;
  }
  /// x + beta c.
  [[nodiscard]] __device__ __forceinline__ float2 plus_c(float2 x, float2 c) const {
    x = make_float2(__fmaf_rn(beta, c.x, x.x), __fmaf_rn(beta, c.y, x.y));
    if (beta_imag != 0) {  // else an infinity of one part would be a NaN of the other
      x = make_float2(__fmaf_rn(-beta_imag, c.y, x.x), __fmaf_rn(beta_imag, c.x, x.y));
    }
    return x;
  }
};

/// Where line i of A is in a column of C.
[[nodiscard]] __device__ __forceinline__ std::int64_t c_row_offset(const EcParams& params, int i) {
  return params.is_complex != 0 ? (i >> 1) * params.c_row_stride + (i & 1) : i * params.c_row_stride;
}

/// store_ec_tile() for a tile inside C, of lines of moderate scales. kReadsC: beta is not zero.
template <int kTileI, bool kReadsC, class Params>
__device__ __forceinline__ void store_ec_inside(const float (&d)[kTileI / 2], const Params& params,
                                                const EcFactors& factors, int i_first, int j_first, int thread) {
  constexpr int kPairs = kTileI / 16;  // of groups of 8 columns
  const int x = thread % 4;
  const bool is_odd = x % 2 != 0;
  int2 scales[2 * kPairs];
#pragma unroll
  for (int g = 0; g < 2 * kPairs; ++g) {
    scales[g] = *reinterpret_cast<const int2*>(params.a_scales + i_first + 8 * g + 2 * x);
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int j = j_first + thread / 32 * 16 + h * 8 + thread % 32 / 4;
    const std::int32_t base = (127 + factors.exponent - params.b_scales[j]) << 23;
    // This lane's four of each pair of groups: of the first group for even lanes, of the second for odd ones.
    float* const to = params.c + j * params.c_col_stride + i_first + (is_odd ? 8 + 2 * (x - 1) : 2 * x);
    float4 before[kPairs];
    if constexpr (kReadsC) {
#pragma unroll
      for (int p = 0; p < kPairs; ++p) before[p] = *reinterpret_cast<const float4*>(to + 16 * p);
    }
#pragma unroll
    for (int p = 0; p < kPairs; ++p) {
      float2 v[2];
#pragma unroll
      for (int y = 0; y < 2; ++y) {
        const int g = 2 * p + y;
        v[y] = factors.times_alpha(make_float2(d[4 * g + 2 * h], d[4 * g + 2 * h + 1]));
        v[y].x = __fmul_rn(v[y].x, __int_as_float(base - (scales[g].x << 23)));
        v[y].y = __fmul_rn(v[y].y, __int_as_float(base - (scales[g].y << 23)));
      }
      const float2 keep = is_odd ? v[1] : v[0];
      const float2 give = is_odd ? v[0] : v[1];
      const float2 got = make_float2(__shfl_xor_sync(kWholeWarp, give.x, 1), __shfl_xor_sync(kWholeWarp, give.y, 1));
      float2 first = is_odd ? got : keep;
      float2 second = is_odd ? keep : got;
      if constexpr (kReadsC) {
        first = factors.plus_c(first, make_float2(before[p].x, before[p].y));
        second = factors.plus_c(second, make_float2(before[p].z, before[p].w));
      }
      *reinterpret_cast<float4*>(to + 16 * p) = make_float4(first.x, first.y, second.x, second.y);
    }
  }
}

/// store_ec_tile() for any tile. Of lines with NaN or Inf nothing is stored, unless alpha is zero.
template <int kTileI, bool kReadsC, class Params>
__device__ __forceinline__ void store_ec_anywhere(const float (&d)[kTileI / 2], const Params& params,
                                                  const EcFactors& factors, int i_first, int j_first, int thread) {
  constexpr int kColumns = kTileI / 4;
  const bool has_product = factors.has_product();
  const auto i_of = [&](int e) { return i_first + e / 2 * 8 + thread % 4 * 2 + e % 2; };
  const auto is_wanted = [&](int e, [[maybe_unused]] int j) {
    if constexpr (Params::kIsTriangle) return params.part.has(i_of(e), j);
    return true;
  };
  std::int32_t scales[kColumns];
#pragma unroll
  for (int e = 0; e < kColumns; ++e) {
    scales[e] = i_of(e) >= params.m ? num::kSkipLine : has_product ? params.a_scales[i_of(e)] : 0;
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int j = j_first + thread / 32 * 16 + h * 8 + thread % 32 / 4;
    const std::int32_t b_scale = j >= params.n ? num::kSkipLine : has_product ? params.b_scales[j] : 0;
    if (b_scale == num::kSkipLine) continue;
    float* const column = params.c + j * params.c_col_stride;
    float before[kColumns];
    if constexpr (kReadsC) {
#pragma unroll
      for (int e = 0; e < kColumns; ++e) {
        before[e] = scales[e] != num::kSkipLine && is_wanted(e, j) ? column[c_row_offset(params, i_of(e))] : 0.0F;
      }
    }
#pragma unroll
    for (int e = 0; e < kColumns; e += 2) {
      float2 out = make_float2(0, 0);
      if (has_product) {
        out = factors.times_alpha(make_float2(d[e / 2 * 4 + 2 * h], d[e / 2 * 4 + 2 * h + 1]));
        out.x = unscale(out.x, scales[e] + b_scale - factors.exponent);
        out.y = unscale(out.y, scales[e + 1] + b_scale - factors.exponent);
      }
      if constexpr (kReadsC) out = factors.plus_c(out, make_float2(before[e], before[e + 1]));
      if (scales[e] != num::kSkipLine && is_wanted(e, j)) column[c_row_offset(params, i_of(e))] = out.x;
      if (scales[e + 1] != num::kSkipLine && is_wanted(e + 1, j)) column[c_row_offset(params, i_of(e + 1))] = out.y;
    }
  }
}

/// The elements of this thread's tile that lie in lines with NaN or Inf, as sums in the order of k; real C.
template <int kTileI, class Params>
__device__ __forceinline__ void sum_nonfinite(const Params& params, const EcFactors& factors, int i_first, int j_first,
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
      sum = __fmaf_rn(a.data[i * a.line_stride + h * a.inner_stride], b.data[j * b.line_stride + h * b.inner_stride],
                      sum);
    }
    float* const to = params.c + j * params.c_col_stride + c_row_offset(params, i);
    const float product = __fmul_rn(ldexpf(factors.alpha, factors.exponent), sum);
    *to = factors.beta == 0 ? product : __fmaf_rn(factors.beta, *to, product);
  }
}

/// The scales of this thread's rows, and of columns that no other lane of its warp looks at. Loaded before the sums are
/// made, looked at after, so that nothing waits for them.
template <int kTileI, class Params = EcParams>
struct TileScales {
  std::int32_t rows[2];
  std::int32_t columns[kTileI / 32];

  __device__ __forceinline__ TileScales(const Params& params, int i_first, int j_first, int thread) {
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
  [[nodiscard]] __device__ __forceinline__ bool are_moderate(std::int32_t limit) const {
    bool result = limit >= 0 && is_moderate(rows[0], limit) && is_moderate(rows[1], limit);
#pragma unroll
    for (const std::int32_t scale : columns) result = result && is_moderate(scale, limit);
    return result;
  }
  [[nodiscard]] __device__ __forceinline__ bool are_finite() const {
    bool result = rows[0] != num::kSkipLine && rows[1] != num::kSkipLine;
#pragma unroll
    for (const std::int32_t scale : columns) result = result && scale != num::kSkipLine;
    return result;
  }
};

/// Stores 64 rows (lines j_first.. of B) by kTileI columns (lines i_first.. of A) that a warpgroup holds.
/// @range all 128 threads of the warpgroup take part; thread = 0..127 within it; i_first even
template <int kTileI, class Params>
__device__ __forceinline__ void store_ec_tile(const float (&d)[kTileI / 2], const Params& params,
                                              const EcFactors& factors, const TileScales<kTileI, Params>& scales,
                                              int i_first, int j_first, int thread) {
  bool is_inside = params.has_aligned_c != 0 && i_first + kTileI <= params.m && j_first + 64 <= params.n;
  if constexpr (Params::kIsTriangle) {
    const problem::Part& part = params.part;
    if (!part.meets(i_first, kTileI, j_first, 64)) return;
    is_inside = is_inside && part.surrounds(i_first, kTileI, j_first) && part.surrounds(i_first, kTileI, j_first + 63);
  }
  const bool is_plain = is_inside && factors.has_product() && scales.are_moderate(factors.scale_limit());
  if (!__all_sync(kWholeWarp, is_plain)) {
    if (factors.reads_c()) {
      store_ec_anywhere<kTileI, true>(d, params, factors, i_first, j_first, thread);
    } else {
      store_ec_anywhere<kTileI, false>(d, params, factors, i_first, j_first, thread);
    }
    if constexpr (!Params::kIsBatch && !Params::kIsTriangle) {  // neither has elements
      const bool sums_nonfinite = params.a_lines.data != nullptr && factors.has_product();
      if (sums_nonfinite && !__all_sync(kWholeWarp, scales.are_finite())) {
        sum_nonfinite<kTileI>(params, factors, i_first, j_first, thread);
      }
    }
  } else if (factors.reads_c()) {
    store_ec_inside<kTileI, true>(d, params, factors, i_first, j_first, thread);
  } else {
    store_ec_inside<kTileI, false>(d, params, factors, i_first, j_first, thread);
  }
}

}  // namespace kizami::engines::hopper
