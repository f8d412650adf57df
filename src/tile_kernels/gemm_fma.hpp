// SPDX-License-Identifier: MIT
// C = A B by tiles, as sums of outer products of a column of A and a row of B, each added by one fused multiply-add:
//   for every l: acc = fma(A(:, l), B(l, :), acc)
// Where mma has no instruction for the type (FP32, FP64 on sm_90: tile/docs/sm_90.md), it multiplies and adds in two
// instructions and rounds twice; this rounds once. Ascending l, one chain: the bits do not depend on the tile.
#pragma once

#include <cstddef>
#include <utility>

#include "tile_kernels/gemm.hpp"

namespace kizami::tile_kernels {
inline namespace KIZAMI_TILE_BACKEND {

/// acc + a b for one step along k.
template <class Acc, class A, class B, std::size_t... kL>
__tile__ Acc add_outer_products(const A& a, const B& b, Acc acc, std::index_sequence<kL...> /*unused*/) {
  constexpr std::size_t kRows = ct::tile_shape_t<Acc>::static_extent(0);
  constexpr std::size_t kCols = ct::tile_shape_t<Acc>::static_extent(1);
  ((acc = ct::fma(ct::extract(a, ct::shape<kRows, 1>{}, 0, kL), ct::extract(b, ct::shape<1, kCols>{}, kL, 0), acc)),
   ...);
  return acc;
}

/// As gemm_block(), for a type that is element, factor, accumulator and result.
/// @bound  k u |A||B|; the padded steps at the end of k add zeros
template <class T, int kTileM, int kTileN, int kTileK, Order kA, Order kB, bool kAligned>
__tile__ void gemm_fma_block(const T* A, int a_stride, const T* B, int b_stride, T* C, int c_stride, int m, int n,
                             int k, int group) {
  const TilePosition at =
      swizzle_2d(ct::ceildiv(m, kTileM), ct::ceildiv(n, kTileN), group, static_cast<int>(ct::bid().x));
  const auto a_tiles =
      matrix_tiles<kA, kTileM, kTileK>(matrix_base<kAligned>(A), m, k, matrix_stride<kAligned>(a_stride));
  const auto b_tiles =
      matrix_tiles<kB, kTileK, kTileN>(matrix_base<kAligned>(B), k, n, matrix_stride<kAligned>(b_stride));
  const auto c_tiles =
      matrix_tiles<Order::kRowMajor, kTileM, kTileN>(matrix_base<kAligned>(C), m, n, matrix_stride<kAligned>(c_stride));
  auto acc = ct::zeros<ct::tile<T, ct::shape<kTileM, kTileN>>>();
  for (const int l : ct::irange(0, ct::ceildiv(k, kTileK))) {
    acc = add_outer_products(a_tiles.load_masked(at.row, l), b_tiles.load_masked(l, at.col), acc,
                             std::make_index_sequence<kTileK>{});
  }
  c_tiles.store_masked(acc, at.row, at.col);
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
