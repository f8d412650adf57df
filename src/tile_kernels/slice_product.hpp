// SPDX-License-Identifier: MIT
// Scheme ozaki1 with floating slices: all products of pairs of slices in one kernel, C = sum over p + q < depth of
// 2^(a_p + b_q) A_p B_q, each sum of k_block products exact in the tensor core's FP32 accumulator, then scaled and
// added in FP64.
#pragma once

#include <cstdint>
#include <utility>

#include "tile_kernels/slice_tiles.hpp"

namespace kizami::tile_kernels {
inline namespace KIZAMI_TILE_BACKEND {

/// The slices of B that slice p of A is multiplied by, 0 .. num_partners - 1; the others contribute too little.
__tile__ inline int num_partners(int p, int num_b, int depth) {
  const int all = num_b < depth - p ? num_b : depth - p;
  return all > 0 ? all : 0;
}

/// Pair number -> (p, q): p ascending, and the partners of each p.
struct SlicePair {
  int p;
  int q;
};
inline constexpr int kMaxSlices = 20;
__tile__ inline SlicePair slice_pair(int pair, int num_b, int depth) {
  int p = 0;
  int first = 0;  // pair number of (p, 0)
  int next = 0;
  for (int i = 0; i < kMaxSlices; ++i) {
    next += num_partners(i, num_b, depth);
    const bool is_later = pair >= next;
    p = is_later ? i + 1 : p;
    first = is_later ? next : first;
  }
  return {p, pair - first};
}

/// The pairs (p, q) of num_a and num_b slices with p + q < depth.
__tile__ inline int num_pairs_of(int num_a, int num_b, int depth) {
  int count = 0;
  for (int p = 0; p < num_a; ++p) count += num_partners(p, num_b, depth);
  return count;
}

/// A tile of the sum of the pairs number first .. end - 1.
template <int kTileK, int kParts, class Sum, class ATiles, class BTiles>
__tile__ Sum sum_of_pairs(const ATiles& a_tiles, const BTiles& b_tiles, const double* scales, TilePosition at,
                          int first, int end, int num_b, int depth, int k) {
  using Exact = ct::tile<float, ct::tile_shape_t<Sum>>;
  const int num_blocks = ct::ceildiv(k, kTileK * kParts);
  auto sum = ct::zeros<Sum>();
  // One loop over pairs and blocks of k: of nested loops around loads and mma some never ended on a device
  // (tile/docs/kernels.md).
  for (const int step : ct::irange(first * num_blocks, end * num_blocks)) {
    const SlicePair pair = slice_pair(step / num_blocks, num_b, depth);
    const int l = step % num_blocks * kParts;
    const auto exact =
        exact_product<Exact>(a_tiles, pair.p, at.row, b_tiles, pair.q, at.col, l, std::make_index_sequence<kParts>{});
    // The product by a power of two is exact, so that one rounding is as good as two instructions.
    sum = ct::fma(ct::element_cast<double>(exact), ct::full<Sum>(scales[pair.p * num_b + pair.q]), sum);
  }
  return sum;
}

/// @shape  A: num_a planes, m x k, row-major; B: num_b planes, k x n, row-major; plane p at p * plane_stride. scales:
///         num_a x num_b, row-major, 2^(a_p + b_q). C: m x n, row-major. grid: (ceil(m / kTileM) * ceil(n / kTileN), 1,
///         1)
/// @range  slices of at most bits_a and bits_b bits with bits_a + bits_b + ceil(log2(kTileK kParts)) <= 24; 1 <= num_a
///         <= kMaxSlices, num_b, depth >= 1; ceil(k / kTileK) a multiple of kParts.
///         kAligned: addresses of 16 bytes, strides of 16 elements, n even
/// @exact  each sum of kTileK kParts products.   @bound FP64: (number of such sums) u sum |2^(a_p + b_q) A_p B_q|
template <class Slice, int kTileM, int kTileN, int kTileK, bool kAligned, int kParts = 1>
__tile__ void slice_product_block(const Slice* A, std::uint32_t a_plane_stride, int a_stride, const Slice* B,
                                  std::uint32_t b_plane_stride, int b_stride, const double* scales, double* C,
                                  int c_stride, int num_a, int num_b, int depth, int m, int n, int k, int group) {
  const TilePosition at =
      swizzle_2d(ct::ceildiv(m, kTileM), ct::ceildiv(n, kTileN), group, static_cast<int>(ct::bid().x));
  const auto a_tiles =
      plane_tiles<Order::kRowMajor, kAligned, kTileM, kTileK>(A, num_a, m, k, a_plane_stride, a_stride);
  const auto b_tiles =
      plane_tiles<Order::kRowMajor, kAligned, kTileK, kTileN>(B, num_b, k, n, b_plane_stride, b_stride);
  const auto sum = sum_of_pairs<kTileK, kParts, ct::tile<double, ct::shape<kTileM, kTileN>>>(
      a_tiles, b_tiles, scales, at, 0, num_pairs_of(num_a, num_b, depth), num_b, depth, k);
  matrix_tiles<Order::kRowMajor, kTileM, kTileN>(matrix_base<kAligned>(C), m, n, matrix_stride<kAligned>(c_stride))
      .store_masked(sum, at.row, at.col);
}

/// As slice_product_block(), but the pairs of a tile are spread over num_parts blocks, which matrices of few tiles need
/// to occupy a device: part i sums the pairs number i N / num_parts up to (i + 1) N / num_parts of all N. The sum of
/// the planes is the product (add_block(), slice_diagonal.hpp).
/// @shape  S: num_parts planes of C. grid: (ceil(m / kTileM) * ceil(n / kTileN), num_parts, 1)
/// @range  num_parts N < 2^31. kAligned: S as C
template <class Slice, int kTileM, int kTileN, int kTileK, bool kAligned, int kParts = 1>
__tile__ void slice_product_part_block(const Slice* A, std::uint32_t a_plane_stride, int a_stride, const Slice* B,
                                       std::uint32_t b_plane_stride, int b_stride, const double* scales, double* S,
                                       std::uint32_t s_plane_stride, int s_stride, int num_parts, int num_a, int num_b,
                                       int depth, int m, int n, int k, int group) {
  const TilePosition at =
      swizzle_2d(ct::ceildiv(m, kTileM), ct::ceildiv(n, kTileN), group, static_cast<int>(ct::bid().x));
  const auto a_tiles =
      plane_tiles<Order::kRowMajor, kAligned, kTileM, kTileK>(A, num_a, m, k, a_plane_stride, a_stride);
  const auto b_tiles =
      plane_tiles<Order::kRowMajor, kAligned, kTileK, kTileN>(B, num_b, k, n, b_plane_stride, b_stride);
  const int num_pairs = num_pairs_of(num_a, num_b, depth);
  const int part = static_cast<int>(ct::bid().y);
  const auto sum = sum_of_pairs<kTileK, kParts, ct::tile<double, ct::shape<kTileM, kTileN>>>(
      a_tiles, b_tiles, scales, at, num_pairs * part / num_parts, num_pairs * (part + 1) / num_parts, num_b, depth, k);
  store_plane_tile(
      plane_tiles<Order::kRowMajor, kAligned, kTileM, kTileN>(S, num_parts, m, n, s_plane_stride, s_stride), sum, part,
      at.row, at.col);
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
