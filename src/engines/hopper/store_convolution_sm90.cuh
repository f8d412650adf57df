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

/// alpha is taken apart, so that a product overflows only where it is too large.
struct ConvolutionFactors {
  float alpha;  ///< magnitude in [1, 2)
  std::int32_t exponent;
  float beta;

  explicit __device__ __forceinline__ ConvolutionFactors(const ConvolutionParams& params)
      : alpha(params.direct.alpha), exponent(0), beta(params.direct.beta) {
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
        float* const next = at + params.direct.y_strides.channel;
        *next = kReadsY ? __fmaf_rn(factors.beta, *next, out.y) : out.y;
      }
    }
  }
}

/// A lane's two filters, and the first of its cells, of sums whose rows are filters. Scales are loaded before the sums are
/// made and looked at after, so that nothing waits for them.
struct FilterPlace {
  int filter;     ///< among those of all groups; the other one is filter_step later
  int num_there;  ///< of the two
  std::int32_t scales[2];
  int cell;
  int first_image;  ///< of the tile
  std::int32_t scale_of_first;
  std::int32_t first_has_nonfinite;

  __device__ __forceinline__ FilterPlace(const ConvolutionParams& params, int group, int i_first, int j_first,
                                         int thread) {
    const int step = params.filter_step;
    const int i = i_first + thread / 32 * 16 + thread % 32 / 4 * (step == 1 ? 2 : 1);
    filter = group * params.m + i;
    num_there = i + step < params.m ? 2 : i < params.m ? 1 : 0;
#pragma unroll
    for (int h = 0; h < 2; ++h) scales[h] = h < num_there ? params.filter_scales[filter + step * h] : num::kSkipLine;
    cell = j_first + thread % 4 * 2;
    first_image = static_cast<int>(divide(static_cast<std::uint32_t>(min(j_first, params.n - 1)), params.by_image));
    scale_of_first = params.image_scales[first_image];
    first_has_nonfinite = params.has_nonfinite == nullptr ? 0 : params.has_nonfinite[first_image];
  }
  [[nodiscard]] __device__ __forceinline__ bool is_kept(int h) const { return scales[h] != num::kSkipLine; }
  [[nodiscard]] __device__ __forceinline__ std::int32_t image_scale(const ConvolutionParams& params, int image) const {
    return image == first_image ? scale_of_first : params.image_scales[image];
  }
  /// Whether an image and both filters have no NaN and no Inf, and outputs are one multiplication by a power of two.
  [[nodiscard]] __device__ __forceinline__ bool is_plain(const ConvolutionParams& params, std::int32_t exponent,
                                                         int image) const {
    bool result = image == first_image ? first_has_nonfinite == 0
                                       : params.has_nonfinite == nullptr || params.has_nonfinite[image] == 0;
    const std::int32_t of_image = image_scale(params, image) - exponent;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      result = result && (h >= num_there || (is_kept(h) && abs(of_image + scales[h]) <= 126));
    }
    return result;
  }
};

[[nodiscard]] __device__ __forceinline__ std::uint32_t exponent_bits(std::int32_t exponent) {
  return static_cast<std::uint32_t>(exponent) << 23;
}

/// Where the outputs of a lane's cells are. The 8 lanes of a warp with the same cells share them out, and tell each other:
/// a step of the store takes few instructions, for all of its steps run through the instruction cache once a tile.
template <int kCells>
class PlainCells {
  static constexpr int kSteps = kCells / 4;  ///< cells of a lane
  static constexpr int kLanes = 8;
  static constexpr int kKnown = (kSteps + kLanes - 1) / kLanes;
  std::int32_t offsets_[kKnown];  ///< elements from filter 0 of the first image; negative: no output
  std::uint32_t powers_[kKnown];  ///< of two, of the image: bits of its exponent, modulo 2^32

