// SPDX-License-Identifier: MIT
// Modular reduction to symmetric residues. The symmetric residue of x modulo p is the one congruent integer in
// [-floor(p/2), ceil(p/2) - 1]: [-128, 127] for p = 256, [-(p-1)/2, (p-1)/2] for odd p. It is unique, so planes made by
// different code are compared with ==.
#pragma once

#include <cstdint>

#include "kizami/host_device.hpp"

namespace kizami::num {

[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int residue_min(int p) { return -(p / 2); }
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int residue_max(int p) { return (p + 1) / 2 - 1; }

/// Reduces any 64-bit integer: the definition, in one division. @range p in 2..256
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int symmetric_residue(std::int64_t x, int p) {
  int r = static_cast<int>(x % p);  // in (-p, p)
  if (r < residue_min(p)) r += p;
  if (r > residue_max(p)) r -= p;
  return r;
}

/// Multiplier of reduce_i32: round(2^38 / p) for p > 128, which fits in 31 bits; below, round(2^37 / p).
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::int32_t reduce_i32_multiplier(int p) {
  const std::int64_t scale = p > 128 ? std::int64_t{1} << 38 : std::int64_t{1} << 37;
  return static_cast<std::int32_t>((scale + p / 2) / p);
}

/// Reduces an INT32 accumulator without division: q = floor((hi32(x M) + 32) / 64) with M = round(2^38 / p), then
/// r = x - p q, then at most one correction.
/// @range p in 65..256 and p != 128, x any int32. (For p <= 64 the multiplier would not fit in 32 signed bits.)
/// @exact |x M / 2^38 - x / p| <= |x| 2^-39 <= 2^-8, and floor((floor(y) + 32) / 64) = floor((y + 32) / 64), so
///        q = floor(x/p + 1/2 + d) with |d| <= 2^-8 and -p/2 - p 2^-8 <= r <= p/2 + p 2^-8: one correction is enough.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int reduce_i32(std::int32_t x, int p, std::int32_t multiplier) {
  const auto high = static_cast<std::int32_t>((static_cast<std::int64_t>(x) * multiplier) >> 32);
  const std::int32_t q = p > 128 ? (high + 32) >> 6 : (high + 16) >> 5;
  // The difference is small, the product alone may leave int32: subtract modulo 2^32.
  int r = static_cast<std::int32_t>(static_cast<std::uint32_t>(x) -
                                    static_cast<std::uint32_t>(p) * static_cast<std::uint32_t>(q));
  if (r < residue_min(p)) r += p;
  if (r > residue_max(p)) r -= p;
  return r;
}

/// The inverse of a modulo p. @range gcd(a, p) = 1; the result is in [1, p).
[[nodiscard]] constexpr int modular_inverse(std::int64_t a, int p) {
  const auto reduced = static_cast<int>(((a % p) + p) % p);
  for (int x = 1; x < p; ++x) {
    if ((reduced * x) % p == 1 % p) return x;
  }
  return 0;
}

/// 2^exponent modulo p as a symmetric residue. @range exponent >= 0
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int power_of_two_residue(int exponent, int p) {
  int r = 1 % p;
  for (int i = 0; i < exponent; ++i) r = (2 * r) % p;
  return symmetric_residue(r, p);
}

}  // namespace kizami::num
