// SPDX-License-Identifier: MIT
// Scheme ozaki1 with floating slices as a report on cuTile prints its kernel: all products of pairs of slices in one
// kernel, each of them one FP32 sum over all of k, then scaled and added in FP64:
//   for p, q with p + q < depth: x = 0; for l: x = mma(A_p(:, l), B_q(l, :), x); C = C + x 2^(a_p + b_q)
// A study repeats its figures with this (lab/study/ozaki_report_measure.cpp); slice_product.hpp sums as much of k as is
// exact.
#pragma once

#include <cstdint>

#include "tile_kernels/slice_product.hpp"

namespace kizami::tile_kernels {
inline namespace KIZAMI_TILE_BACKEND {

/// @shape  as slice_product_block()
/// @range  1 <= num_a <= kMaxSlices, num_b, depth >= 1. kAligned: addresses of 16 bytes, strides of 16 elements, n even
/// @bound  that of the backend's mma for k products of a pair, then FP64; exact sums while all partial sums of a pair
///         are whole numbers of at most 24 bits of the smallest unit of its products
template <class Slice, int kTileM, int kTileN, int kTileK, bool kAligned>
__tile__ void slice_product_whole_k_block(const Slice* A, std::uint32_t a_plane_stride, int a_stride, const Slice* B,
                                          std::uint32_t b_plane_stride, int b_stride, const double* scales, double* C,
                                          int c_stride, int num_a, int num_b, int depth, int m, int n, int k,
                                          int group) {
  const TilePosition at =
      swizzle_2d(ct::ceildiv(m, kTileM), ct::ceildiv(n, kTileN), group, static_cast<int>(ct::bid().x));
  const auto a_tiles =
      plane_tiles<Order::kRowMajor, kAligned, kTileM, kTileK>(A, num_a, m, k, a_plane_stride, a_stride);
  const auto b_tiles =
      plane_tiles<Order::kRowMajor, kAligned, kTileK, kTileN>(B, num_b, k, n, b_plane_stride, b_stride);
  const int num_tiles = ct::ceildiv(k, kTileK);
  auto sum = ct::zeros<ct::tile<double, ct::shape<kTileM, kTileN>>>();
  for (const int p : ct::irange(0, num_a)) {
    for (const int q : ct::irange(0, num_partners(p, num_b, depth))) {
      auto x = ct::zeros<ct::tile<float, ct::shape<kTileM, kTileN>>>();
      for (const int l : ct::irange(0, num_tiles))
        x = ct::mma(load_plane_tile(a_tiles, p, at.row, l), load_plane_tile(b_tiles, q, l, at.col), x);
      sum = sum + ct::element_cast<double>(x) * scales[p * num_b + q];
    }
  }
  matrix_tiles<Order::kRowMajor, kTileM, kTileN>(matrix_base<kAligned>(C), m, n, matrix_stride<kAligned>(c_stride))
      .store_masked(sum, at.row, at.col);
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
