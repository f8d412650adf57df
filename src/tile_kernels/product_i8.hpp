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

/// The symmetric residues modulo p of INT32 elements, as num::symmetric_residue(), without a division an element.
/// @range  p in 2..256
/// @exact  M = floor((2^32 - 1) / p) < 2^31, q = floor(x M / 2^32): r = x - p q lies in [-p/2, 3p/2), so that one
///         subtraction of p is enough (proof: engines/cpu_simd/symmetric_residue.hpp)
template <class Tile>
__tile__ Tile symmetric_residues(Tile x, int p) {
  using Unsigned = ct::tile_with_element_t<Tile, std::uint32_t>;
  const auto multiplier = static_cast<std::int32_t>(0xFFFFFFFFU / static_cast<std::uint32_t>(p));
  // mulhi is the unsigned one. x >> 31 is -1 for negative numbers, else 0.
  const auto quotient = ct::mulhi(x, multiplier) - ((x >> 31) & multiplier);
  // The difference is small, the product alone may leave INT32: modulo 2^32.
  const Unsigned product = ct::element_bitcast<std::uint32_t>(quotient) * static_cast<std::uint32_t>(p);
  const Tile r = ct::element_bitcast<std::int32_t>(Unsigned(ct::element_bitcast<std::uint32_t>(x) - product));
  return r - ((((p + 1) / 2 - 1 - r) >> 31) & p);
}

/// @shape  as product::ProductDesc; moduli: [num_planes] (kReduce, kReduceAdd). Result: int32_t for kStoreAcc, else int8_t.
///         grid: (ceil(n / kTileN) * ceil(m / kTileM), 1, num_planes)
/// @range  as product::ProductDesc; on tensor cores every |sum| < 2^31, for they may saturate: with modulus 256 k < kBlockMaxI8.
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
