// SPDX-License-Identifier: MIT
// The arithmetic of modulus_constants.hpp in the instructions of the device: three of them, or four where sums have a sign.
#pragma once

#include <cstdint>

#include "engines/modulus_constants.hpp"

namespace kizami::engines {

/// Of each sum an integer whose low byte is its symmetric residue. Step by step for all of them: a warp may be alone on its
/// scheduler, and one after another each instruction would wait for the one before.
template <bool kHasSign, int kCount>
__device__ __forceinline__ void take_residues(const ModulusConstants& modulus, std::int32_t (&x)[kCount]) {
  float quotient[kCount];
#pragma unroll
  for (int e = 0; e < kCount; ++e) {
    const std::uint32_t word = static_cast<std::uint32_t>(x[e]) ^ (kHasSign ? 0x80000000U : 0U);
    asm volatile("dp4a.u32.s32 %0, %1, %2, %3;\n" : "=r"(x[e]) : "r"(word), "r"(modulus.weights), "r"(modulus.origin));
  }
#pragma unroll
  for (int e = 0; e < kCount; ++e) quotient[e] = __fmaf_rn(__int_as_float(x[e]), modulus.inverse, 0x1p23F);
#pragma unroll
  for (int e = 0; e < kCount; ++e) {
    const std::uint32_t product = __float_as_uint(quotient[e]) * static_cast<std::uint32_t>(modulus.minus_p);
    x[e] = static_cast<std::int32_t>(static_cast<std::uint32_t>(x[e]) + product);
  }
}

/// The low bytes of four integers, a first in memory.
__device__ __forceinline__ std::uint32_t pack_bytes(std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d) {
  const std::uint32_t ab = __byte_perm(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), 0x0040);
  const std::uint32_t cd = __byte_perm(static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(d), 0x0040);
  return __byte_perm(ab, cd, 0x5410);
}

}  // namespace kizami::engines
