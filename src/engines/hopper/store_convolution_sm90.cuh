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

/// A lane's two filters, and the first of its cells, of sums whose rows are filters.
struct FilterPlace {
  std::int64_t filter;  ///< among those of all groups; the other one is 8 later
  std::int32_t scales[2];
  int cell;

  __device__ __forceinline__ FilterPlace(const ConvolutionParams& params, int group, int i_first, int j_first,
                                         int thread) {
    const int i = i_first + thread / 32 * 16 + thread % 32 / 4;
    filter = static_cast<std::int64_t>(group) * params.m + i;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      scales[h] = i + 8 * h < params.m ? params.filter_scales[filter + 8 * h] : num::kSkipLine;
    }
    cell = j_first + thread % 4 * 2;
  }
  [[nodiscard]] __device__ __forceinline__ bool is_kept(int h) const { return scales[h] != num::kSkipLine; }
  /// Whether an image has no marks, and its outputs here are one multiplication by a power of two.
  [[nodiscard]] __device__ __forceinline__ bool is_plain(const ConvolutionParams& params, std::int32_t exponent,
                                                         int image) const {
    bool result = params.has_nonfinite == nullptr || params.has_nonfinite[image] == 0;
    const std::int32_t of_image = params.image_scales[image] - exponent;
#pragma unroll
    for (int h = 0; h < 2; ++h) result = result && (!is_kept(h) || abs(of_image + scales[h]) <= 126);
    return result;
  }
};

/// Stores kCells cells of plain images, along which a lane walks. Nothing here is looked up but the scales of images.
template <int kCells, bool kReadsY>
__device__ __forceinline__ void store_plain_filters(const float (&d)[kCells / 2], const ConvolutionParams& params,
                                                    const ConvolutionFactors& factors, const FilterPlace& place) {
  const int cells_of_row = static_cast<int>(params.by_row.divisor);
  const int rows_of_image = params.rows_of_image;
  int image = static_cast<int>(divide(static_cast<std::uint32_t>(place.cell), params.by_image));
  int column = place.cell - image * static_cast<int>(params.by_image.divisor);
  int row = static_cast<int>(divide(static_cast<std::uint32_t>(column), params.by_row));
  column -= row * cells_of_row;
  float* to = params.y + image * params.y_image + row * params.y_row + column * params.y_column +
              place.filter * params.y_filter;
  const std::int64_t to_other = 8 * params.y_filter;
  const std::int64_t to_next_row = params.y_row - cells_of_row * params.y_column;
  const std::int64_t to_next_image = params.y_image - rows_of_image * params.y_row;
  const std::int32_t of_filters[2] = {place.is_kept(0) ? place.scales[0] : 0, place.is_kept(1) ? place.scales[1] : 0};
  float powers[2];
  const auto look_up = [&] {
    const std::int32_t scale = image < params.images ? params.image_scales[image] - factors.exponent : 0;
#pragma unroll
    for (int h = 0; h < 2; ++h) powers[h] = __int_as_float((127 - scale - of_filters[h]) << 23);
  };
  look_up();
#pragma unroll
  for (int e = 0; e < kCells / 4; ++e) {
    // Behind the last image there are rows, too: their cells are n or more.
    const bool is_there = row < params.h.outputs && column < params.w.outputs && image < params.images;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (!is_there || !place.is_kept(h)) continue;
      const float out = __fmul_rn(__fmul_rn(factors.alpha, d[e / 2 * 4 + 2 * h + e % 2]), powers[h]);
      float* const at = h == 0 ? to : to + to_other;
      *at = kReadsY ? __fmaf_rn(factors.beta, *at, out) : out;
    }
    column += e % 2 == 0 ? 1 : 7;
    to += (e % 2 == 0 ? 1 : 7) * params.y_column;
    while (column >= cells_of_row) {
      column -= cells_of_row;
      to += to_next_row;
      if (++row == rows_of_image) {
        row = 0;
        ++image;
        to += to_next_image;
        look_up();
      }
    }
  }
}

/// The same for any images.
template <int kCells>
__device__ __forceinline__ void store_any_filters(const float (&d)[kCells / 2], const ConvolutionParams& params,
                                                  const ConvolutionFactors& factors, const FilterPlace& place,
                                                  int group) {
#pragma unroll
  for (int e = 0; e < kCells / 4; ++e) {
    const OutputPlace out = output_of(place.cell + e / 2 * 8 + e % 2, params);
    if (!out.is_there) continue;
    if (params.has_nonfinite != nullptr && params.has_nonfinite[out.image] != 0 &&
        params.marks[out.pixel * params.groups + group] != 0)
      continue;
    const std::int32_t of_image = params.image_scales[out.image] - factors.exponent;
    float* const to = params.y + out.offset + place.filter * params.y_filter;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (!place.is_kept(h)) continue;
      float* const at = to + 8 * h * params.y_filter;
      const float value = factors.of(d[e / 2 * 4 + 2 * h + e % 2], of_image + place.scales[h]);
      *at = factors.beta != 0 ? __fmaf_rn(factors.beta, *at, value) : value;
    }
  }
}

/// Stores sums whose rows are filters: 64 of them (i_first..) by kCells cells (j_first..).
/// @range as store_cells()
template <int kCells>
__device__ __forceinline__ void store_filters(const float (&d)[kCells / 2], const ConvolutionParams& params,
                                              const ConvolutionFactors& factors, int group, int i_first, int j_first,
                                              int thread) {
  const FilterPlace place(params, group, i_first, j_first, thread);
  if (j_first >= params.n) return;  // the last cluster's
  const auto image_of = [&](int cell) {
    return static_cast<int>(divide(static_cast<std::uint32_t>(cell), params.by_image));
  };
  const int last = image_of(min(j_first + kCells, params.n) - 1);
  bool is_plain = true;
  for (int image = image_of(j_first); image <= last; ++image)
    is_plain = is_plain && place.is_plain(params, factors.exponent, image);
  if (!__all_sync(kWholeWarp, is_plain)) {
    store_any_filters<kCells>(d, params, factors, place, group);
  } else if (factors.beta != 0) {
    store_plain_filters<kCells, true>(d, params, factors, place);
  } else {
    store_plain_filters<kCells, false>(d, params, factors, place);
  }
}

}  // namespace kizami::engines::hopper
