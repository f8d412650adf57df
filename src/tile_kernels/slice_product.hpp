// SPDX-License-Identifier: MIT
// Scheme ozaki1 with floating slices: all products of pairs of slices in one kernel, C = sum over p + q < depth of
// 2^(a_p + b_q) A_p B_q, each sum of k_block products exact in the tensor core's FP32 accumulator, then scaled and added in FP64.
#pragma once

#include <cstdint>

#include "tile_kernels/gemm.hpp"

namespace kizami::tile_kernels {
inline namespace KIZAMI_TILE_BACKEND {

/// @shape  A: num_a planes, m x k, row-major; B: num_b planes, k x n, row-major; plane p at p * plane_stride. scales: num_a x num_b,
///         row-major, 2^(a_p + b_q). C: m x n, row-major. grid: (ceil(m / kTileM) * ceil(n / kTileN), 1, 1)
/// @range  slices of at most bits_a and bits_b bits with bits_a + bits_b + ceil(log2 k_block) <= 24; steps_per_block = k_block / kTileK >= 1
/// @exact  each sum of k_block products.   @bound FP64: (number of such sums) u sum |2^(a_p + b_q) A_p B_q|
template <class Slice, int kTileM, int kTileN, int kTileK, bool kAligned>
__tile__ void slice_product_block(const Slice* A, std::uint32_t a_plane_stride, int a_stride, const Slice* B,
                                  std::uint32_t b_plane_stride, int b_stride, const double* scales, double* C,
                                  int c_stride, int num_a, int num_b, int depth, int m, int n, int k,
                                  int steps_per_block, int group) {
  const TilePosition at =
      swizzle_2d(ct::ceildiv(m, kTileM), ct::ceildiv(n, kTileN), group, static_cast<int>(ct::bid().x));
  const int num_steps = ct::ceildiv(k, kTileK);
  const int num_blocks = ct::ceildiv(num_steps, steps_per_block);
  const auto a_tiles =
      plane_tiles<Order::kRowMajor, kAligned, kTileM, kTileK>(A, num_a, m, k, a_plane_stride, a_stride);
  const auto b_tiles =
      plane_tiles<Order::kRowMajor, kAligned, kTileK, kTileN>(B, num_b, k, n, b_plane_stride, b_stride);
  auto sum = ct::zeros<ct::tile<double, ct::shape<kTileM, kTileN>>>();
  // Loops around loads and mma are loops over an irange: of other loops some never ended on a device (docs/tile/kernels.md).
  for (const int p : ct::irange(0, num_a)) {
    const int num_partners = num_b < depth - p ? num_b : depth - p;  // the others contribute too little
    for (const int q : ct::irange(0, num_partners)) {
      const double scale = scales[p * num_b + q];
      for (const int block : ct::irange(0, num_blocks)) {
        const int first = block * steps_per_block;
        const int last = num_steps - first < steps_per_block ? num_steps : first + steps_per_block;
        auto exact = ct::zeros<ct::tile<float, ct::shape<kTileM, kTileN>>>();
        for (const int l : ct::irange(first, last)) {
          exact = ct::mma(load_plane_tile(a_tiles, p, at.row, l), load_plane_tile(b_tiles, q, l, at.col), exact);
        }
        sum = sum + ct::element_cast<double>(exact) * scale;
      }
    }
  }
  matrix_tiles<Order::kRowMajor, kTileM, kTileN>(matrix_base<kAligned>(C), m, n, matrix_stride<kAligned>(c_stride))
      .store_masked(sum, at.row, at.col);
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
