// SPDX-License-Identifier: MIT
// CRT constants as data, one table a modulus count, cut into digits of 36 bits so that FP64 arithmetic on them is
// exact:
//   sum_l w_l r_l = sum_d 2^(36 d) sum_l digit_d(w_l) r_l,   |inner sum| <= 28 * 2^36 * 2^7 < 2^48.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "num/crt.hpp"

namespace kizami::num {

/// Most moduli that a plan may use. Their product has 213 bits; integers up to 2^(h + 1) with h = 106 arise.
inline constexpr int kMaxModuli = 28;
inline constexpr int kMinModuli = 2;
inline constexpr int kCrtDigitBits = 36;
inline constexpr int kMaxCrtDigits = 6;

struct CrtTable {
  int num_moduli = 0;
  int num_digits = 0;                             ///< ceil((bits of P + 1) / 36)
  double weight[kMaxModuli][kMaxCrtDigits] = {};  ///< digits of w_l, least significant first
  double fraction[kMaxModuli] = {};               ///< w_l / P, to 2^-52 relative
  double product[kMaxCrtDigits] = {};             ///< digits of P
  WideUint<4> product_wide;                       ///< P
  WideUint<4> half_wide;                          ///< (P - 1) / 2
};

namespace detail {

[[nodiscard]] constexpr double crt_digit(const CrtInt& x, int d) {
  const std::uint64_t mask = (std::uint64_t{1} << kCrtDigitBits) - 1;
  return static_cast<double>(shift_right(x, kCrtDigitBits * d).limb[0] & mask);
}

template <int N>
[[nodiscard]] constexpr CrtTable make_crt_table() {
  CrtTable table;
  const CrtConstants<N>& crt = kRealCrt<N>;
  table.num_moduli = N;
  table.num_digits = (bit_width(crt.product) + 1 + kCrtDigitBits - 1) / kCrtDigitBits;
  for (int l = 0; l < N; ++l) {
    for (int d = 0; d < table.num_digits; ++d) table.weight[l][d] = crt_digit(crt.weights[l], d);
    table.fraction[l] = to_double_down(crt.weights[l]) / to_double_down(crt.product);
  }
  for (int d = 0; d < table.num_digits; ++d) table.product[d] = crt_digit(crt.product, d);
  table.product_wide = resize<4>(crt.product);
  table.half_wide = resize<4>(crt.half);
  return table;
}

template <int... Offsets>
[[nodiscard]] constexpr std::array<CrtTable, sizeof...(Offsets)> make_crt_tables(
    std::integer_sequence<int, Offsets...>) {
  static_assert(bit_width(kRealCrt<kMaxModuli>.product) + 1 <= kCrtDigitBits * kMaxCrtDigits);
  static_assert(((is_crt_basis(kRealCrt<kMinModuli + Offsets>, kRealModuli)) && ...));
  return {make_crt_table<kMinModuli + Offsets>()...};
}

}  // namespace detail

/// The tables of kMinModuli .. kMaxModuli moduli, each proven by is_crt_basis at compile time. @see crt_table()
extern const std::array<CrtTable, kMaxModuli - kMinModuli + 1> kCrtTables;

/// @range kMinModuli <= num_moduli <= kMaxModuli
[[nodiscard]] inline const CrtTable& crt_table(int num_moduli) {
  return kCrtTables[static_cast<std::size_t>(num_moduli - kMinModuli)];
}

}  // namespace kizami::num
