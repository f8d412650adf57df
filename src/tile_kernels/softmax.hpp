// SPDX-License-Identifier: MIT
// Row softmax by tiles: y_ij = exp(x_ij - max_i) / sum_j exp(x_ij - max_i). A block takes kTileRows rows and passes
// over them three times, kTileCols columns at a time: maximum, sum, quotient. Padding of -Inf is neutral in each.
#pragma once

#include "tile_kernels/matrix_view.hpp"

namespace kizami::tile_kernels {
inline namespace KIZAMI_TILE_BACKEND {

/// @shape  x, y: rows x cols, row-major; grid: (ceil(rows / kTileRows), 1, 1).   @alias x == y is allowed
/// @range  rows, cols >= 1; a row with NaN or +Inf, or of -Inf alone, becomes NaN
/// @bound  |y - exact| <= exact (|x_ij - max_i| + max_l |x_il - max_i| + 2 e + cols + 2) u to first order, e the error of exp in units of u
template <int kTileRows, int kTileCols, bool kAligned>
__tile__ void softmax_rows_block(const float* x, int x_stride, float* y, int y_stride, int rows, int cols) {
  using namespace ct::literals;
  using Column = ct::tile<float, ct::shape<kTileRows, 1>>;
  const int i = static_cast<int>(ct::bid().x);
  const auto in = matrix_tiles<Order::kRowMajor, kTileRows, kTileCols>(matrix_base<kAligned>(x), rows, cols,
                                                                       matrix_stride<kAligned>(x_stride));
  // Never aligned: see matrix_base().
  const auto out = matrix_tiles<Order::kRowMajor, kTileRows, kTileCols>(y, rows, cols, y_stride);
  const int num_tiles = ct::ceildiv(cols, kTileCols);
  auto highest = ct::full<Column>(-INFINITY);
  for (const int j : ct::irange(0, num_tiles)) {
    highest = ct::max(
        highest, ct::reduce_max(in.load_masked(ct::view_padding_negative_inf_t{}, i, j), 1_ic, ct::propagate_nan_t{}),
        ct::propagate_nan_t{});
  }
  auto total = ct::zeros<Column>();
  for (const int j : ct::irange(0, num_tiles)) {
    const auto tile = in.load_masked(ct::view_padding_negative_inf_t{}, i, j);
    total = total + ct::sum(ct::exp(tile - highest), 1_ic);
  }
  for (const int j : ct::irange(0, num_tiles)) {
    const auto tile = in.load_masked(ct::view_padding_negative_inf_t{}, i, j);
    out.store_masked(ct::exp(tile - highest) / total, i, j);
  }
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
