// SPDX-License-Identifier: MIT
// The product of one window of floating-point slices, as product::ProductDesc describes it: whole numbers, C = A B^T
// exactly in INT32. C is column-major, so tiles are made of its transpose (product_i8.hpp).
// FP16 and BF16: FP32 sums that start at zero, of as many elements of k as are exact, are added up in INT32. FP8: the
// tensor core keeps 14 bits within one call of mma, which starts at zero and adds to FP32 (tile/docs/sm_90.md), so
// calls are as short as that and the sum of all stays in FP32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tile_kernels/gemm.hpp"

namespace kizami::tile_kernels {
inline namespace KIZAMI_TILE_BACKEND {

/// The tiles of a window.
/// @shape  A: m rows of k, B: n rows of k, k contiguous; C: n columns of m. grid: (ceil(n / kTileN) * ceil(m / kTileM), 1, 1)
/// @range  A and B on 16 bytes, row strides multiples of 16. kAlignedC: c is aligned to 16 bytes, c_col_stride a
///         multiple of 16, m of 4
template <class Slice, int kTileN, int kTileM, int kTileK, bool kAlignedC>
struct WindowTiles {
  using Sum = ct::tile<float, ct::shape<kTileN, kTileM>>;
  using Integer = ct::tile<std::int32_t, ct::shape<kTileN, kTileM>>;

  static __tile__ auto of_a(const Slice* a, int row_stride, int m, int k) {
    return matrix_tiles<Order::kColMajor, kTileK, kTileM>(matrix_base<true>(a), k, m, matrix_stride<true>(row_stride));
  }
  static __tile__ auto of_b(const Slice* b, int row_stride, int n, int k) {
    return matrix_tiles<Order::kRowMajor, kTileN, kTileK>(matrix_base<true>(b), n, k, matrix_stride<true>(row_stride));
  }
  static __tile__ auto of_c(std::int32_t* c, int col_stride, int m, int n) {
    return matrix_tiles<Order::kRowMajor, kTileN, kTileM>(matrix_base<kAlignedC>(c), n, m,
                                                          matrix_stride<kAlignedC>(col_stride));
  }
  static __tile__ TilePosition position(int m, int n, int group) {
    return swizzle_2d(ct::ceildiv(n, kTileN), ct::ceildiv(m, kTileM), group, static_cast<int>(ct::bid().x));
  }
};

/// x plus the products of tiles l, l + 1, ... along k, one call of mma after another.
template <class Sum, class BTiles, class ATiles, std::size_t... kPart>
__tile__ Sum add_products(Sum x, const BTiles& b, int row, const ATiles& a, int col, int l,
                          std::index_sequence<kPart...> /*unused*/) {
  ((x = ct::mma(b.load_masked(row, l + static_cast<int>(kPart)), a.load_masked(l + static_cast<int>(kPart), col), x)),
   ...);
  return x;
}

/// Slice: FP16 or BF16.
/// @range  beyond that of WindowTiles: sums of kParts kTileK products at most 2^24, those of all of k within INT32
/// @exact
template <class Slice, int kTileN, int kTileM, int kTileK, int kParts, bool kAlignedC>
__tile__ void promoted_product_block(const Slice* a, int a_row_stride, const Slice* b, int b_row_stride,
                                     std::int32_t* c, int c_col_stride, int m, int n, int k, int group) {
  using Tiles = WindowTiles<Slice, kTileN, kTileM, kTileK, kAlignedC>;
  const TilePosition at = Tiles::position(m, n, group);
  const auto a_tiles = Tiles::of_a(a, a_row_stride, m, k);
  const auto b_tiles = Tiles::of_b(b, b_row_stride, n, k);
  const int num_tiles = ct::ceildiv(k, kTileK);
  const int num_sums = num_tiles / kParts;
  const auto zero = ct::zeros<typename Tiles::Sum>();
  auto acc = ct::zeros<typename Tiles::Integer>();
  if constexpr (kParts == 1) {
    for (const int l : ct::irange(0, num_sums)) {
      const auto x = add_products(zero, b_tiles, at.row, a_tiles, at.col, l, std::make_index_sequence<1>{});
      acc = acc + ct::element_cast<std::int32_t>(x);
    }
  } else {
    // A sum is turned into integers beside the products of the next one, which is faster on an H200.
    auto before = zero;
    for (const int i : ct::irange(0, num_sums)) {
      const auto x =
          add_products(zero, b_tiles, at.row, a_tiles, at.col, i * kParts, std::make_index_sequence<kParts>{});
      acc = acc + ct::element_cast<std::int32_t>(before);
      before = x;
    }
    acc = acc + ct::element_cast<std::int32_t>(before);
    // A tile may not lie wholly outside, so what is left has sums of its own.
    for (const int l : ct::irange(num_sums * kParts, num_tiles)) {
      const auto x = add_products(zero, b_tiles, at.row, a_tiles, at.col, l, std::make_index_sequence<1>{});
      acc = acc + ct::element_cast<std::int32_t>(x);
    }
  }
  Tiles::of_c(c, c_col_stride, m, n).store_masked(acc, at.row, at.col);
}

/// Slice: FP8.
/// @range  beyond that of WindowTiles: sums of kTileK products at most 2^14, those of all of k at most 2^24; ceil(k /
///         kTileK) a multiple of kParts
/// @exact
template <class Slice, int kTileN, int kTileM, int kTileK, int kParts, bool kAlignedC>
__tile__ void fp8_product_block(const Slice* a, int a_row_stride, const Slice* b, int b_row_stride, std::int32_t* c,
                                int c_col_stride, int m, int n, int k, int group) {
  using Tiles = WindowTiles<Slice, kTileN, kTileM, kTileK, kAlignedC>;
  const TilePosition at = Tiles::position(m, n, group);
  const auto a_tiles = Tiles::of_a(a, a_row_stride, m, k);
  const auto b_tiles = Tiles::of_b(b, b_row_stride, n, k);
  auto sum = ct::zeros<typename Tiles::Sum>();
  for (const int i : ct::irange(0, ct::ceildiv(k, kTileK * kParts)))
    sum = add_products(sum, b_tiles, at.row, a_tiles, at.col, i * kParts, std::make_index_sequence<kParts>{});
  Tiles::of_c(c, c_col_stride, m, n).store_masked(ct::element_cast<std::int32_t>(sum), at.row, at.col);
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
