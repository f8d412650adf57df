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
  int row;
  int column;

  /// Of filter 0.
  [[nodiscard]] __device__ __forceinline__ float* in(const product::DirectConvolution& direct) const {
    return direct.y + image * direct.y_strides.image + row * direct.y_strides.row + column * direct.y_strides.column;
  }
};
[[nodiscard]] __device__ __forceinline__ OutputPlace output_of(int cell, const ConvolutionParams& params) {
  const std::uint32_t image = divide(static_cast<std::uint32_t>(cell), params.by_image);
  const std::uint32_t in_image = static_cast<std::uint32_t>(cell) - image * params.by_image.divisor;
  const std::uint32_t row = divide(in_image, params.by_row);
  const std::uint32_t column = in_image - row * params.by_row.divisor;
  return {cell < params.n && row < static_cast<std::uint32_t>(params.direct.h.outputs) &&
              column < static_cast<std::uint32_t>(params.direct.w.outputs),
          static_cast<int>(image), static_cast<int>(row), static_cast<int>(column)};
}
/// Whether an output is an FP32 sum, for its window.
[[nodiscard]] __device__ __forceinline__ bool has_nonfinite_window(const ConvolutionParams& params,
                                                                   const OutputPlace& place, int group) {
  return params.has_nonfinite != nullptr && params.has_nonfinite[place.image] != 0 &&
         params.direct.has_nonfinite_window(place.image, place.row, place.column, group);
}

/// alpha times a sum. @param scale of image and filter, less alpha's exponent
[[nodiscard]] __device__ __forceinline__ float scaled(const ConvolutionFactors& factors, float sum,
                                                      std::int32_t scale) {
  return product::ec_unscaled(__fmul_rn(factors.alpha, sum), scale);
}

/// Stores 64 rows (cells j_first..) by kTileI columns (filters i_first.. of a group) that a warpgroup holds.
/// @range all 128 threads of the warpgroup take part; thread = 0..127 within it; i_first even
template <int kTileI, bool kReadsY>
__device__ __forceinline__ void store_cells(const float (&d)[kTileI / 2], const ConvolutionParams& params,
                                            const ConvolutionFactors& factors, int group, int i_first, int j_first,
                                            int thread) {
  const std::int32_t* const filter_scales = params.filter_scales + static_cast<std::int64_t>(group) * params.m;
  const int i_of_lane = i_first + thread % 4 * 2;
  std::int32_t scales[kTileI / 4];
  bool has_skipped = false;  ///< filters with NaN or Inf
#pragma unroll
  for (int e = 0; e < kTileI / 4; ++e) {
    const int i = i_of_lane + e / 2 * 8 + e % 2;
    scales[e] = i < params.m ? filter_scales[i] : num::kSkipLine;
    has_skipped = has_skipped || (i < params.m && scales[e] == num::kSkipLine);
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const OutputPlace place = output_of(j_first + thread / 32 * 16 + h * 8 + thread % 32 / 4, params);
    if (!place.is_there) continue;
    const bool is_direct = has_nonfinite_window(params, place, group);
    if (is_direct || has_skipped) {
#pragma unroll 1
      for (int e = 0; e < kTileI / 4; ++e) {
        const int i = i_of_lane + e / 2 * 8 + e % 2;
        if (i < params.m && (is_direct || filter_scales[i] == num::kSkipLine))
          params.direct.write(place.image, place.row, place.column, group * params.m + i);
      }
    }
    if (is_direct) continue;
    const std::int32_t image_scale = params.image_scales[place.image] - factors.exponent;
    float* const to = place.in(params.direct) +
                      (static_cast<std::int64_t>(group) * params.m + i_of_lane) * params.direct.y_strides.channel;
#pragma unroll
    for (int e = 0; e < kTileI / 8; ++e) {
      const std::int32_t first = scales[2 * e];
      const std::int32_t second = scales[2 * e + 1];
      float* const at = to + e * 8 * params.direct.y_strides.channel;
      float2 out =
          make_float2(scaled(factors, d[e * 4 + 2 * h], first == num::kSkipLine ? 0 : image_scale + first),
                      scaled(factors, d[e * 4 + 2 * h + 1], second == num::kSkipLine ? 0 : image_scale + second));
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
        float* const next = at + params.direct.y_strides.channel;
        *next = kReadsY ? __fmaf_rn(factors.beta, *next, out.y) : out.y;
      }
    }
  }
}

