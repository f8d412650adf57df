// SPDX-License-Identifier: MIT
// Chinese remainder constants, proven at compile time.
//   P = p_1 ... p_N,  w_l = (P / p_l) ((P / p_l)^-1 mod p_l):  w_l = 1 (mod p_l), 0 (mod p_j),
//   so x = sum_l w_l r_l (mod P) for the residues r_l of x.  Unique for |x| <= (P - 1) / 2.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "num/modular.hpp"
#include "num/moduli.hpp"
#include "num/wide_int.hpp"

namespace kizami::num {

/// Limbs that hold any constant of any set: 342 bits for all real moduli.
inline constexpr int kCrtLimbs = 6;
using CrtInt = WideUint<kCrtLimbs>;

template <std::size_t S>
[[nodiscard]] constexpr CrtInt modulus_product(const std::array<std::int16_t, S>& moduli, int num_moduli) {
  CrtInt product(1);
  for (int l = 0; l < num_moduli; ++l) product = mul_small(product, static_cast<std::uint64_t>(moduli[l]));
  return product;
}

/// What a modulus p contributes.
struct CrtTerm {
  CrtInt cofactor;  ///< P / p
  int inverse = 0;  ///< of the cofactor modulo p
};
[[nodiscard]] constexpr CrtTerm crt_term(const CrtInt& product, int p) {
  CrtTerm term;
  term.cofactor = div_small(product, static_cast<std::uint64_t>(p)).quotient;
  const std::uint64_t rest = div_small(term.cofactor, static_cast<std::uint64_t>(p)).remainder;
  term.inverse = modular_inverse(static_cast<std::int64_t>(rest), p);
  return term;
}

/// The integer in [0, P) that is c modulo p and 0 modulo the others. @range c in [0, p)
[[nodiscard]] constexpr CrtInt scaled_weight(const CrtTerm& term, int p, int c) {
  return mul_small(term.cofactor, static_cast<std::uint64_t>(term.inverse * c % p));
}

/// The constants of the first N moduli of a set.
template <int N>
struct CrtConstants {
  CrtInt product;                   ///< P
  CrtInt half;                      ///< floor((P - 1) / 2): the largest magnitude that is represented uniquely
  std::array<CrtInt, N> cofactors;  ///< P / p_l
  std::array<int, N> inverses;      ///< of the cofactor modulo p_l
  std::array<CrtInt, N> weights;    ///< w_l = cofactor * inverse, in [0, P)
};

template <int N, std::size_t S>
[[nodiscard]] constexpr CrtConstants<N> make_crt(const std::array<std::int16_t, S>& moduli) {
  CrtConstants<N> crt{};
  crt.product = modulus_product(moduli, N);
  crt.half = shift_right(sub(crt.product, CrtInt(1)), 1);
  for (int l = 0; l < N; ++l) {
    const CrtTerm term = crt_term(crt.product, moduli[l]);
    crt.cofactors[l] = term.cofactor;
    crt.inverses[l] = term.inverse;
    crt.weights[l] = scaled_weight(term, moduli[l], 1);
  }
  return crt;
}

/// Proof of the constants (asserted for every set in crt_table.cpp), for moduli that are pairwise coprime: P / p_l is
/// an integer, so a multiple of the other moduli; the weight is a multiple of it, 1 modulo p_l, and below P.
template <int N, std::size_t S>
[[nodiscard]] constexpr bool is_crt_basis(const CrtConstants<N>& crt, const std::array<std::int16_t, S>& moduli) {
  if (crt.product != modulus_product(moduli, N)) return false;
  for (int l = 0; l < N; ++l) {
    const auto p = static_cast<std::uint64_t>(moduli[l]);
    if (mul_small(crt.cofactors[l], p) != crt.product) return false;
    if (mul_small(crt.cofactors[l], static_cast<std::uint64_t>(crt.inverses[l])) != crt.weights[l]) return false;
    if (div_small(crt.weights[l], p).remainder != 1 || !less(crt.weights[l], crt.product)) return false;
  }
  return true;
}

}  // namespace kizami::num
