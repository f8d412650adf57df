// SPDX-License-Identifier: MIT
// Floating slices of scheme ozaki1: how many bits a slice may have so that k products of slices add up exactly in an
// accumulator of 24 bits, and the number that cuts them.
//   x = sum_p 2^(c_p) slice_p + rest,   c_p = c - p (54 - rho),   slice_p a multiple of 2^(rho - 53), |slice_p| <= 1
// @cite Mukunoki2020, equations (1) to (5)
#pragma once

#include <cmath>
#include <cstdint>

namespace kizami::num {

/// The least rho for sums of k products: slices of 53 - rho bits, at most `significand_bits` (hidden bit included), and
/// 2 (53 - rho) + ceil(log2 k) <= 24.
/// @range  1 <= k <= 2^20, 2 <= significand_bits <= 24
[[nodiscard]] constexpr int slice_rho(std::int64_t k, int significand_bits) {
  int log2_k = 0;
  while ((std::int64_t{1} << log2_k) < k) ++log2_k;
  const int bits = (24 - log2_k) / 2;
  return 53 - (bits < significand_bits ? bits : significand_bits);
}
/// Bits by which one slice shortens what is left.
[[nodiscard]] constexpr int slice_advance(int rho) { return 54 - rho; }

/// The exponent c of a line: the least with |x| <= 2^c. @range largest > 0, finite
[[nodiscard]] inline int slice_exponent(double largest) {
  int exponent = 0;
  const double fraction = std::frexp(largest, &exponent);  // in [0.5, 1)
  return fraction == 0.5 ? exponent - 1 : exponent;
}
/// sigma of slice p. @range rho + c <= 1023, and the sigma of the last slice normal
[[nodiscard]] inline double slice_sigma(int c, int rho, int p) {
  return std::ldexp(0.75, rho + c - p * slice_advance(rho));
}
/// 2^(c_p), by which slice p is multiplied back.
[[nodiscard]] inline double slice_scale(int c, int rho, int p) { return std::ldexp(1.0, c - p * slice_advance(rho)); }

/// Pairs (p, q) of slices with p + q < depth.
[[nodiscard]] constexpr int num_slice_pairs(int num_a, int num_b, int depth) {
  int count = 0;
  for (int p = 0; p < num_a; ++p) {
    for (int q = 0; q < num_b; ++q) count += p + q < depth ? 1 : 0;
  }
  return count;
}
/// The pairs (p, diagonal - p) of slices: p = first .. first + num_pairs - 1. @range 0 <= diagonal <= num_a + num_b - 2
struct SliceDiagonal {
  int first;
  int num_pairs;
};
[[nodiscard]] constexpr SliceDiagonal slice_diagonal(int diagonal, int num_a, int num_b) {
  const int first = diagonal < num_b ? 0 : diagonal - num_b + 1;
  const int last = diagonal < num_a ? diagonal : num_a - 1;
  return {first, last - first + 1};
}
static_assert(slice_diagonal(3, 7, 7).first == 0 && slice_diagonal(3, 7, 7).num_pairs == 4);
static_assert(slice_diagonal(8, 7, 7).first == 2 && slice_diagonal(8, 7, 7).num_pairs == 5);
static_assert(slice_diagonal(4, 3, 7).first == 0 && slice_diagonal(4, 3, 7).num_pairs == 3);

// The pairs that seed 000 keeps.
static_assert(num_slice_pairs(7, 7, 9) == 39 && num_slice_pairs(7, 7, 8) == 34 && num_slice_pairs(7, 7, 7) == 28);
static_assert(num_slice_pairs(7, 7, 6) == 21 && num_slice_pairs(7, 7, 5) == 15 && num_slice_pairs(14, 14, 16) == 130);
static_assert(slice_rho(256, 8) == 45);  // BF16 slices of 8 bits: 256 products in 24 bits

}  // namespace kizami::num
