// SPDX-License-Identifier: MIT
// Layer norm of rows by tiles: y_ij = (x_ij - mean_i) / sqrt(variance_i + epsilon) * weight_j + bias_j, the variance
// from a second pass over the differences to the mean, so that it does not cancel.
#pragma once

#include "tile_kernels/matrix_view.hpp"

namespace kizami::tile_kernels {
inline namespace KIZAMI_TILE_BACKEND {

/// @shape  x, y: rows x cols, row-major; weight, bias: [cols]; grid: (ceil(rows / kTileRows), 1, 1).   @alias x == y is allowed
/// @range  rows, cols >= 1, epsilon >= 0
template <int kTileRows, int kTileCols, bool kAligned>
__tile__ void layer_norm_rows_block(const float* x, int x_stride, const float* weight, const float* bias, float* y,
                                    int y_stride, int rows, int cols, float epsilon) {
  using namespace ct::literals;
  using Tile = ct::tile<float, ct::shape<kTileRows, kTileCols>>;
  using Column = ct::tile<float, ct::shape<kTileRows, 1>>;
  const int i = static_cast<int>(ct::bid().x);
  const auto in = matrix_tiles<Order::kRowMajor, kTileRows, kTileCols>(matrix_base<kAligned>(x), rows, cols,
                                                                       matrix_stride<kAligned>(x_stride));
  const auto out = matrix_tiles<Order::kRowMajor, kTileRows, kTileCols>(matrix_base<kAligned>(y), rows, cols,
                                                                        matrix_stride<kAligned>(y_stride));
  const ct::partition_view weights{ct::tensor_span{weight, ct::extents{cols}}, ct::shape<kTileCols>{}};
  const ct::partition_view biases{ct::tensor_span{bias, ct::extents{cols}}, ct::shape<kTileCols>{}};
  const int num_tiles = ct::ceildiv(cols, kTileCols);
  const auto count = ct::full<Column>(static_cast<float>(cols));
  auto total = ct::zeros<Column>();
  for (const int j : ct::irange(0, num_tiles)) total = total + ct::sum(in.load_masked(i, j), 1_ic);
  const auto mean = total / count;
  auto squares = ct::zeros<Column>();
  const auto columns = ct::iota<ct::tile<int, ct::shape<1, kTileCols>>>();
  for (const int j : ct::irange(0, num_tiles)) {
    const auto difference = in.load_masked(i, j) - mean;
    const auto is_inside = columns < cols - j * kTileCols;  // padding is no zero once the mean is taken away
    squares = squares + ct::sum(ct::select(is_inside, difference * difference, ct::zeros<Tile>()), 1_ic);
  }
  const auto deviation = ct::sqrt(squares / count + epsilon);
  for (const int j : ct::irange(0, num_tiles)) {
    out.store_masked((in.load_masked(i, j) - mean) / deviation * weights.load_masked(j) + biases.load_masked(j), i, j);
  }
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
