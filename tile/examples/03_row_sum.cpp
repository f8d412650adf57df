// SPDX-License-Identifier: MIT
// One idea: reductions.  sums[i] = x[i][0] + x[i][1] + ...
// A reduction keeps its dimension, with extent 1: the sum of an 8 x 128 tile along dimension 1 is 8 x 1. The order of
// the additions is open; integers, and small integers in FP32 as here, have the same sum in any order.
// A long row is a loop over its tiles: they are added element by element, and reduced once at the end.
#include <cstdio>

#include "kizami/tile.hpp"
#include "support.hpp"

namespace ct = cuda::tiles;
using namespace ct::literals;

/// @shape x: rows x cols, row-major; sums: [rows]; grid: ceil(rows / 8)
__tile_global__ void row_sums(const float* x, float* sums, int rows, int cols) {
  const auto i = ct::bid().x;
  const ct::partition_view x_tiles{ct::tensor_span{x, ct::extents{rows, cols}}, ct::shape<8, 128>{}};
  auto total = ct::zeros<ct::tile<float, ct::shape<8, 128>>>();
  for (const int j : ct::irange(0, ct::ceildiv(cols, 128))) total = total + x_tiles.load_masked(i, j);
  const ct::partition_view sum_tiles{ct::tensor_span{sums, ct::extents{rows, 1_ic}}, ct::shape<8, 1>{}};
  sum_tiles.store_masked(ct::sum(total, 1_ic), i, 0);
}

int main() {
  const int rows = 21, cols = 500;
  example::Array<float> x(rows * cols), sums(rows);
  for (int i = 0; i < rows * cols; ++i) x[i] = static_cast<float>(i % 101 - 50);
  if (!example::ran(KIZAMI_TILE_LAUNCH(row_sums, example::tiles(rows, 8), nullptr, x.data(), sums.data(), rows, cols)))
    return 1;

  example::Checks checks;
  for (int i = 0; i < rows; ++i) {
    float expected = 0;
    for (int j = 0; j < cols; ++j) expected += x[i * cols + j];
    checks.expect(sums[i] == expected);
  }
  std::printf("row 0 sums to %g, row 20 to %g\n", sums[0], sums[20]);
  return checks.result();
}
