// SPDX-License-Identifier: MIT
// What the host hands to the kernel of convolutions: one struct, passed by value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engines/hopper/tile_walk.hpp"
#include "product/ec_convolution.hpp"

namespace kizami::engines::hopper {

inline constexpr int kEcConvolutionCluster = 2;  ///< CTAs that share filters, each with cells of its own

/// m: filters of a group; n: cells of all images; planes are groups; a_map {bytes of k, filter, group}, b_map {bytes of a
/// pixel, cell, plane}; num_k_blocks counts stages, a multiple of those of one promotion.
struct ConvolutionParams : TileWalk {
  product::ConvolutionAxis h;
  product::ConvolutionAxis w;
  std::uint32_t num_tiles;  ///< of all groups
  std::int32_t images;
  std::int32_t blocks;  ///< a pixel's of a group
  std::int32_t is_tf32;
  std::int32_t block_promotions;
  Divider by_image;            ///< cells of an image
  Divider by_row;              ///< cells of a row
  std::int32_t rows_of_image;  ///< of cells
  const std::int32_t* image_scales;
  const std::int32_t* has_nonfinite;
  const std::int8_t* marks;
  std::int32_t groups;
  const std::int32_t* filter_scales;
  float alpha;
  float beta;
  float* y;
  std::int64_t y_image;
  std::int64_t y_filter;
  std::int64_t y_row;
  std::int64_t y_column;
  std::int32_t has_pairs;  ///< neighbouring filters are neighbours in memory, and pairs of them begin on 8 bytes
};

/// Cells of a warpgroup and of one copy: all of a tile, or half of them where a tile has no more than 64 filters to share
/// out.
[[nodiscard]] constexpr int cells_of_copy(int tile_i, int tile_j) {
  return tile_i == 64 && tile_j > 128 ? tile_j / 2 : tile_j;
}

/// A compiled kernel, as cudaLaunchKernelExC takes it.
struct ConvolutionKernel {
  const void* kernel;
  std::size_t shared_bytes;
};

/// Each in a unit of its own, for the time that they take to compile.
template <product::EcConvolutionForm form>
[[nodiscard]] ConvolutionKernel convolution_kernel();

}  // namespace kizami::engines::hopper
