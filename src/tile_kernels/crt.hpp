// SPDX-License-Identifier: MIT
// Scheme ozaki2, reconstruction: residues -> the exact integer -> FP64, rounded once, and C in FP64 or FP32, with the
// constants of num::CrtTable.
//   X = sum_q W_q r_q - rint(sum_q (W_q / P) r_q) P, digit by digit of 36 bits in FP64, exactly; |X| < 0.51 P
//   carries and sign in INT64; the other representative where |X| > (P - 1) / 2
//   the three highest digits and whether anything follows, rounded once to 53 bits; C = alpha X 2^-(s_i + t_j) + beta C
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "num/crt_table.hpp"
#include "tile_kernels/residue_split.hpp"

namespace kizami::tile_kernels {
inline namespace KIZAMI_TILE_BACKEND {

/// Digits of 36 bits of an integer, least significant first. Their indices are constants everywhere, by packs of
/// kDigit: a tile that is chosen by a variable would lie in memory (tile/docs/kernels.md).
template <class Tile, std::size_t kDigits>
struct DigitTiles {
  Tile digit[kDigits];
};

/// Non-negative digits below 2^36 of the same integer modulo 2^(36 kDigits), and the sign: -1 or 0.
template <class Tile, std::size_t kDigits, std::size_t... kDigit>
__tile__ Tile carry_digits(DigitTiles<Tile, kDigits>& x, std::index_sequence<kDigit...> /*unused*/) {
  auto carry = ct::zeros<Tile>();
  ((carry = x.digit[kDigit] + carry,
    x.digit[kDigit] = carry & ct::full<Tile>((std::int64_t{1} << num::kCrtDigitBits) - 1),
    carry = carry >> num::kCrtDigitBits),
   ...);
  return carry;
}

/// The highest digit that is not zero (or digit 0), the two below it, and what counts of those that follow.
template <class Integer, class Real>
struct LeadingDigits {
  Integer high, middle, low;
  Integer below;      // or of the digits that follow
  Integer all_below;  // or of the digits before the last three that were looked at
  Real unit;          // high = 1 counts 2^72 unit
};

/// Takes digit d as the highest one where it is not 0, after the digits before it.
template <std::size_t d, class Integer, std::size_t kDigits, class Real>
__tile__ void look_at_digit(const DigitTiles<Integer, kDigits>& x, LeadingDigits<Integer, Real>& leading) {
  static_assert(d >= 1 && d < num::kMaxCrtDigits);
  if constexpr (d >= 3) leading.all_below = leading.all_below | x.digit[d - 3];
  const auto is_higher = x.digit[d] != 0;
  leading.high = ct::select(is_higher, x.digit[d], leading.high);
  leading.middle = ct::select(is_higher, x.digit[d - 1], leading.middle);
  if constexpr (d >= 2) leading.low = ct::select(is_higher, x.digit[d - 2], leading.low);
  leading.below = ct::select(is_higher, leading.all_below, leading.below);
  double unit = 0x1p-72;
  for (std::size_t i = 0; i < d; ++i) unit *= 0x1p36;
  leading.unit = ct::select(is_higher, ct::full<Real>(unit), leading.unit);
}

/// The integer of carried digits rounded to 53 bits, ties to even.
/// @exact  With h the highest digit that is not 0: x = (H 2^72 + M 2^36 + L + rest) 2^(36 (h - 2)), 0 <= rest < 1. x
///         counts at least 2^72, so boundaries between FP64 numbers are multiples of 2^19: of L and rest only the
///         multiple of 2^8 and whether more follows matter. hi + lo = H 2^72 + M 2^36 exactly; lo + tail spans less
///         than 53 bits.
template <class Integer, std::size_t kDigits, std::size_t kFirst, std::size_t... kOther>
__tile__ auto rounded_integer(const DigitTiles<Integer, kDigits>& x,
                              std::index_sequence<kFirst, kOther...> /*unused*/) {
  using Real = ct::tile_with_element_t<Integer, double>;
  const auto zero = ct::zeros<Integer>();
  LeadingDigits<Integer, Real> leading{x.digit[kFirst], zero, zero, zero, zero, ct::full<Real>(0x1p-72)};
  (look_at_digit<kOther>(x, leading), ...);
  const auto cut = leading.low & ct::full<Integer>(~std::int64_t{255});
  const auto follows = ((leading.low - cut) | leading.below) != 0;
  const auto tail = numbers_of_integers(cut) + ct::select(follows, ct::full<Real>(128.0), ct::zeros<Real>());
  const auto a = numbers_of_integers(leading.high) * 0x1p72;
  const auto b = numbers_of_integers(leading.middle) * 0x1p36;
  const auto hi = a + b;
  const auto lo = b - (hi - a);  // |a| > |b|, or a = 0
  return (hi + (lo + tail)) * leading.unit;
}

/// crt_block for the digits 0 .. kDigits - 1.
template <int kTileN, int kTileM, bool kAligned, class Result, std::size_t... kDigit>
__tile__ void crt_tile(const std::int8_t* residues, std::int64_t plane_stride, int col_stride, int num_planes,
                       const double* weights, const double* fractions, const double* product, const double* half,
                       const double* row_factors, const double* col_factors, double alpha, double beta, Result* C,
                       int c_col_stride, int m, int n, std::index_sequence<kDigit...> digits) {
  using Real = ct::tile<double, ct::shape<kTileN, kTileM>>;
  using Integer = ct::tile<std::int64_t, ct::shape<kTileN, kTileM>>;
  constexpr std::size_t kDigits = sizeof...(kDigit);
  const int num_row_tiles = ct::ceildiv(m, kTileM);
  const int j = static_cast<int>(ct::bid().x) / num_row_tiles;
  const int i = static_cast<int>(ct::bid().x) % num_row_tiles;

  const int line = matrix_stride<kAligned>(col_stride);

  DigitTiles<Real, kDigits> sums;
  ((sums.digit[kDigit] = ct::zeros<Real>()), ...);
  auto share = ct::zeros<Real>();
  for (const int q : ct::irange(0, num_planes)) {
    const Real r = numbers_of_integers(ct::element_cast<std::int64_t>(
        matrix_tiles<Order::kRowMajor, kTileN, kTileM>(matrix_base<kAligned>(residues + q * plane_stride), n,
                                                       kAligned ? line : m, line)
            .load_masked(j, i)));
    const double* weight = weights + q * num::kMaxCrtDigits;
    ((sums.digit[kDigit] = ct::fma(r, ct::full<Real>(weight[kDigit]), sums.digit[kDigit])), ...);  // exact
    share = share + r * fractions[q];
  }
  const auto times = round_to_integers(share);
  DigitTiles<Integer, kDigits> x;
  ((x.digit[kDigit] =
        biased_integers(Real(sums.digit[kDigit] - times * product[kDigit])) - ct::full<Integer>(kBitsOfIntegers)),
   ...);

  auto is_negative = carry_digits(x, digits) < 0;
  ((x.digit[kDigit] = ct::select(is_negative, -x.digit[kDigit], x.digit[kDigit])), ...);
  carry_digits(x, digits);              // the magnitude: what was carried out of a negative number cancels
  DigitTiles<Integer, kDigits> beyond;  // half - |X|
  DigitTiles<Integer, kDigits> other;   // P - |X|
  ((beyond.digit[kDigit] = static_cast<std::int64_t>(half[kDigit]) - x.digit[kDigit]), ...);
  ((other.digit[kDigit] = static_cast<std::int64_t>(product[kDigit]) - x.digit[kDigit]), ...);
  const auto takes_other = carry_digits(beyond, digits) < 0;
  carry_digits(other, digits);
  ((x.digit[kDigit] = ct::select(takes_other, other.digit[kDigit], x.digit[kDigit])), ...);
  is_negative = is_negative ^ takes_other;

  const auto magnitude = rounded_integer(x, digits);
  const auto rows = matrix_tiles<Order::kRowMajor, 1, kTileM>(row_factors, 1, m, m).load_masked(0, i);
  const auto cols = matrix_tiles<Order::kRowMajor, kTileN, 1>(col_factors, n, 1, 1).load_masked(j, 0);
  Real value = ct::select(is_negative, -magnitude, magnitude) * rows * cols;
  const auto c_tiles = matrix_tiles<Order::kRowMajor, kTileN, kTileM>(C, n, m, c_col_stride);
  if (beta != 0.0) {
    const Real scaled = ct::element_cast<double>(c_tiles.load_masked(j, i)) * beta;
    value = ct::fma(ct::full<Real>(alpha), value, scaled);
  } else if (alpha != 1.0) {
    value = value * alpha;
  }
  c_tiles.store_masked(ct::element_cast<Result>(value), j, i);
}

/// @shape  residues: plane q, element (i, j) at q * plane_stride + j * col_stride + i. weights:
///         [num_planes][kMaxCrtDigits], fractions: [num_planes], product: [kDigits], half: [kDigits], digits as in
///         num::CrtTable. row_factors: [m] = 2^-s_i, col_factors: [n] = 2^-t_j. C: m x n, column-major. grid: (ceil(n /
///         kTileN) * ceil(m / kTileM), 1, 1)
/// @range  kDigits = CrtTable::num_digits. Result: double or float, of which alpha and beta are. X row_factor is a
///         normal number; no line is left out. kAligned: residues has an address of 16 bytes and strides that are
///         multiples of 16, and what lies between its columns may be read
/// @exact  as ozaki2::reconstruct_crt for moderate exponents (num::finish)
template <int kDigits, int kTileN, int kTileM, bool kAligned, class Result = double>
__tile__ void crt_block(const std::int8_t* residues, std::int64_t plane_stride, int col_stride, int num_planes,
                        const double* weights, const double* fractions, const double* product, const double* half,
                        const double* row_factors, const double* col_factors, double alpha, double beta, Result* C,
                        int c_col_stride, int m, int n) {
  crt_tile<kTileN, kTileM, kAligned>(residues, plane_stride, col_stride, num_planes, weights, fractions, product, half,
                                     row_factors, col_factors, alpha, beta, C, c_col_stride, m, n,
                                     std::make_index_sequence<kDigits>{});
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
