// SPDX-License-Identifier: MIT
// From FP32 sums in registers to images. A cell (a line of B) is a row of wgmma and a filter (a line of A) a column, so
// that a quad, four lanes with the same row, has 8 consecutive filters, two a lane, and the quads of a warp 8 consecutive
// cells: of either layout a store of a warp fills pieces of 32 bytes. Cells that are no output are left out.
#pragma once

#include <cstdint>

#include "engines/hopper/convolution_params.hpp"
#include "engines/hopper/tile_pipeline_sm90.cuh"
#include "num/line_stats.hpp"
#include "product/ec_convolution.hpp"

namespace kizami::engines::hopper {

/// The output of a cell.
struct OutputPlace {
  bool is_there;
  int image;
  std::int64_t pixel;   ///< among those of all images
  std::int64_t offset;  ///< of filter 0 of group 0
};
[[nodiscard]] __device__ __forceinline__ OutputPlace output_of(int cell, const ConvolutionParams& params) {
  const std::uint32_t image = divide(static_cast<std::uint32_t>(cell), params.by_image);
  const std::uint32_t in_image = static_cast<std::uint32_t>(cell) - image * params.by_image.divisor;
  const std::uint32_t row = divide(in_image, params.by_row);
  const std::uint32_t column = in_image - row * params.by_row.divisor;
  return {cell < params.n && row < static_cast<std::uint32_t>(params.h.outputs) &&
              column < static_cast<std::uint32_t>(params.w.outputs),
          static_cast<int>(image),
          (static_cast<std::int64_t>(image) * params.h.outputs + row) * params.w.outputs + column,
          image * params.y_image + row * params.y_row + column * params.y_column};
}

/// alpha is taken apart, so that a product overflows only where it is too large.
struct ConvolutionFactors {
  float alpha;  ///< magnitude in [1, 2)
  std::int32_t exponent;
  float beta;

  explicit __device__ __forceinline__ ConvolutionFactors(const ConvolutionParams& params)
      : alpha(params.alpha), exponent(0), beta(params.beta) {
    if (isfinite(alpha)) {
      exponent = ilogbf(alpha);
      alpha = ldexpf(alpha, -exponent);
    }
  }
  /// @param scale of image and filter, less the exponent
  [[nodiscard]] __device__ __forceinline__ float of(float sum, std::int32_t scale) const {
    return product::ec_unscaled(__fmul_rn(alpha, sum), scale);
  }
};

/// Stores 64 rows (cells j_first..) by kTileI columns (filters i_first.. of a group) that a warpgroup holds.
/// @range all 128 threads of the warpgroup take part; thread = 0..127 within it; i_first even
template <int kTileI, bool kReadsY>
__device__ __forceinline__ void store_cells(const float (&d)[kTileI / 2], const ConvolutionParams& params,
                                            const ConvolutionFactors& factors, int group, int i_first, int j_first,
                                            int thread) {
  const std::int32_t* const filter_scales = params.filter_scales + static_cast<std::int64_t>(group) * params.m;
  const int i_of_lane = i_first + thread % 4 * 2;
  std::int32_t scales[kTileI / 4];
#pragma unroll
  for (int e = 0; e < kTileI / 4; ++e) {
    const int i = i_of_lane + e / 2 * 8 + e % 2;
    scales[e] = i < params.m ? filter_scales[i] : num::kSkipLine;
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const OutputPlace place = output_of(j_first + thread / 32 * 16 + h * 8 + thread % 32 / 4, params);
    if (!place.is_there) continue;
    if (params.has_nonfinite != nullptr && params.has_nonfinite[place.image] != 0 &&
        params.marks[place.pixel * params.groups + group] != 0)
      continue;
    const std::int32_t image_scale = params.image_scales[place.image] - factors.exponent;
    float* const to =
        params.y + place.offset + (static_cast<std::int64_t>(group) * params.m + i_of_lane) * params.y_filter;
#pragma unroll
    for (int e = 0; e < kTileI / 8; ++e) {
      const std::int32_t first = scales[2 * e];
      const std::int32_t second = scales[2 * e + 1];
      float* const at = to + e * 8 * params.y_filter;
      float2 out = make_float2(factors.of(d[e * 4 + 2 * h], first == num::kSkipLine ? 0 : image_scale + first),
                               factors.of(d[e * 4 + 2 * h + 1], second == num::kSkipLine ? 0 : image_scale + second));
      if (params.has_pairs != 0 && first != num::kSkipLine && second != num::kSkipLine) {
        if constexpr (kReadsY) {
          const float2 before = *reinterpret_cast<const float2*>(at);
          out = make_float2(__fmaf_rn(factors.beta, before.x, out.x), __fmaf_rn(factors.beta, before.y, out.y));
        }
        *reinterpret_cast<float2*>(at) = out;
        continue;
      }
      if (first != num::kSkipLine) at[0] = kReadsY ? __fmaf_rn(factors.beta, at[0], out.x) : out.x;
      if (second != num::kSkipLine) {
        float* const next = at + params.y_filter;
        *next = kReadsY ? __fmaf_rn(factors.beta, *next, out.y) : out.y;
      }
    }
  }
}

/// The same of sums whose rows are filters: 64 of them (i_first..) by kCells cells (j_first..).
template <int kCells, bool kReadsY>
__device__ __forceinline__ void store_filters(const float (&d)[kCells / 2], const ConvolutionParams& params,
                                              const ConvolutionFactors& factors, int group, int i_first, int j_first,
                                              int thread) {
  const std::int64_t first_filter = static_cast<std::int64_t>(group) * params.m;
  const int i_of_lane = i_first + thread / 32 * 16 + thread % 32 / 4;
  std::int32_t scales[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int i = i_of_lane + 8 * h;
    scales[h] = i < params.m ? params.filter_scales[first_filter + i] : num::kSkipLine;
  }
#pragma unroll
  for (int e = 0; e < kCells / 4; ++e) {
    const OutputPlace place = output_of(j_first + e / 2 * 8 + thread % 4 * 2 + e % 2, params);
    if (!place.is_there) continue;
    if (params.has_nonfinite != nullptr && params.has_nonfinite[place.image] != 0 &&
        params.marks[place.pixel * params.groups + group] != 0)
      continue;
    const std::int32_t image_scale = params.image_scales[place.image] - factors.exponent;
    float* const to = params.y + place.offset + (first_filter + i_of_lane) * params.y_filter;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (scales[h] == num::kSkipLine) continue;
      float* const at = to + 8 * h * params.y_filter;
      const float out = factors.of(d[e / 2 * 4 + 2 * h + e % 2], image_scale + scales[h]);
      *at = kReadsY ? __fmaf_rn(factors.beta, *at, out) : out;
    }
  }
}

}  // namespace kizami::engines::hopper
