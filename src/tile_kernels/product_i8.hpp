// SPDX-License-Identifier: MIT
// The product of planes of residues, as product::ProductDesc describes it: C_l = A_l B_l^T in INT32, then an epilogue. C is
// column-major, so tiles are made of its transpose: (n x k) of B times (k x m) of A, k contiguous in both, as TMA and the INT8
// tensor cores want it (docs/tile/sm_90.md).
#pragma once

#include <cstdint>
#include <type_traits>

#include "tile_kernels/gemm.hpp"

namespace kizami::tile_kernels {

/// The epilogues of product::Epilogue that a tile kernel has. (That header is not for the compiler of tile kernels.)
enum class PlaneEpilogue : std::uint8_t { kStoreAcc, kReduce, kReduceAdd };

inline namespace KIZAMI_TILE_BACKEND {

/// The symmetric residues modulo p of INT32 elements, as num::symmetric_residue(), without a division an element: the steps of
/// num::reduce_i32 with the scale 2^s = 2^(30 + b) for 2^(b-1) < p <= 2^b, so that M = round(2^s / p) < 2^31.
/// @range  p in 5..256
/// @exact  |x M / 2^s - x / p| <= |x| 2^-(s+1) <= 2^-b, so q = floor(x/p + 1/2 + d) with |d| <= 2^-b, and r = x - p q lies within
///         p/2 + 1 of zero: one correction is enough
template <class Tile>
__tile__ Tile symmetric_residues(Tile x, int p) {
  using Unsigned = ct::tile_with_element_t<Tile, std::uint32_t>;
  int bits = 3;
  while ((1 << bits) < p) ++bits;
  const auto multiplier = static_cast<std::int32_t>(((std::int64_t{1} << (30 + bits)) + p / 2) / p);
  // mulhi is the unsigned one.
  const auto high = ct::mulhi(x, multiplier) - ct::select(x < 0, ct::full<Tile>(multiplier), ct::full<Tile>(0));
  const auto quotient = (high + (1 << (bits - 3))) >> (bits - 2);
  // The difference is small, the product alone may leave INT32: modulo 2^32.
  const Unsigned product = ct::element_bitcast<std::uint32_t>(quotient) * static_cast<std::uint32_t>(p);
  const Tile r = ct::element_bitcast<std::int32_t>(Unsigned(ct::element_bitcast<std::uint32_t>(x) - product));
  const Tile raised = ct::select(r < -(p / 2), r + p, r);
  return ct::select(raised > (p + 1) / 2 - 1, raised - p, raised);
}

/// @shape  as product::ProductDesc; moduli: [num_planes] (kReduce, kReduceAdd). Result: int32_t for kStoreAcc, else int8_t.
///         grid: (ceil(n / kTileN) * ceil(m / kTileM), 1, num_planes)
/// @range  as product::ProductDesc, and every |sum| < 2^31: tensor cores may saturate, so with modulus 256 k < kBlockMaxI8; moduli 5..256.
///         kAlignedC: c is aligned to 16 bytes, its strides and m are multiples of 16
/// @exact  integers
template <PlaneEpilogue kEpilogue, class Result, int kTileN, int kTileM, int kTileK, bool kAlignedC>
__tile__ void product_i8_block(const std::int8_t* a, std::uint32_t a_plane_stride, int a_row_stride,
                               const std::int8_t* b, std::uint32_t b_plane_stride, int b_row_stride, Result* c,
                               std::uint32_t c_plane_stride, int c_col_stride, const std::int16_t* moduli,
                               int num_planes, int m, int n, int k, int group) {
  const auto block = ct::bid();
  const auto plane = static_cast<int>(block.z);
  const TilePosition at = swizzle_2d(ct::ceildiv(n, kTileN), ct::ceildiv(m, kTileM), group, static_cast<int>(block.x));
  const auto b_tiles =
      plane_tiles<Order::kRowMajor, true, kTileN, kTileK>(b, num_planes, n, k, b_plane_stride, b_row_stride);
  const auto a_tiles =
      plane_tiles<Order::kColMajor, true, kTileK, kTileM>(a, num_planes, k, m, a_plane_stride, a_row_stride);
  const auto c_tiles =
      plane_tiles<Order::kRowMajor, kAlignedC, kTileN, kTileM>(c, num_planes, n, m, c_plane_stride, c_col_stride);
  auto acc = ct::zeros<ct::tile<std::int32_t, ct::shape<kTileN, kTileM>>>();
  for (const int l : ct::irange(0, ct::ceildiv(k, kTileK))) {
    acc = ct::mma(load_plane_tile(b_tiles, plane, at.row, l), load_plane_tile(a_tiles, plane, l, at.col), acc);
  }
  if constexpr (kEpilogue == PlaneEpilogue::kStoreAcc) {
    store_plane_tile(c_tiles, acc, plane, at.row, at.col);
  } else {
    const int p = moduli[plane];
    acc = symmetric_residues(acc, p);
    if constexpr (kEpilogue == PlaneEpilogue::kReduceAdd) {
      const auto before = ct::element_cast<std::int32_t>(load_plane_tile(c_tiles, plane, at.row, at.col));
      acc = symmetric_residues(decltype(acc)(acc + before), p);
    }
    store_plane_tile(c_tiles, ct::element_cast<std::int8_t>(acc), plane, at.row, at.col);
  }
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
