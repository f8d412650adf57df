// SPDX-License-Identifier: MIT
// Scheme ozaki2, reconstruction: residues -> the exact integer -> FP64, rounded once, with the constants of num::CrtTable.
//   X = sum_q W_q r_q - rint(sum_q (W_q / P) r_q) P, digit by digit of 36 bits in FP64, exactly; |X| < 0.51 P
//   carries and sign in INT64; the other representative where |X| > (P - 1) / 2
//   the three highest digits and whether anything follows, rounded once to 53 bits; C = alpha X 2^-(s_i + t_j) + beta C
#pragma once

#include <cstdint>

#include "num/crt_table.hpp"
#include "tile_kernels/residue_split.hpp"

namespace kizami::tile_kernels {
inline namespace KIZAMI_TILE_BACKEND {

/// Digits of 36 bits of an integer, least significant first.
template <int kDigits, class Tile>
struct DigitTiles {
  Tile digit[kDigits];
};

/// Non-negative digits below 2^36 of the same integer modulo 2^(36 kDigits), and the sign: -1 or 0.
template <int kDigits, class Tile>
__tile__ Tile carry_digits(DigitTiles<kDigits, Tile>& x) {
  auto carry = ct::zeros<Tile>();
  for (int d = 0; d < kDigits; ++d) {
    const Tile sum = x.digit[d] + carry;
    x.digit[d] = sum & ct::full<Tile>((std::int64_t{1} << num::kCrtDigitBits) - 1);
    carry = sum >> num::kCrtDigitBits;
  }
  return carry;
}

/// The integer of carried digits rounded to 53 bits, ties to even.
/// @exact  With h the highest digit that is not 0: x = (H 2^72 + M 2^36 + L + rest) 2^(36 (h - 2)), 0 <= rest < 1. x counts at least 2^72,
///         so boundaries between FP64 numbers are multiples of 2^19: of L and rest only the multiple of 2^8 and whether
///         more follows matter. hi + lo = H 2^72 + M 2^36 exactly; lo + tail spans less than 53 bits.
template <int kDigits, class Tile>
__tile__ auto rounded_integer(const DigitTiles<kDigits, Tile>& x) {
  using Real = ct::tile_with_element_t<Tile, double>;
  const auto zero = ct::zeros<Tile>();
  auto high = x.digit[0];
  auto middle = zero;
  auto low = zero;
  auto below = zero;  // or of the digits that follow
  auto unit = ct::full<Real>(0x1p-72);
  double unit_of_digit = 0x1p-72;
  auto all_below = zero;
  for (int d = 1; d < kDigits; ++d) {
    unit_of_digit *= 0x1p36;
    if (d >= 3) all_below = all_below | x.digit[d - 3];
    const auto is_higher = x.digit[d] != 0;
    high = ct::select(is_higher, x.digit[d], high);
    middle = ct::select(is_higher, x.digit[d - 1], middle);
    low = ct::select(is_higher, d >= 2 ? x.digit[d >= 2 ? d - 2 : 0] : zero, low);
    below = ct::select(is_higher, all_below, below);
    unit = ct::select(is_higher, ct::full<Real>(unit_of_digit), unit);
  }
  const auto cut = low & ct::full<Tile>(~std::int64_t{255});
  const auto follows = ((low - cut) | below) != 0;
  const auto tail = ct::element_cast<double>(cut) + ct::select(follows, ct::full<Real>(128.0), ct::zeros<Real>());
  const auto a = ct::element_cast<double>(high) * 0x1p72;
  const auto b = ct::element_cast<double>(middle) * 0x1p36;
  const auto hi = a + b;
  const auto lo = b - (hi - a);  // |a| > |b|, or a = 0
  return (hi + (lo + tail)) * unit;
}

/// @shape  residues: plane q, element (i, j) at q * plane_stride + j * col_stride + i. weights: [num_planes][kMaxCrtDigits], fractions:
///         [num_planes], product: [kDigits], half: [kDigits], digits as in num::CrtTable. row_factors: [m] = 2^-s_i, col_factors: [n] = 2^-t_j.
///         C: m x n, column-major. grid: (ceil(n / kTileN) * ceil(m / kTileM), 1, 1)
/// @range  kDigits = CrtTable::num_digits. X row_factor is a normal number; no line is left out
/// @exact  as reconstruct::reconstruct_crt for moderate exponents (num::finish)
template <int kDigits, int kTileN, int kTileM>
__tile__ void crt_block(const std::int8_t* residues, std::int64_t plane_stride, int col_stride, int num_planes,
                        const double* weights, const double* fractions, const double* product, const double* half,
                        const double* row_factors, const double* col_factors, double alpha, double beta, double* C,
                        int c_col_stride, int m, int n) {
  using Real = ct::tile<double, ct::shape<kTileN, kTileM>>;
  using Integer = ct::tile<std::int64_t, ct::shape<kTileN, kTileM>>;
  const int num_row_tiles = ct::ceildiv(m, kTileM);
  const int j = static_cast<int>(ct::bid().x) / num_row_tiles;
  const int i = static_cast<int>(ct::bid().x) % num_row_tiles;

  Real sums[kDigits];
  for (int d = 0; d < kDigits; ++d) sums[d] = ct::zeros<Real>();
  auto share = ct::zeros<Real>();
  for (const int q : ct::irange(0, num_planes)) {
    const auto r = ct::element_cast<double>(
        matrix_tiles<Order::kRowMajor, kTileN, kTileM>(residues + q * plane_stride, n, m, col_stride)
            .load_masked(j, i));
    for (int d = 0; d < kDigits; ++d) sums[d] = sums[d] + r * weights[q * num::kMaxCrtDigits + d];
    share = share + r * fractions[q];
  }
  const auto times = round_to_integers(share);
  DigitTiles<kDigits, Integer> x;
  for (int d = 0; d < kDigits; ++d) x.digit[d] = ct::element_cast<std::int64_t>(sums[d] - times * product[d]);

  auto is_negative = carry_digits(x) < 0;
  for (int d = 0; d < kDigits; ++d) x.digit[d] = ct::select(is_negative, -x.digit[d], x.digit[d]);
  carry_digits(x);                      // the magnitude: what was carried out of a negative number cancels
  DigitTiles<kDigits, Integer> beyond;  // half - |X|
  DigitTiles<kDigits, Integer> other;   // P - |X|
  for (int d = 0; d < kDigits; ++d) {
    beyond.digit[d] = static_cast<std::int64_t>(half[d]) - x.digit[d];
    other.digit[d] = static_cast<std::int64_t>(product[d]) - x.digit[d];
  }
  const auto takes_other = carry_digits(beyond) < 0;
  carry_digits(other);
  for (int d = 0; d < kDigits; ++d) x.digit[d] = ct::select(takes_other, other.digit[d], x.digit[d]);
  is_negative = is_negative ^ takes_other;

  const auto magnitude = rounded_integer(x);
  const auto rows = matrix_tiles<Order::kRowMajor, 1, kTileM>(row_factors, 1, m, m).load_masked(0, i);
  const auto cols = matrix_tiles<Order::kRowMajor, kTileN, 1>(col_factors, n, 1, 1).load_masked(j, 0);
  Real value = ct::select(is_negative, -magnitude, magnitude) * rows * cols;
  const auto c_tiles = matrix_tiles<Order::kRowMajor, kTileN, kTileM>(C, n, m, c_col_stride);
  if (beta != 0.0) {
    const Real scaled = c_tiles.load_masked(j, i) * beta;
    value = ct::fma(ct::full<Real>(alpha), value, scaled);
  } else if (alpha != 1.0) {
    value = value * alpha;
  }
  c_tiles.store_masked(value, j, i);
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
