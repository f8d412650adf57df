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

/// Moduli for complex products. Every prime factor of the first kTwoProductModuli is 1 modulo 4, so a square root of -1
/// exists modulo each of them and two real products make a complex one; there are no more such moduli. The rest,
/// greedily from 256 down, take three.
/// @cite Caday2026 (two products); the three are Karatsuba's, exact modulo p
inline constexpr std::array<std::int16_t, 27> kComplexModuli = {241, 233, 229, 221, 205, 197, 193, 181, 173,
                                                                157, 149, 137, 113, 109, 101, 97,  89,  256,
                                                                253, 251, 249, 239, 227, 223, 217, 211, 199};
inline constexpr int kTwoProductModuli = 17;

/// Where the products are: in Z, or in Z[i] = Z + i Z for complex operands.
enum class Ring : std::uint8_t { kReal, kComplex };

/// Most residue planes that num_planes() gives.
inline constexpr int kMaxPlanes = 64;

/// Real products that one product modulo modulus number l takes, each with a residue plane of its own for A, B and C.
[[nodiscard]] constexpr int planes_of_modulus(Ring ring, int l) {
  return ring == Ring::kReal ? 1 : l < kTwoProductModuli ? 2 : 3;
}
/// Residue planes of the first num_moduli moduli; also the number of the first plane of modulus number num_moduli.
[[nodiscard]] constexpr int num_planes(Ring ring, int num_moduli) {
  if (ring == Ring::kReal) return num_moduli;
  return num_moduli <= kTwoProductModuli ? 2 * num_moduli : 3 * num_moduli - kTwoProductModuli;
}
[[nodiscard]] constexpr int modulus_number(Ring ring, int plane) {
  if (ring == Ring::kReal) return plane;
  return plane < 2 * kTwoProductModuli ? plane / 2 : (plane + kTwoProductModuli) / 3;
}
[[nodiscard]] constexpr std::int16_t modulus(Ring ring, int l) {
  return ring == Ring::kReal ? kRealModuli[static_cast<std::size_t>(l)] : kComplexModuli[static_cast<std::size_t>(l)];
}

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
[[nodiscard]] constexpr bool first_have_sqrt_minus_one(const std::array<std::int16_t, N>& moduli, int count) {
  for (int l = 0; l < count; ++l) {
    if (sqrt_minus_one(moduli[static_cast<std::size_t>(l)]) == 0) return false;
  }
  return true;
}

static_assert(are_pairwise_coprime(kRealModuli) && is_maximal(kRealModuli));
static_assert(are_pairwise_coprime(kComplexModuli) && first_have_sqrt_minus_one(kComplexModuli, kTwoProductModuli));
static_assert(kRealModuli.front() == 256 && kComplexModuli.front() <= 256);
static_assert(num_planes(Ring::kComplex, kComplexModuli.size()) == kMaxPlanes);
static_assert(kRealModuli.size() <= kMaxPlanes);

}  // namespace kizami::num
