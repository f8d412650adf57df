// SPDX-License-Identifier: MIT
// Complex integers of GMP and their residue planes by definition: the references of the tests of Z[i].
#pragma once

#include <array>
#include <cstdint>

#include "num/moduli.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::tests {

struct ComplexInteger {
  Integer re;
  Integer im;

  friend ComplexInteger operator*(const ComplexInteger& x, const ComplexInteger& y) {
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
  }
  ComplexInteger& operator+=(const ComplexInteger& y) {
    re += y.re;
    im += y.im;
    return *this;
  }
};

/// A square root of -1 modulo p by trial, 0 if there is none.
[[nodiscard]] inline int root_by_definition(int p) {
  for (int s = 1; s < p; ++s) {
    if ((s * s + 1) % p == 0) return s;
  }
  return 0;
}

/// Most planes that one modulus has.
inline constexpr int kMaxPlanesOfModulus = 3;

/// The planes of an operand modulo complex modulus number l: x+ = re + s im and x- = re - s im, or re, im and re + im.
[[nodiscard]] inline std::array<int, kMaxPlanesOfModulus> operand_planes(const ComplexInteger& x, int l) {
  const int p = num::kComplexModuli[static_cast<std::size_t>(l)];
  if (l < num::kTwoProductModuli) {
    const int s = root_by_definition(p);
    return {residue_by_definition(x.re + s * x.im, p), residue_by_definition(x.re - s * x.im, p), 0};
  }
  return {residue_by_definition(x.re, p), residue_by_definition(x.im, p), residue_by_definition(x.re + x.im, p)};
}

/// Planes of a product modulo complex modulus number l that mean x: the only ones for two planes; for three, Re is 1st
/// - 2nd and Im is 3rd - 1st - 2nd, and the 2nd may be anything.
[[nodiscard]] inline std::array<int, kMaxPlanesOfModulus> product_planes(Rng& rng, const ComplexInteger& x, int l) {
  if (l < num::kTwoProductModuli) return operand_planes(x, l);
  const int p = num::kComplexModuli[static_cast<std::size_t>(l)];
  const Integer second = random_int(rng, 0, p - 1);
  const Integer first = x.re + second;
  return {residue_by_definition(first, p), residue_by_definition(second, p),
          residue_by_definition(x.im + first + second, p)};
}

}  // namespace kizami::tests