/// Where a cell's outputs are. 16 bytes are two neighbouring cells.
struct StoredCell {
  std::int32_t offset;  ///< elements from filter 0 of the tile's first image; negative: no output
  std::uint32_t power;  ///< of two, of the image: bits of its exponent, modulo 2^32
};
/// What the store of a tile asks of its cells, in shared memory. A warp of the producer makes it while the tile is
/// multiplied, so that nothing waits for it.
template <int kCells>
struct alignas(16) CellTable {
  StoredCell cells[kCells];
  std::int32_t first_image;
  std::int32_t is_plain;       ///< no image has NaN or Inf, and outputs lie within 2^31 elements
  std::int32_t least_scale;    ///< of images, less alpha's exponent
  std::int32_t largest_scale;  ///< likewise
};

[[nodiscard]] __device__ __forceinline__ std::uint32_t exponent_bits(std::int32_t exponent) {
  return static_cast<std::uint32_t>(exponent) << 23;
}

/// By one warp.
template <int kCells>
__device__ __forceinline__ void make_cell_table(const ConvolutionParams& params, int j_first, std::uint32_t lane,
                                                CellTable<kCells>& table) {
  const product::TensorStrides& y = params.direct.y_strides;
  const auto first_image =
      static_cast<int>(divide(static_cast<std::uint32_t>(min(j_first, params.n - 1)), params.by_image));
  bool is_plain = true;
  std::int32_t least = INT32_MAX;
  std::int32_t largest = INT32_MIN;
#pragma unroll 1
  for (int at = static_cast<int>(lane); at < kCells; at += 32) {
    const OutputPlace out = output_of(j_first + at, params);
    StoredCell cell{-1, 0};
    if (out.is_there) {
      const std::int64_t offset = (out.image - first_image) * y.image + out.row * y.row + out.column * y.column;
      const std::int32_t scale = params.image_scales[out.image] - params.factors.exponent;
      cell = {static_cast<std::int32_t>(offset), exponent_bits(-scale)};
      is_plain =
          is_plain && offset <= INT32_MAX && (params.has_nonfinite == nullptr || params.has_nonfinite[out.image] == 0);
      least = min(least, scale);
      largest = max(largest, scale);
    }
    table.cells[at] = cell;
  }
  least = __reduce_min_sync(kWholeWarp, least);
  largest = __reduce_max_sync(kWholeWarp, largest);
  is_plain = __all_sync(kWholeWarp, is_plain);
  if (lane == 0) {
    table.first_image = first_image;
    table.is_plain = is_plain ? 1 : 0;
    table.least_scale = least <= largest ? least : 0;
    table.largest_scale = least <= largest ? largest : 0;
  }
  __syncwarp();
}

/// A lane's two filters, and the first of its cells, of sums whose rows are filters. Scales are loaded before the sums are
/// made and looked at after, so that nothing waits for them.
struct FilterPlace {
  int filter;     ///< among those of all groups; the other one is filter_step later
  int num_there;  ///< of the two
  std::int32_t scales[2];
  int cell;

  __device__ __forceinline__ FilterPlace(const ConvolutionParams& params, int group, int i_first, int j_first,
                                         int thread) {
    const int step = params.filter_step;
    const int i = i_first + thread / 32 * 16 + thread % 32 / 4 * (step == 1 ? 2 : 1);
    filter = group * params.m + i;
    num_there = i + step < params.m ? 2 : i < params.m ? 1 : 0;
#pragma unroll
    for (int h = 0; h < 2; ++h) scales[h] = h < num_there ? params.filter_scales[filter + step * h] : num::kSkipLine;
    cell = j_first + thread % 4 * 2;
  }
  [[nodiscard]] __device__ __forceinline__ bool is_kept(int h) const { return scales[h] != num::kSkipLine; }
  /// Whether both filters, too, have no NaN and no Inf, and outputs are one multiplication by a power of two.
  template <int kCells>
  [[nodiscard]] __device__ __forceinline__ bool is_plain(const CellTable<kCells>& table) const {
    bool result = table.is_plain != 0;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      result = result && (h >= num_there || (is_kept(h) && table.least_scale + scales[h] >= -126 &&
                                             table.largest_scale + scales[h] <= 126));
    }
    return result;
  }
};

/// Adds to what y has, or not.
template <bool kReadsY>
__device__ __forceinline__ void store_output(float* at, float out, float beta) {
  *at = kReadsY ? __fmaf_rn(beta, *at, out) : out;
}
template <bool kReadsY>
__device__ __forceinline__ void store_output(float2* at, float2 out, float beta) {
  if constexpr (kReadsY) {
    const float2 before = *at;
    out = make_float2(__fmaf_rn(beta, before.x, out.x), __fmaf_rn(beta, before.y, out.y));
  }
  *at = out;
}

