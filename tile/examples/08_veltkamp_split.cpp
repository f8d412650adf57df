// SPDX-License-Identifier: MIT
// One idea: exact arithmetic on tiles.  An FP64 matrix as a sum of BF16 slices, all made in one pass.
// With |x| <= 2^c, rho = 45 and sigma = 0.75 2^(rho + c), in FP64:
//   v = (x + sigma) - sigma    x rounded to a multiple of 2^(c - 8), for that is the unit in the last place of sigma
//   x - v                      exact, and at most 2^(c - 9): the next slice goes on with c - 9
//   v 2^-c                     an integer of at most 2^8, times 2^-8: it fits BF16, whose significand has 8 bits
// So x = sum of 2^(c - 9 s) slice_s + rest, without any rounding, and |rest| <= 2^(c - 9 slices).
// An optimiser that may reassociate or contract would break this; compile with contraction off (tile/docs/guide.md).
#include <cmath>
#include <cstdio>

#include "kizami/tile.hpp"
#include "support.hpp"

namespace ct = cuda::tiles;

constexpr int kTile = 32;

/// @shape x: rows x cols; slices: num_slices x rows x cols; sigmas, inverse_scales: [num_slices]; row-major;
///        grid: ceil(rows / 32) x ceil(cols / 32)
__tile_global__ void veltkamp_split(const double* x, __nv_bfloat16* slices, const double* sigmas,
                                    const double* inverse_scales, int num_slices, int rows, int cols) {
  const auto [i, j, unused] = ct::bid();
  const ct::partition_view x_tiles{ct::tensor_span{x, ct::extents{rows, cols}}, ct::shape<kTile, kTile>{}};
  const ct::partition_view slice_tiles{ct::tensor_span{slices, ct::extents{num_slices, rows, cols}},
                                       ct::shape<1, kTile, kTile>{}};
  auto rest = x_tiles.load_masked(i, j);
  for (const int s : ct::irange(0, num_slices)) {
    const double sigma = sigmas[s];  // one number of memory is read as in any C++
    const auto v = (rest + sigma) - sigma;
    const auto slice = ct::element_cast<__nv_bfloat16>(v * inverse_scales[s]);
    slice_tiles.store_masked(ct::reshape(slice, ct::shape<1, kTile, kTile>{}), s, i, j);
    rest = rest - v;
  }
}

int main() {
  constexpr int kRho = 45, kAdvance = 9;
  const int rows = 40, cols = 70, num_slices = 4, n = rows * cols;
  example::Array<double> x(n), sigmas(num_slices), inverse_scales(num_slices);
  example::Array<__nv_bfloat16> slices(num_slices * n);
  double largest = 0;
  for (int i = 0; i < n; ++i) {
    x[i] = std::sin(1.0 + i) * std::ldexp(1.0, i % 5);
    largest = std::fmax(largest, std::fabs(x[i]));
  }
  int c = 0;
  std::frexp(largest, &c);  // |x| <= 2^c
  for (int s = 0; s < num_slices; ++s) {
    sigmas[s] = std::ldexp(0.75, kRho + c - kAdvance * s);
    inverse_scales[s] = std::ldexp(1.0, kAdvance * s - c);
  }
  const dim3 grid(example::tiles(rows, kTile), example::tiles(cols, kTile));
  if (!example::ran(KIZAMI_TILE_LAUNCH(veltkamp_split, grid, nullptr, x.data(), slices.data(), sigmas.data(),
                                       inverse_scales.data(), num_slices, rows, cols)))
    return 1;

  example::Checks checks;
  for (int count = 1; count <= num_slices; ++count) {
    double worst = 0;
    for (int i = 0; i < n; ++i) {
      double rest = x[i];  // each subtraction is exact
      for (int s = 0; s < count; ++s)
        rest -= std::ldexp(static_cast<double>(static_cast<float>(slices[s * n + i])), c - kAdvance * s);
      worst = std::fmax(worst, std::fabs(rest));
      checks.expect(std::fabs(rest) <= std::ldexp(1.0, c - kAdvance * count));
    }
    std::printf("%d slices leave %.3g, at most 2^%d\n", count, worst, c - kAdvance * count);
  }
  return checks.result();
}
