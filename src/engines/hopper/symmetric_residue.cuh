// SPDX-License-Identifier: MIT
// Symmetric residues of INT32 accumulators without division, for every modulus 2..256 and every INT32.
//
// Let M = floor((2^32 - 1) / p), q = floor(x M / 2^32) and r = x - p q (modulo 2^32, which loses nothing: r is small).
// M = 2^32 / p - e with 0 < e <= 1, so x M / 2^32 = x / p - d with d = x e / 2^32, and -1/2 <= d < 1/2.
//   x >= 0:  0 <= d < 1/2,   q = floor(x/p - d) gives  0 <= r/p < 1 + d,        hence r in [0, 3p/2)
//   x <  0: -1/2 <= d < 0,   q = floor(x/p + |d|) gives -|d| <= r/p < 1,        hence r in [-p/2, p)
// With top = ceil(p/2) - 1, the largest symmetric residue, r <= top is canonical as it stands, and r > top after one
// subtraction of p: r - p is an integer in [-floor(p/2), p/2).
//
// kReduceAdd: x = acc + c wraps only where product.hpp says that it is harmless.
#pragma once

#include <cstdint>

#include "engines/hopper/product_params.hpp"

namespace kizami::engines::hopper {

/// The symmetric residue of x as a 32-bit integer.
__device__ __forceinline__ std::int32_t symmetric_residue(std::int32_t x, const ModulusConstants& modulus) {
  const std::int32_t q = __mulhi(x, modulus.multiplier);
  const auto r = static_cast<std::int32_t>(static_cast<std::uint32_t>(x) -
                                           static_cast<std::uint32_t>(q) * static_cast<std::uint32_t>(modulus.p));
  const std::int32_t top = (modulus.p + 1) / 2 - 1;
  return r > top ? r - modulus.p : r;
}

/// The low bytes of four integers, a first in memory.
__device__ __forceinline__ std::uint32_t pack_bytes(std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d) {
  const std::uint32_t ab = __byte_perm(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), 0x0040);
  const std::uint32_t cd = __byte_perm(static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(d), 0x0040);
  return __byte_perm(ab, cd, 0x5410);
}

}  // namespace kizami::engines::hopper
