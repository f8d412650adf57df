// SPDX-License-Identifier: MIT
// Symmetric residues of INT32 sums without division: the constants, and the same arithmetic for the host.
//
// The long way, for every modulus 2..256 and every INT32 x. Let M = floor((2^32 - 1) / p), q = floor(x M / 2^32) and
// r = x - p q (modulo 2^32, which loses nothing: r is small). M = 2^32 / p - e with 0 < e <= 1, so
// x M / 2^32 = x / p - d with d = x e / 2^32, and -1/2 <= d < 1/2.
//   x >= 0:  0 <= d < 1/2,   q = floor(x/p - d) gives  0 <= r/p < 1 + d,        hence r in [0, 3p/2)
//   x <  0: -1/2 <= d < 0,   q = floor(x/p + |d|) gives -|d| <= r/p < 1,        hence r in [-p/2, p)
// With top = ceil(p/2) - 1, the largest symmetric residue, r <= top is canonical as it stands, and r > top after one
// subtraction of p: r - p is an integer in [-floor(p/2), p/2).
//
// The short way, for |x| <= 2^30 and odd p >= 5. Let b = ceil(log2(p)), s = b - 2 >= 1, M = round(2^(32 + s) / p),
// which lies in (2^30, 2^31), and q = floor((floor(x M / 2^32) + 2^(s - 1)) / 2^s) = floor(x M / 2^(32 + s) + 1/2).
// Then
//   |x M / 2^(32 + s) - x / p| <= 2^30 2^-1 2^-(32 + s) = 2^-(b + 1) < 1 / (2p),
// while x / p + 1/2 is at least 1 / (2p) from every integer, because p is odd: q is x / p rounded to nearest, and
// r = x - p q is the symmetric residue. For p = 256 any q will do, for only the low byte of r is kept: M = 0, s = 1.
//
// kReduceAdd: x = acc + c wraps only where product.hpp says that it is harmless.
#pragma once

#include <cstdint>

namespace kizami::engines {

/// What a plane's residues are computed with.
struct alignas(16) ModulusConstants {
  std::int32_t minus_p;           ///< the modulus, negated
  std::int32_t multiplier;        ///< floor((2^32 - 1) / p)
  std::int32_t short_multiplier;  ///< of sums up to 2^30 in magnitude
  std::int32_t short_shift;       ///< 1 or more; 0 if the modulus has no short form
};

/// @range p in 2..256
[[nodiscard]] constexpr ModulusConstants modulus_constants(int p) {
  ModulusConstants constants{-p, static_cast<std::int32_t>(std::uint32_t{0xFFFFFFFF} / static_cast<std::uint32_t>(p)),
                             0, 0};
  if (p == 256) {
    constants.short_shift = 1;
  } else if (p % 2 != 0 && p >= 5) {
    int bits = 0;
    while ((1 << bits) < p) ++bits;
    constants.short_shift = bits - 2;
    constants.short_multiplier = static_cast<std::int32_t>(((std::int64_t{1} << (30 + bits)) + p / 2) / p);
  }
  return constants;
}

[[nodiscard]] constexpr std::int32_t high_product(std::int32_t x, std::int32_t y) {
  return static_cast<std::int32_t>((static_cast<std::int64_t>(x) * y) >> 32);
}

/// x - p q modulo 2^32.
[[nodiscard]] constexpr std::int32_t remainder_of(std::int32_t x, std::int32_t q, const ModulusConstants& modulus) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(x) +
                                   static_cast<std::uint32_t>(q) * static_cast<std::uint32_t>(modulus.minus_p));
}

/// The largest symmetric residue.
[[nodiscard]] constexpr std::int32_t top_of(const ModulusConstants& modulus) { return (1 - modulus.minus_p) / 2 - 1; }

/// The symmetric residue of x.
[[nodiscard]] constexpr std::int32_t symmetric_residue(std::int32_t x, const ModulusConstants& modulus) {
  const std::int32_t r = remainder_of(x, high_product(x, modulus.multiplier), modulus);
  return r > top_of(modulus) ? r + modulus.minus_p : r;
}

/// The same by the short way; of p = 256 only the low byte counts. @range |x| <= 2^30; modulus.short_shift != 0
[[nodiscard]] constexpr std::int32_t short_residue(std::int32_t x, const ModulusConstants& modulus) {
  const std::int32_t high = high_product(x, modulus.short_multiplier) + (1 << (modulus.short_shift - 1));
  return remainder_of(x, high >> modulus.short_shift, modulus);
}

}  // namespace kizami::engines
