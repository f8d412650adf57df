// SPDX-License-Identifier: MIT
// The product of planes of residues, as product::ProductDesc describes it: C_l = A_l B_l^T in INT32, then an epilogue. C is
// column-major, so tiles are made of its transpose: (n x k) of B times (k x m) of A, k contiguous in both, as TMA and the INT8
// tensor cores want it (docs/tile/sm_90.md).
#pragma once

#include <cstdint>
#include <type_traits>

#include "product/product.hpp"
#include "tile_kernels/gemm.hpp"

namespace kizami::tile_kernels {
inline namespace KIZAMI_TILE_BACKEND {

/// The symmetric residues modulo p of INT32 elements, as num::symmetric_residue(), without a division an element where num::reduce_i32
/// can do without. @range p in 2..256
template <class Tile>
__tile__ Tile symmetric_residues(Tile x, int p) {
  using Unsigned = ct::tile_with_element_t<Tile, std::uint32_t>;
  Tile r;
  if (p > 64 && p != 128) {  // the range of num::reduce_i32, and its steps
    const std::int64_t scale = p > 128 ? std::int64_t{1} << 38 : std::int64_t{1} << 37;
    const auto multiplier = static_cast<std::int32_t>((scale + p / 2) / p);
    const auto high = ct::mulhi(x, multiplier) - ct::select(x < 0, ct::full<Tile>(multiplier), ct::full<Tile>(0));
    const auto quotient = p > 128 ? (high + 32) >> 6 : (high + 16) >> 5;
    // The difference is small, the product alone may leave INT32: modulo 2^32.
    r = ct::element_bitcast<std::int32_t>(
        Unsigned(ct::element_bitcast<std::uint32_t>(x) -
                 ct::element_bitcast<std::uint32_t>(quotient) * static_cast<std::uint32_t>(p)));
  } else {
    r = x % p;
  }
  r = r + ct::select(r < -(p / 2), ct::full<Tile>(p), ct::full<Tile>(0));
  return r - ct::select(r > (p + 1) / 2 - 1, ct::full<Tile>(p), ct::full<Tile>(0));
}

/// @shape  as product::ProductDesc; moduli: [num_products] (kReduce, kReduceAdd). Result: int32_t for kStoreAcc, else int8_t.
///         grid: (ceil(n / kTileN) * ceil(m / kTileM), 1, num_products)
/// @range  as product::ProductDesc, and every |sum| < 2^31: tensor cores may saturate, so with modulus 256 k < kBlockMaxI8.
///         kAlignedC: c is aligned to 16 bytes, its strides are multiples of 16
/// @exact  integers
template <product::Epilogue kEpilogue, class Result, int kTileN, int kTileM, int kTileK, bool kAlignedC>
__tile__ void product_i8_block(const std::int8_t* a, std::int64_t a_plane_stride, int a_row_stride,
                               const std::int8_t* b, std::int64_t b_plane_stride, int b_row_stride, Result* c,
                               std::int64_t c_plane_stride, int c_col_stride, const std::int16_t* moduli, int m, int n,
                               int k, int group) {
  static_assert(kEpilogue != product::Epilogue::kCompare, "tile kernels do not compare");
  const auto block = ct::bid();
  const auto plane = static_cast<std::int64_t>(block.z);
  const TilePosition at = swizzle_2d(ct::ceildiv(n, kTileN), ct::ceildiv(m, kTileM), group, static_cast<int>(block.x));
  const auto b_tiles = matrix_tiles<Order::kRowMajor, kTileN, kTileK>(matrix_base<true>(b + plane * b_plane_stride), n,
                                                                      k, matrix_stride<true>(b_row_stride));
  const auto a_tiles = matrix_tiles<Order::kColMajor, kTileK, kTileM>(matrix_base<true>(a + plane * a_plane_stride), k,
                                                                      m, matrix_stride<true>(a_row_stride));
  const auto c_tiles = matrix_tiles<Order::kRowMajor, kTileN, kTileM>(
      matrix_base<kAlignedC>(c + plane * c_plane_stride), n, m, matrix_stride<kAlignedC>(c_col_stride));
  auto acc = ct::zeros<ct::tile<std::int32_t, ct::shape<kTileN, kTileM>>>();
  for (const int l : ct::irange(0, ct::ceildiv(k, kTileK))) {
    acc = ct::mma(b_tiles.load_masked(at.row, l), a_tiles.load_masked(l, at.col), acc);
  }
  if constexpr (kEpilogue == product::Epilogue::kStoreAcc) {
    c_tiles.store_masked(acc, at.row, at.col);
  } else {
    const int p = moduli[plane];
    acc = symmetric_residues(acc, p);
    if constexpr (kEpilogue == product::Epilogue::kReduceAdd) {
      acc = symmetric_residues(decltype(acc)(acc + ct::element_cast<std::int32_t>(c_tiles.load_masked(at.row, at.col))),
                               p);
    }
    c_tiles.store_masked(ct::element_cast<std::int8_t>(acc), at.row, at.col);
  }
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