/// Stores kCells cells (`first`.. of a tile) of plain images. With kHasPairs a lane's filters are neighbours in memory.
template <int kCells, bool kHasPairs, bool kReadsY, int kTileCells>
__device__ __forceinline__ void store_plain_filters(const float (&d)[kCells / 2], const ConvolutionParams& params,
                                                    const FilterPlace& place, const CellTable<kTileCells>& table,
                                                    int first) {
  const product::TensorStrides& y = params.direct.y_strides;
  const ConvolutionFactors& factors = params.factors;
  float* of_filters[2];
  std::uint32_t filter_powers[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    of_filters[h] = params.direct.y + table.first_image * y.image + (place.filter + params.filter_step * h) * y.channel;
    asm volatile("" : "+l"(of_filters[h]));  // keep it, instead of adding up in every step
    __builtin_assume(__isGlobal(of_filters[h]));
    filter_powers[h] = exponent_bits(127 - (place.is_kept(h) ? place.scales[h] : 0));
  }
  const StoredCell* const of_lane = table.cells + first + threadIdx.x % 4 * 2;
#pragma unroll
  for (int pair = 0; pair < kCells / 8; ++pair) {
    const int4 both = *reinterpret_cast<const int4*>(of_lane + pair * 8);
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const std::int32_t offset = e == 0 ? both.x : both.z;
      const auto power = static_cast<std::uint32_t>(e == 0 ? both.y : both.w);
      float out[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        out[h] =
            __fmul_rn(__fmul_rn(factors.alpha, d[pair * 4 + 2 * h + e]), __uint_as_float(filter_powers[h] + power));
      }
      if constexpr (kHasPairs) {
        if (offset >= 0 && place.num_there > 0) {
          store_output<kReadsY>(reinterpret_cast<float2*>(of_filters[0] + offset), make_float2(out[0], out[1]),
                                factors.beta);
        }
      } else {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          if (offset >= 0 && place.is_kept(h)) store_output<kReadsY>(of_filters[h] + offset, out[h], factors.beta);
        }
      }
    }
  }
}

/// The FP32 sums among kCells cells and two filters. @return a bit for each cell both of whose outputs are such sums
template <int kCells>
[[nodiscard]] __device__ __forceinline__ std::uint32_t store_direct(const ConvolutionParams& params,
                                                                    const FilterPlace& place, int group) {
  static_assert(kCells / 4 <= 32);
  std::uint32_t direct = 0;
#pragma unroll 1
  for (int e = 0; e < kCells / 4; ++e) {
    const OutputPlace out = output_of(place.cell + e / 2 * 8 + e % 2, params);
    if (!out.is_there) continue;
    const bool is_direct = has_nonfinite_window(params, out, group);
    if (is_direct) direct |= 1U << e;
    for (int h = 0; h < place.num_there; ++h) {
      const int filter = place.filter + params.filter_step * h;
      if (is_direct || params.filter_scales[filter] == num::kSkipLine)
        params.direct.write(out.image, out.row, out.column, filter);
    }
  }
  return direct;
}

/// Stores kCells cells of any images.
template <int kCells>
__device__ __forceinline__ void store_any_filters(const float (&d)[kCells / 2], const ConvolutionParams& params,
                                                  const ConvolutionFactors& factors, const FilterPlace& place,
                                                  int group) {
  const std::uint32_t direct = store_direct<kCells>(params, place, group);
#pragma unroll
  for (int e = 0; e < kCells / 4; ++e) {
    const OutputPlace out = output_of(place.cell + e / 2 * 8 + e % 2, params);
    if (!out.is_there || (direct >> e & 1) != 0) continue;
    const std::int32_t of_image = params.image_scales[out.image] - factors.exponent;
    float* const to = out.in(params.direct) + place.filter * params.direct.y_strides.channel;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (!place.is_kept(h)) continue;
      float* const at = to + params.filter_step * h * params.direct.y_strides.channel;
      const float value = scaled(factors, d[e / 2 * 4 + 2 * h + e % 2], of_image + place.scales[h]);
      *at = factors.beta != 0 ? __fmaf_rn(factors.beta, *at, value) : value;
    }
  }
}

/// Stores sums whose rows are 64 filters, of kCells cells (`first`.. of a tile).
/// @range all 128 threads of the warpgroup take part
template <int kCells, int kTileCells>
__device__ __forceinline__ void store_filters(const float (&d)[kCells / 2], const ConvolutionParams& params,
                                              const FilterPlace& place, int group, const CellTable<kTileCells>& table,
                                              int first) {
  if (!__all_sync(kWholeWarp, place.is_plain(table))) {
    store_any_filters<kCells>(d, params, params.factors, place, group);
  } else if (params.filter_step == 1) {
    if (params.factors.beta != 0) {
      store_plain_filters<kCells, true, true>(d, params, place, table, first);
    } else {
      store_plain_filters<kCells, true, false>(d, params, place, table, first);
    }
  } else if (params.factors.beta != 0) {
    store_plain_filters<kCells, false, true>(d, params, place, table, first);
  } else {
    store_plain_filters<kCells, false, false>(d, params, place, table, first);
  }
}

}  // namespace kizami::engines::hopper
