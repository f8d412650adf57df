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
  CrtInt product;                 ///< P
  CrtInt half;                    ///< floor((P - 1) / 2): the largest magnitude that is represented uniquely
  std::array<CrtInt, N> weights;  ///< w_l in [0, P)
};

template <int N, std::size_t S>
[[nodiscard]] constexpr CrtConstants<N> make_crt(const std::array<std::int16_t, S>& moduli) {
  CrtConstants<N> crt;
  crt.product = modulus_product(moduli, N);
  crt.half = shift_right(sub(crt.product, CrtInt(1)), 1);
  for (int l = 0; l < N; ++l) {
    const int p = moduli[l];
    const CrtInt cofactor = div_small(crt.product, static_cast<std::uint64_t>(p)).quotient;
    const auto cofactor_mod_p = static_cast<std::int64_t>(div_small(cofactor, static_cast<std::uint64_t>(p)).remainder);
    crt.weights[l] = mul_small(cofactor, static_cast<std::uint64_t>(modular_inverse(cofactor_mod_p, p)));
  }
  return crt;
}

/// Proof of the constants (asserted for every set in crt_table.cpp, which keeps this header cheap): every weight is 1
/// modulo its own modulus, 0 modulo the others, and below P.
template <int N, std::size_t S>
[[nodiscard]] constexpr bool is_crt_basis(const CrtConstants<N>& crt, const std::array<std::int16_t, S>& moduli) {
  for (int l = 0; l < N; ++l) {
    if (!less(crt.weights[l], crt.product)) return false;
    for (int j = 0; j < N; ++j) {
      const std::uint64_t remainder = div_small(crt.weights[l], static_cast<std::uint64_t>(moduli[j])).remainder;
      if (remainder != (j == l ? 1U : 0U)) return false;
    }
  }
  return true;
}

template <int N>
inline constexpr CrtConstants<N> kRealCrt = make_crt<N>(kRealModuli);
template <int N>
inline constexpr CrtConstants<N> kComplexCrt = make_crt<N>(kComplexModuli);

}  // namespace kizami::num
