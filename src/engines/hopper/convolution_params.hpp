// SPDX-License-Identifier: MIT
// What the host hands to the kernel of convolutions: one struct, passed by value.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "engines/hopper/tile_walk.hpp"
#include "kizami/host_device.hpp"
#include "product/ec_convolution.hpp"

namespace kizami::engines::hopper {

inline constexpr int kConvolutionCluster = 2;  ///< CTAs that share filters, each with cells of its own

/// Where a tap of an axis begins: cells along that axis, and its plane.
struct TapPlace {
  std::int32_t offset;
  std::int32_t plane;
};
inline constexpr int kTabledTaps = 32;  ///< of an axis; others are computed, which is slow

/// alpha is taken apart, so that a product overflows only where it is too large.
struct ConvolutionFactors {
  float alpha;            ///< magnitude in [1, 2), or not finite
  std::int32_t exponent;  ///< of two, that it has been divided by
  float beta;
};
/// @range alpha not zero
[[nodiscard]] inline ConvolutionFactors convolution_factors(float alpha, float beta) {
  if (!std::isfinite(alpha)) return {alpha, 0, beta};
  const int exponent = std::ilogb(alpha);
  return {std::ldexp(alpha, -exponent), exponent, beta};
}

/// m: filters of a group; n: cells of all images; planes are groups; a_map {bytes of k, filter, group}, b_map {bytes of a
/// pixel, cell, plane}; num_k_blocks counts stages, a multiple of those of one promotion.
struct ConvolutionParams : TileWalk {
  TapPlace h_taps[kTabledTaps];  ///< offsets in cells of the chain, planes of the first column
  TapPlace w_taps[kTabledTaps];
  std::uint32_t num_tiles;  ///< of all groups
  std::int32_t blocks;      ///< a pixel's of a group
  std::int32_t is_tf32;
  std::int32_t block_promotions;
  Divider by_image;  ///< cells of an image
  Divider by_row;    ///< cells of a row
  const std::int32_t* image_scales;
  const std::int32_t* has_nonfinite;
  const std::int32_t* filter_scales;
  /// From one filter of a lane to the other, of sums whose rows are filters: 8, or 1 (encode_in_pairs()).
  std::int32_t filter_step;
  std::int32_t has_pairs;  ///< neighbouring filters are neighbours in memory, and pairs of them begin on 8 bytes
  product::DirectConvolution direct;
  ConvolutionFactors factors;
};

/// Cells of a warpgroup and of one copy: all of a tile, or half of them where a tile has no more than 64 filters to share
/// out.
[[nodiscard]] constexpr int cells_of_copy(int tile_i, int tile_j) {
  return tile_i == 64 && tile_j > 128 ? tile_j / 2 : tile_j;
}

[[nodiscard]] KIZAMI_HOST_DEVICE constexpr TapPlace tap_of_height(const product::ConvolutionAxis& h,
                                                                  const product::ConvolutionAxis& w,
                                                                  std::int32_t cells_of_row, std::int32_t tap) {
  return {h.offset_of(tap) * cells_of_row, h.plane_of(tap) * w.num_planes()};
}
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr TapPlace tap_of_width(const product::ConvolutionAxis& w, std::int32_t tap) {
  return {w.offset_of(tap), w.plane_of(tap)};
}

/// A compiled kernel, as cudaLaunchKernelExC takes it.
struct ConvolutionKernel {
  const void* kernel;
  std::size_t shared_bytes;
  bool has_filter_rows;  ///< filters are rows of wgmma
};

/// Each in a unit of its own, for the time that they take to compile.
template <product::EcConvolutionForm form>
[[nodiscard]] ConvolutionKernel convolution_kernel();

}  // namespace kizami::engines::hopper
