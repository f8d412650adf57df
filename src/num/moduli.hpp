// SPDX-License-Identifier: MIT
// The moduli of scheme ozaki2. Residues are symmetric and fit in a signed byte, so a modulus is at most 256; the moduli
// of a set are pairwise coprime, in descending order, and a plan with N moduli takes the first N.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>

namespace kizami::num {

/// Every pairwise coprime modulus for real products, greedily from 256 down. The product of all 49 has 341.9 bits.
/// @cite OUI2025, section 4 (the first 20 are those of the reference implementation)
inline constexpr std::array<std::int16_t, 49> kRealModuli = {
    256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193, 191,
    181, 179, 173, 167, 163, 157, 151, 149, 139, 137, 131, 127, 113, 109, 107, 103, 101,
    97,  89,  83,  79,  73,  71,  67,  61,  59,  53,  47,  43,  41,  37,  29};

/// Moduli for complex products in two real products each: every prime factor is 1 modulo 4, so a square root of -1
/// exists modulo each of them.
inline constexpr std::array<std::int16_t, 17> kComplexModuli = {241, 233, 229, 221, 205, 197, 193, 181, 173,
                                                                157, 149, 137, 113, 109, 101, 97,  89};

/// A square root of -1 modulo p: the smallest s > 0 with s^2 = -1 (mod p), or 0 if there is none.
[[nodiscard]] constexpr int sqrt_minus_one(int p) {
  for (int s = 1; s < p; ++s) {
    if ((s * s + 1) % p == 0) return s;
  }
  return 0;
}

template <std::size_t N>
[[nodiscard]] constexpr bool are_pairwise_coprime(const std::array<std::int16_t, N>& moduli) {
  for (std::size_t i = 0; i < N; ++i) {
    for (std::size_t j = i + 1; j < N; ++j) {
      if (std::gcd(moduli[i], moduli[j]) != 1) return false;
    }
  }
  return true;
}

/// True if no further modulus in [2, 256] is coprime to all of the set: the set is as large as greed makes it.
template <std::size_t N>
[[nodiscard]] constexpr bool is_maximal(const std::array<std::int16_t, N>& moduli) {
  for (int candidate = 2; candidate <= 256; ++candidate) {
    bool is_coprime_to_all = true;
    for (const int p : moduli) is_coprime_to_all = is_coprime_to_all && std::gcd(candidate, p) == 1;
    if (is_coprime_to_all) return false;
  }
  return true;
}

template <std::size_t N>
[[nodiscard]] constexpr bool all_have_sqrt_minus_one(const std::array<std::int16_t, N>& moduli) {
  for (const int p : moduli) {
    if (sqrt_minus_one(p) == 0) return false;
  }
  return true;
}

static_assert(are_pairwise_coprime(kRealModuli) && is_maximal(kRealModuli));
static_assert(are_pairwise_coprime(kComplexModuli) && all_have_sqrt_minus_one(kComplexModuli));
static_assert(kRealModuli.front() == 256 && kComplexModuli.front() <= 256);

}  // namespace kizami::num
