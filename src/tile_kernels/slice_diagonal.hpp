// SPDX-License-Identifier: MIT
// Scheme ozaki1 with floating slices: the products of one diagonal of pairs of slices, p + q = d, which all count the
// same unit, as one exact sum: S = scale sum over p of A_p B_(d-p). One launch a diagonal (num::slice_diagonal); C is
// their sum in FP64. Each step along k is an exact sum in the tensor core's FP32 accumulator, and is added to a sum of
// two FP32 numbers:
//   x = mma(a, b, 0);   t = high + x;   low = low + (x - (t - high));   high = t
// high starts at 1.5 2^e, so that its additions round to multiples of 2^(e - 23) and nothing else rounds. Four FP32
// additions an element and step; a sum in FP64 (slice_product.hpp) takes a conversion and a fused multiply-add, and
// rounds (tile/docs/kernels.md).
#pragma once

#include <cstdint>
#include <utility>

#include "tile_kernels/slice_tiles.hpp"

namespace kizami::tile_kernels {
inline namespace KIZAMI_TILE_BACKEND {

/// high counts 2^kHighBits units of a product of slices.
inline constexpr int kHighBits = 12;

/// Where high starts: 1.5 2^e, for slices of kBits bits.
template <int kBits>
__tile__ constexpr float high_origin() {
  float origin = 1.5F;
  for (int i = 0; i < 23 + kHighBits; ++i) origin *= 2;
  for (int i = 0; i < 2 * kBits; ++i) origin /= 2;
  return origin;
}

/// @shape  A: planes, m x k, row-major; B: planes, k x n, row-major; plane p at p * plane_stride. Pairs (p, diagonal -
///         p) with p = first .. first + num_pairs - 1. S: m x n, row-major. grid: (ceil(m / kTileM) * ceil(n / kTileN),
///         1, 1)
/// @range  slices: multiples of 2^-kBits of magnitude at most 1, kTileK kParts 2^(2 kBits) <= 2^24. num_pairs k <=
///         2^(34 - 2 kBits), so that high stays between 2^e and 2^(e + 1), and num_pairs ceil(k / (kTileK kParts)) <=
///         2^13, so that low is exact. ceil(k / kTileK) is a multiple of kParts: no tile lies wholly outside. kAligned:
///         addresses of 16 bytes, strides of 16 elements, n even
/// @exact  the sum of the diagonal, of at most 35 bits; scale is a power of two
template <class Slice, int kBits, int kTileM, int kTileN, int kTileK, bool kAligned, int kParts = 1>
__tile__ void slice_diagonal_block(const Slice* A, std::uint32_t a_plane_stride, int a_stride, const Slice* B,
                                   std::uint32_t b_plane_stride, int b_stride, double scale, double* S, int s_stride,
                                   int diagonal, int first, int num_pairs, int m, int n, int k, int group) {
  static_assert((std::int64_t{kTileK} * kParts << 2 * kBits) <= 1 << 24);
  using Sum = ct::tile<float, ct::shape<kTileM, kTileN>>;
  constexpr float kOrigin = high_origin<kBits>();
  const TilePosition at =
      swizzle_2d(ct::ceildiv(m, kTileM), ct::ceildiv(n, kTileN), group, static_cast<int>(ct::bid().x));
  const auto a_tiles =
      plane_tiles<Order::kRowMajor, kAligned, kTileM, kTileK>(A, first + num_pairs, m, k, a_plane_stride, a_stride);
  const auto b_tiles =
      plane_tiles<Order::kRowMajor, kAligned, kTileK, kTileN>(B, diagonal - first + 1, k, n, b_plane_stride, b_stride);
  const int num_blocks = ct::ceildiv(k, kTileK * kParts);
  auto high = ct::full<Sum>(kOrigin);
  auto low = ct::zeros<Sum>();
  // One loop over pairs and blocks of k: of nested loops around loads and mma some never ended on a device
  // (tile/docs/kernels.md).
  for (const int step : ct::irange(0, num_pairs * num_blocks)) {
    const int p = first + step / num_blocks;
    const int l = step % num_blocks * kParts;
    const auto x =
        exact_product<Sum>(a_tiles, p, at.row, b_tiles, diagonal - p, at.col, l, std::make_index_sequence<kParts>{});
    const auto sum = high + x;
    low = low + (x - (sum - high));
    high = sum;
  }
  const auto value = (ct::element_cast<double>(high - kOrigin) + ct::element_cast<double>(low)) * scale;
  matrix_tiles<Order::kRowMajor, kTileM, kTileN>(matrix_base<kAligned>(S), m, n, matrix_stride<kAligned>(s_stride))
      .store_masked(value, at.row, at.col);
}

/// C = C + S, a tile a block.
/// @shape  S, C: m x n, row-major. grid: (ceil(m / kTileM) * ceil(n / kTileN), 1, 1)
/// @range  kAligned: addresses of 16 bytes, strides of 16 elements, n even
template <int kTileM, int kTileN, bool kAligned>
__tile__ void add_block(const double* S, int s_stride, double* C, int c_stride, int m, int n) {
  const int num_cols = ct::ceildiv(n, kTileN);
  const int i = static_cast<int>(ct::bid().x) / num_cols;
  const int j = static_cast<int>(ct::bid().x) % num_cols;
  const int extent = matrix_extent<kAligned, double>(n);
  const auto s_tiles = matrix_tiles<Order::kRowMajor, kTileM, kTileN>(matrix_base<kAligned>(S), m, extent,
                                                                      matrix_stride<kAligned>(s_stride));
  const auto c_tiles = matrix_tiles<Order::kRowMajor, kTileM, kTileN>(matrix_base<kAligned>(C), m, extent,
                                                                      matrix_stride<kAligned>(c_stride));
  c_tiles.store_masked(c_tiles.load_masked(i, j) + s_tiles.load_masked(i, j), i, j);
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