 public:
  __device__ __forceinline__ PlainCells(const ConvolutionParams& params, const ConvolutionFactors& factors,
                                        const FilterPlace& place, std::uint32_t lane) {
    const product::TensorStrides& y = params.direct.y_strides;
#pragma unroll
    for (int k = 0; k < kKnown; ++k) {
      const int step = k * kLanes + static_cast<int>(lane / 4);
      const OutputPlace out = output_of(place.cell + step / 2 * 8 + step % 2, params);
      offsets_[k] = -1;
      powers_[k] = 0;
      if (!out.is_there || step >= kSteps) continue;
      offsets_[k] = static_cast<std::int32_t>((out.image - place.first_image) * y.image + out.row * y.row +
                                              out.column * y.column);
      powers_[k] = exponent_bits(factors.exponent - place.image_scale(params, out.image));
    }
  }
  /// Of a lane's cell `step`, by all lanes at once.
  [[nodiscard]] __device__ __forceinline__ std::int32_t offset(int step, std::uint32_t lane) const {
    return __shfl_sync(kWholeWarp, offsets_[step / kLanes], step % kLanes * 4 + lane % 4);
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t power(int step, std::uint32_t lane) const {
    return __shfl_sync(kWholeWarp, powers_[step / kLanes], step % kLanes * 4 + lane % 4);
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

/// Stores kCells cells of plain images, whose outputs lie within 2^31 elements. With kHasPairs a lane's filters are
/// neighbours in memory.
template <int kCells, bool kHasPairs, bool kReadsY>
__device__ __forceinline__ void store_plain_filters(const float (&d)[kCells / 2], const ConvolutionParams& params,
                                                    const ConvolutionFactors& factors, const FilterPlace& place) {
  const std::uint32_t lane = threadIdx.x % 32;
  const PlainCells<kCells> cells(params, factors, place, lane);
  const product::TensorStrides& y = params.direct.y_strides;
  float* of_filters[2];
  std::uint32_t filter_powers[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    of_filters[h] = params.direct.y + place.first_image * y.image + (place.filter + params.filter_step * h) * y.channel;
    asm volatile("" : "+l"(of_filters[h]));  // keep it, instead of adding up in every step
    __builtin_assume(__isGlobal(of_filters[h]));
    filter_powers[h] = exponent_bits(127 - (place.is_kept(h) ? place.scales[h] : 0));
  }
#pragma unroll
  for (int e = 0; e < kCells / 4; ++e) {
    const std::int32_t offset = cells.offset(e, lane);
    const std::uint32_t power = cells.power(e, lane);
    float out[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      out[h] =
          __fmul_rn(__fmul_rn(factors.alpha, d[e / 2 * 4 + 2 * h + e % 2]), __uint_as_float(filter_powers[h] + power));
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
      const float value = factors.of(d[e / 2 * 4 + 2 * h + e % 2], of_image + place.scales[h]);
      *at = factors.beta != 0 ? __fmaf_rn(factors.beta, *at, value) : value;
    }
  }
}

/// Stores sums whose rows are 64 filters by kCells cells (j_first..).
/// @range all 128 threads of the warpgroup take part
template <int kCells>
__device__ __forceinline__ void store_filters(const float (&d)[kCells / 2], const ConvolutionParams& params,
                                              const ConvolutionFactors& factors, const FilterPlace& place, int group,
                                              int j_first) {
  if (j_first >= params.n) return;  // the last cluster's
  const auto last =
      static_cast<int>(divide(static_cast<std::uint32_t>(min(j_first + kCells, params.n) - 1), params.by_image));
  bool is_plain = true;
  for (int image = place.first_image; image <= last; ++image)
    is_plain = is_plain && place.is_plain(params, factors.exponent, image);
  is_plain = is_plain && (last - place.first_image + 1) * params.direct.y_strides.image <= INT32_MAX;
  if (!__all_sync(kWholeWarp, is_plain)) {
    store_any_filters<kCells>(d, params, factors, place, group);
  } else if (params.filter_step == 1) {
    if (factors.beta != 0) {
      store_plain_filters<kCells, true, true>(d, params, factors, place);
    } else {
      store_plain_filters<kCells, true, false>(d, params, factors, place);
    }
  } else if (factors.beta != 0) {
    store_plain_filters<kCells, false, true>(d, params, factors, place);
  } else {
    store_plain_filters<kCells, false, false>(d, params, factors, place);
  }
}

}  // namespace kizami::engines::hopper
