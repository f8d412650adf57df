// SPDX-License-Identifier: MIT
// Matrices in memory as tile kernels see them: which index is contiguous, views of whole tiles, and the order in which
// blocks walk the tiles of a product.
// A kernel of this folder is a function template NAME_block, the work of one block: on the host a launch takes it as it
// is (KIZAMI_TILE_LAUNCH); device/ gives it entry points with names, hints and tile sizes.
#pragma once

#include <cstdint>

#include "kizami/tile.hpp"

namespace kizami::tile_kernels {

/// Which index of a matrix is contiguous. A transposed operand is the same memory in the other order.
enum class Order : std::uint8_t {
  kRowMajor,  ///< (i, j) at i * stride + j
  kColMajor,  ///< (i, j) at i + j * stride
};

inline namespace KIZAMI_TILE_BACKEND {
namespace ct = cuda::tiles;

/// What a kernel assumes of a matrix: kAligned of its address and its stride, as TMA needs it (tile/docs/sm_90.md).
/// @range  stored matrices: the contiguous extent must be a multiple of 16 bytes. On an H200 a masked store by TMA of
///         rows of 257 FP32 numbers wrote zeros into the padding behind them; what is loaded is masked rightly.
template <bool kAligned, class T>
__tile__ T* matrix_base(T* data) {
  if constexpr (kAligned) return ct::assume_aligned<16>(data);
  return data;
}
template <bool kAligned, class Integer>
__tile__ Integer matrix_stride(Integer stride) {
  if constexpr (kAligned) return ct::assume_divisible<16>(stride);
  return stride;
}

/// The contiguous extent of a matrix of kAligned rows of T that a kernel stores (columns of kColMajor): a multiple of
/// 16 bytes. Said to the compiler, it makes masked accesses of 16 bytes in place of ones of single elements.
template <bool kAligned, class T>
__tile__ int matrix_extent(int extent) {
  if constexpr (kAligned) return ct::assume_divisible<16 / sizeof(T)>(extent);
  return extent;
}

/// The tiles of kTileRows x kTileCols of a matrix; those at its edges reach beyond it and need masked access.
/// @shape  rows x cols, `stride` elements from one row (kColMajor: column) to the next
template <Order kOrder, int kTileRows, int kTileCols, class T>
__tile__ auto matrix_tiles(T* data, int rows, int cols, int stride) {
  using namespace ct::literals;
  if constexpr (kOrder == Order::kRowMajor) {
    return ct::partition_view{
        ct::tensor_span{data, ct::layout_strided_mapping{ct::extents{rows, cols}, ct::strides{stride, 1_ic}}},
        ct::shape<kTileRows, kTileCols>{}};
  } else {
    return ct::partition_view{
        ct::tensor_span{data, ct::layout_strided_mapping{ct::extents{rows, cols}, ct::strides{1_ic, stride}}},
        ct::shape<kTileRows, kTileCols>{}};
  }
}

/// The same for num_planes matrices, plane p at p * plane_stride; tiles are of rank 3, 1 x kTileRows x kTileCols.
/// @range  plane_stride < 2^32 elements by its type: with strides of 64 bits the compiler of devices does not use TMA.
///         `data` is a parameter of the kernel as it came: of an address that a block computes, the block has to make
///         the descriptors for TMA, which failed on a device (tile/docs/kernels.md)
template <Order kOrder, bool kAligned, int kTileRows, int kTileCols, class T>
__tile__ auto plane_tiles(T* data, int num_planes, int rows, int cols, std::uint32_t plane_stride, int stride) {
  using namespace ct::literals;
  const auto planes = matrix_stride<kAligned>(plane_stride);
  const int line = matrix_stride<kAligned>(stride);
  if constexpr (kOrder == Order::kRowMajor) {
    return ct::partition_view{
        ct::tensor_span{matrix_base<kAligned>(data), ct::layout_strided_mapping{ct::extents{num_planes, rows, cols},
                                                                                ct::strides{planes, line, 1_ic}}},
        ct::shape<1, kTileRows, kTileCols>{}};
  } else {
    return ct::partition_view{
        ct::tensor_span{matrix_base<kAligned>(data), ct::layout_strided_mapping{ct::extents{num_planes, rows, cols},
                                                                                ct::strides{planes, 1_ic, line}}},
        ct::shape<1, kTileRows, kTileCols>{}};
  }
}

/// A tile of a plane, masked, without the index of the plane.
template <class View>
__tile__ auto load_plane_tile(const View& tiles, int plane, int row, int col) {
  using Shape = typename View::view_shape_type;
  return ct::reshape(tiles.load_masked(plane, row, col), ct::shape<Shape::static_extent(1), Shape::static_extent(2)>{});
}
template <class View, class Tile>
__tile__ void store_plane_tile(const View& tiles, Tile tile, int plane, int row, int col) {
  tiles.store_masked(ct::reshape(tile, typename View::view_shape_type{}), plane, row, col);
}

/// A tile of a matrix, by its row and column among the tiles.
struct TilePosition {
  int row;
  int col;
};

/// Block number -> tile: groups of `group` rows of tiles, each walked column by column, so that the blocks that run at
/// a time share few rows of A and few columns of B, which then stay in the L2 cache.
/// @range  0 <= block < num_rows * num_cols, group >= 1.   @exact a bijection of blocks to tiles.
__tile__ inline TilePosition swizzle_2d(int num_rows, int num_cols, int group, int block) {
  const int blocks_of_group = group * num_cols;
  const int first_row = block / blocks_of_group * group;
  const int rows_left = num_rows - first_row;
  const int height = rows_left < group ? rows_left : group;
  const int in_group = block % blocks_of_group;
  return {first_row + in_group % height, in_group / height};
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
