// SPDX-License-Identifier: MIT
// Chinese remainder constants, computed and proven at compile time.
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
    const int p = moduli[l];
    crt.cofactors[l] = div_small(crt.product, static_cast<std::uint64_t>(p)).quotient;
    const std::uint64_t rest = div_small(crt.cofactors[l], static_cast<std::uint64_t>(p)).remainder;
    crt.inverses[l] = modular_inverse(static_cast<std::int64_t>(rest), p);
    crt.weights[l] = mul_small(crt.cofactors[l], static_cast<std::uint64_t>(crt.inverses[l]));
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

/// The integer in [0, P) that is c modulo p_l and 0 modulo the others. @range c in [0, p_l)
template <int N, std::size_t S>
[[nodiscard]] constexpr CrtInt scaled_weight(const CrtConstants<N>& crt, const std::array<std::int16_t, S>& moduli,
                                             int l, int c) {
  const int factor = crt.inverses[l] * c % moduli[l];
  return mul_small(crt.cofactors[l], static_cast<std::uint64_t>(factor));
}

}  // namespace kizami::num
