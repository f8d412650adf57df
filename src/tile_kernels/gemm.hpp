// SPDX-License-Identifier: MIT
// C = A B by tiles: each block makes one tile of C, in steps of kTileK along k, and takes its place in the order of
// swizzle_2d.
//   acc = 0; for l in 0 .. ceil(k / kTileK) - 1: acc = mma(A_il, B_lj, acc); C_ij = cast(acc)
// Tiles at the edges are padded with zeros, which add nothing, and stored masked. What mma rounds, and in which order,
// is the backend's: tile/docs/sm_90.md. Contiguous C is row-major; a column-major C is the row-major C^T = B^T A^T.
#pragma once

#include "tile_kernels/matrix_view.hpp"

namespace kizami::tile_kernels {

/// The types of a product: elements in memory, factors of mma (as which elements are loaded, and cast to), accumulator,
/// elements of C.
template <class In, class Factor, class Acc, class Out>
struct GemmTypes {
  using Element = In;
  using MmaFactor = Factor;
  using Accumulator = Acc;
  using Result = Out;
};

inline namespace KIZAMI_TILE_BACKEND {

/// One tile of A or B. @range kLatency: 0, the compiler's choice, or the hint's 1..10
template <int kLatency, bool kAllowTma, class Tile, class View>
__tile__ Tile load_operand(const View& view, int row, int col) {
  Tile tile;
  if constexpr (kLatency != 0 && kAllowTma) {
    [[cutile::hint(900, latency = kLatency)]] tile = view.load_masked(row, col);
  } else if constexpr (kAllowTma) {
    tile = view.load_masked(row, col);
  } else {
    [[cutile::hint(900, allow_tma = false)]] tile = view.load_masked(row, col);
  }
  return tile;
}

/// The tile of C that belongs to this block.
/// @shape  A: m x k, B: k x n, in the orders kA and kB; C: m x n, row-major. grid: (ceil(m / kTileM) * ceil(n / kTileN), 1, 1)
/// @range  m, n >= 1, k >= 0; strides at least the contiguous extent; group >= 1. kAligned: addresses multiples of 16
///         bytes, strides of 16 elements, n of 16 bytes of C
/// @bound  that of the backend's mma for k products; INT8: exact while every partial sum fits INT32
template <class Types, int kTileM, int kTileN, int kTileK, Order kA, Order kB, bool kAligned, int kLatency = 0,
          bool kAllowTma = true>
__tile__ void gemm_block(const typename Types::Element* A, int a_stride, const typename Types::Element* B, int b_stride,
                         typename Types::Result* C, int c_stride, int m, int n, int k, int group) {
  using Element = typename Types::Element;
  using Factor = typename Types::MmaFactor;
  const TilePosition at =
      swizzle_2d(ct::ceildiv(m, kTileM), ct::ceildiv(n, kTileN), group, static_cast<int>(ct::bid().x));
  const auto a_tiles =
      matrix_tiles<kA, kTileM, kTileK>(matrix_base<kAligned>(A), m, k, matrix_stride<kAligned>(a_stride));
  const auto b_tiles =
      matrix_tiles<kB, kTileK, kTileN>(matrix_base<kAligned>(B), k, n, matrix_stride<kAligned>(b_stride));
  const auto c_tiles =
      matrix_tiles<Order::kRowMajor, kTileM, kTileN>(matrix_base<kAligned>(C), m, n, matrix_stride<kAligned>(c_stride));
  auto acc = ct::zeros<ct::tile<typename Types::Accumulator, ct::shape<kTileM, kTileN>>>();
  for (const int l : ct::irange(0, ct::ceildiv(k, kTileK))) {
    const auto a = load_operand<kLatency, kAllowTma, ct::tile<Element, ct::shape<kTileM, kTileK>>>(a_tiles, at.row, l);
    const auto b = load_operand<kLatency, kAllowTma, ct::tile<Element, ct::shape<kTileK, kTileN>>>(b_tiles, l, at.col);
    acc = ct::mma(ct::element_cast<Factor>(a), ct::element_cast<Factor>(b), acc);
  }
  c_tiles.store_masked(ct::element_cast<typename Types::Result>(acc), at.row, at.col);
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
