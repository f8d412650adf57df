// SPDX-License-Identifier: MIT
// One idea: broadcasting, and padding that an operation ignores.  y_ij = exp(x_ij - max_j x_ij) / sum_j exp(x_ij -
// max_j x_ij) A row is one tile, padded with -inf: it is never the maximum, and exp(-inf) = 0 adds nothing to the sum.
// The maximum and the sum are 4 x 1 tiles, which broadcast over the 4 x 128 tile.
// Checked without knowing how accurate exp is, with u = 2^-24 and n elements a row:
//   the y of a row sum to 1 within 2 (n + 1) u, from the n - 1 additions and the division;
//   adding an integer to a row of integers changes no bit, for the differences from the maximum are the same.
#include <cmath>
#include <cstdio>
#include <limits>

#include "kizami/tile.hpp"
#include "support.hpp"

namespace ct = cuda::tiles;
using namespace ct::literals;

constexpr int kRows = 4;
constexpr int kCols = 128;

/// @shape x, y: rows x cols, row-major; cols <= 128; grid: ceil(rows / 4)
__tile_global__ void softmax(const float* x, float* y, int rows, int cols) {
  const auto i = ct::bid().x;
  const ct::partition_view x_tiles{ct::tensor_span{x, ct::extents{rows, cols}}, ct::shape<kRows, kCols>{}};
  const ct::partition_view y_tiles{ct::tensor_span{y, ct::extents{rows, cols}}, ct::shape<kRows, kCols>{}};
  const auto row = x_tiles.load_masked(ct::view_padding_negative_inf_t{}, i, 0);  // (4, 128)
  const auto largest = ct::reduce_max(row, 1_ic);                                 // (4, 1)
  const auto weight = ct::exp(row - largest);                                     // (4, 128)
  y_tiles.store_masked(weight / ct::sum(weight, 1_ic), i, 0);
}

int main() {
  const int rows = 10, cols = 100;
  example::Array<float> x(rows * cols), y(rows * cols), shifted(rows * cols), y_shifted(rows * cols);
  for (int i = 0; i < rows * cols; ++i) {
    x[i] = static_cast<float>(i * 37 % 23 - 11);
    shifted[i] = x[i] + 1000.0F;  // exp(1011) would overflow
  }
  const unsigned grid = example::tiles(rows, kRows);
  if (!example::ran(KIZAMI_TILE_LAUNCH(softmax, grid, nullptr, x.data(), y.data(), rows, cols)) ||
      !example::ran(KIZAMI_TILE_LAUNCH(softmax, grid, nullptr, shifted.data(), y_shifted.data(), rows, cols)))
    return 1;

  example::Checks checks;
  const double u = std::numeric_limits<float>::epsilon() / 2;
  for (int i = 0; i < rows; ++i) {
    double sum = 0;
    for (int j = 0; j < cols; ++j) {
      sum += static_cast<double>(y[i * cols + j]);
      checks.expect(y[i * cols + j] == y_shifted[i * cols + j]);
      checks.expect(y[i * cols + j] > 0);
    }
    checks.expect(std::fabs(sum - 1) <= 2 * (cols + 1) * u);
  }
  std::printf("softmax of -11 beside 11 is %g, of 11 itself %g\n", static_cast<double>(y[0]),
              static_cast<double>(y[13]));
  return checks.result();
}
