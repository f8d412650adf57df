// SPDX-License-Identifier: MIT
// The product of planes of residues, as product::ProductDesc describes it: C_l = A_l B_l^T in INT32, then an epilogue.
// C is column-major, so tiles are made of its transpose: (n x k) of B times (k x m) of A, k contiguous in both, as TMA
// and the INT8 tensor cores want it (tile/docs/sm_90.md).
#pragma once

#include <cstdint>
#include <type_traits>

#include "tile_kernels/gemm.hpp"

namespace kizami::tile_kernels {

/// The epilogues of product::Epilogue that a tile kernel has. (That header is not for the compiler of tile kernels.)
/// kStoreAdd: C_l (int32) = C_l + acc_l modulo 2^32, a further block of k of a sum that tensor cores would saturate.
enum class PlaneEpilogue : std::uint8_t { kStoreAcc, kStoreAdd, kReduce, kReduceAdd };

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

/// The moduli of 64 planes by value, each less one, eight in a word: kernels take numbers and pointers, and an array
/// would have to be in device memory before.
struct PackedModuli {
  std::uint64_t word0, word1, word2, word3, word4, word5, word6, word7;

  __tile__ int operator[](int plane) const {
    const std::uint64_t word = plane < 32 ? (plane < 16 ? (plane < 8 ? word0 : word1) : (plane < 24 ? word2 : word3))
                                          : (plane < 48 ? (plane < 40 ? word4 : word5) : (plane < 56 ? word6 : word7));
    return static_cast<int>((word >> (8 * (plane % 8))) & 255) + 1;
  }
};

/// @shape  as product::ProductDesc; moduli[plane] of each plane (kReduce, kReduceAdd): a pointer, or PackedModuli.
///         Result: int32_t for kStoreAcc and kStoreAdd, else int8_t. grid: (ceil(n / kTileN) * ceil(m / kTileM), 1,
///         num_planes). Of planes from *num_made on nothing is stored; null: all are made. Plane 0 here is plane
///         first_plane of moduli and of *num_made
/// @range  as product::ProductDesc; on tensor cores every sum < 2^31, for they saturate: |products| 2^14 at most, k <
///         kBlockMaxI8. kAlignedC: c is aligned to 16 bytes, its strides are multiples of 16, and m is one of 16 bytes
/// @exact  integers
template <PlaneEpilogue kEpilogue, class Result, int kTileN, int kTileM, int kTileK, bool kAlignedC,
          class Moduli = const std::int16_t*>
__tile__ void product_i8_block(const std::int8_t* a, std::uint32_t a_plane_stride, int a_row_stride,
                               const std::int8_t* b, std::uint32_t b_plane_stride, int b_row_stride, Result* c,
                               std::uint32_t c_plane_stride, int c_col_stride, Moduli moduli, int first_plane,
                               const std::int32_t* num_made, int num_planes, int m, int n, int k, int group) {
  const auto block = ct::bid();
  const auto plane = static_cast<int>(block.z);
  int made = first_plane + num_planes;
  if (num_made != nullptr) made = *num_made;
  const bool is_made = first_plane + plane < made;
  const TilePosition at = swizzle_2d(ct::ceildiv(n, kTileN), ct::ceildiv(m, kTileM), group, static_cast<int>(block.x));
  const auto b_tiles =
      plane_tiles<Order::kRowMajor, true, kTileN, kTileK>(b, num_planes, n, k, b_plane_stride, b_row_stride);
  const auto a_tiles =
      plane_tiles<Order::kColMajor, true, kTileK, kTileM>(a, num_planes, k, m, a_plane_stride, a_row_stride);
  const auto c_tiles =
      plane_tiles<Order::kRowMajor, kAlignedC, kTileN, kTileM>(c, num_planes, n, m, c_plane_stride, c_col_stride);
  auto acc = ct::zeros<ct::tile<std::int32_t, ct::shape<kTileN, kTileM>>>();
  const int num_steps = is_made ? ct::ceildiv(k, kTileK) : 0;
  for (const int l : ct::irange(0, num_steps)) {
    acc = ct::mma(load_plane_tile(b_tiles, plane, at.row, l), load_plane_tile(a_tiles, plane, l, at.col), acc);
  }
  const int stored = is_made ? plane : num_planes;  // beyond the planes: masked
  if constexpr (kEpilogue == PlaneEpilogue::kStoreAcc) {
    store_plane_tile(c_tiles, acc, stored, at.row, at.col);
  } else if constexpr (kEpilogue == PlaneEpilogue::kStoreAdd) {
    const auto before = ct::element_bitcast<std::uint32_t>(load_plane_tile(c_tiles, plane, at.row, at.col));
    const auto sum = before + ct::element_bitcast<std::uint32_t>(acc);
    store_plane_tile(c_tiles, ct::element_bitcast<std::int32_t>(sum), stored, at.row, at.col);
  } else {
    const int p = moduli[first_plane + plane];
    acc = symmetric_residues(acc, p);
    if constexpr (kEpilogue == PlaneEpilogue::kReduceAdd) {
      const auto before = ct::element_cast<std::int32_t>(load_plane_tile(c_tiles, plane, at.row, at.col));
      acc = symmetric_residues(decltype(acc)(acc + before), p);
    }
    store_plane_tile(c_tiles, ct::element_cast<std::int8_t>(acc), stored, at.row, at.col);
  }
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
