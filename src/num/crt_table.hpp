// SPDX-License-Identifier: MIT
// CRT constants as data, one table for each number of moduli, a weight for every residue plane, cut into digits of 36
// bits so that FP64 arithmetic on them is exact:
//   X = sum_q W_q r_q = sum_d 2^(36 d) sum_q digit_d(W_q) r_q (mod P),   |inner sum| <= 64 * 2^36 * 2^7 = 2^49.
//
// In Z plane q is modulus q and W_q = w_q. In Z[i] the planes of a modulus are real products that determine the complex
// product modulo p, and the inverse map is folded into the weights of the real and the imaginary part:
//   two planes    U = A+ B+, V = A- B- with X± = Xr ± s Xi, s^2 = -1:  Re = (U + V)/2, Im = (U - V)/(2s)   [Caday2026]
//   three planes  Ar Br, Ai Bi, (Ar + Ai)(Br + Bi):                    Re = 1st - 2nd, Im = 3rd - 1st - 2nd
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "num/crt.hpp"

namespace kizami::num {

/// Moduli that a plan may use: all there are.
inline constexpr int kMinModuli = 2;
inline constexpr int kMaxRealModuli = static_cast<int>(kRealModuli.size());
inline constexpr int kMaxComplexModuli = static_cast<int>(kComplexModuli.size());
[[nodiscard]] constexpr int max_moduli(Ring ring) { return ring == Ring::kReal ? kMaxRealModuli : kMaxComplexModuli; }

inline constexpr int kCrtDigitBits = 36;
inline constexpr int kMaxCrtDigits = 10;

/// The part of a complex number that a table rebuilds; numbers of Z are real parts.
enum class Part : std::uint8_t { kReal, kImaginary };

struct CrtTable {
  int num_moduli = 0;
  int num_planes = 0;
  int num_digits = 0;                             ///< ceil((bits of P + 1) / 36)
  double weight[kMaxPlanes][kMaxCrtDigits] = {};  ///< digits of W_q in [0, P), least significant first
  double fraction[kMaxPlanes] = {};               ///< W_q / P, to 2^-50 relative
  double product[kMaxCrtDigits] = {};             ///< digits of P
  CrtInt product_wide;                            ///< P
  CrtInt half_wide;                               ///< floor((P - 1) / 2)
};

/// @range kMinModuli <= num_moduli <= max_moduli(ring); part: kReal in Z
[[nodiscard]] const CrtTable& crt_table(Ring ring, int num_moduli, Part part = Part::kReal);

namespace detail {

/// What plane number `plane` of its modulus p counts in a part, as a residue in [0, p).
[[nodiscard]] constexpr int plane_coefficient(Ring ring, Part part, int l, int plane) {
  if (ring == Ring::kReal) return 1;
  const int p = modulus(ring, l);
  if (l < kTwoProductModuli) {
    const int divisor = part == Part::kReal ? 2 : 2 * sqrt_minus_one(p);
    const int inverse = modular_inverse(divisor, p);
    return part == Part::kImaginary && plane == 1 ? p - inverse : inverse;
  }
  if (part == Part::kReal) return plane == 0 ? 1 : plane == 1 ? p - 1 : 0;
  return plane == 2 ? 1 : p - 1;
}

[[nodiscard]] constexpr double crt_digit(const CrtInt& x, int d) {
  const std::uint64_t mask = (std::uint64_t{1} << kCrtDigitBits) - 1;
  return static_cast<double>(shift_right(x, kCrtDigitBits * d).limb[0] & mask);
}

template <int N, std::size_t S>
[[nodiscard]] constexpr CrtTable make_crt_table(Ring ring, Part part, const std::array<std::int16_t, S>& moduli) {
  const CrtConstants<N> crt = make_crt<N>(moduli);
  CrtTable table;
  table.num_moduli = N;
  table.num_planes = num_planes(ring, N);
  table.num_digits = (bit_width(crt.product) + 1 + kCrtDigitBits - 1) / kCrtDigitBits;
  for (int l = 0; l < N; ++l) {
    for (int i = 0; i < planes_of_modulus(ring, l); ++i) {
      const CrtInt weight = scaled_weight(crt, moduli, l, plane_coefficient(ring, part, l, i));
      const int q = num_planes(ring, l) + i;
      for (int d = 0; d < table.num_digits; ++d) table.weight[q][d] = crt_digit(weight, d);
      table.fraction[q] = to_double_down(weight) / to_double_down(crt.product);
    }
  }
  for (int d = 0; d < table.num_digits; ++d) table.product[d] = crt_digit(crt.product, d);
  table.product_wide = crt.product;
  table.half_wide = crt.half;
  return table;
}

}  // namespace detail
}  // namespace kizami::num
