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

#include <cstdint>

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

/// Made by the first call that asks for it, and kept: all of them are 0.6 MB. Whatever the caller's floating-point modes.
/// @range kMinModuli <= num_moduli <= max_moduli(ring); part: kReal in Z
/// @throws std::bad_alloc
[[nodiscard]] const CrtTable& crt_table(Ring ring, int num_moduli, Part part = Part::kReal);

namespace detail {

[[nodiscard]] constexpr double crt_digit(const CrtInt& x, int d) {
  const std::uint64_t mask = (std::uint64_t{1} << kCrtDigitBits) - 1;
  return static_cast<double>(shift_right(x, kCrtDigitBits * d).limb[0] & mask);
}

}  // namespace detail
}  // namespace kizami::num
