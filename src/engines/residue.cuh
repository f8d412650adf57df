// SPDX-License-Identifier: MIT
// The arithmetic of modulus_constants.hpp in the instructions of the device: the short way is three of them.
#pragma once

#include <cstdint>

#include "engines/modulus_constants.hpp"

namespace kizami::engines {

/// The high word of x y + add 2^32.
__device__ __forceinline__ std::int32_t high_product_add(std::int32_t x, std::int32_t y, std::int32_t add) {
  std::int32_t high = 0;
  asm("mad.hi.s32 %0, %1, %2, %3;\n" : "=r"(high) : "r"(x), "r"(y), "r"(add));
  return high;
}

/// What a thread needs of a plane's modulus, in registers.
struct ResidueOfPlane {
  std::int32_t minus_p;
  std::int32_t multiplier;
  std::int32_t half;   ///< the short way: 2^(shift - 1)
  std::int32_t shift;  ///< the short way
  std::int32_t top;    ///< the long way: the largest symmetric residue
};

template <bool kIsShort>
__device__ __forceinline__ ResidueOfPlane residue_of_plane(const ModulusConstants& modulus) {
  if constexpr (kIsShort) {
    return {modulus.minus_p, modulus.short_multiplier, 1 << (modulus.short_shift - 1), modulus.short_shift, 0};
  } else {
    return {modulus.minus_p, modulus.multiplier, 0, 0, top_of(modulus)};
  }
}

/// An integer whose low byte is the symmetric residue of x.
template <bool kIsShort>
__device__ __forceinline__ std::int32_t residue_byte(std::int32_t x, const ResidueOfPlane& plane) {
  const auto times_minus_p = [&](std::int32_t q) {
    return static_cast<std::uint32_t>(q) * static_cast<std::uint32_t>(plane.minus_p);
  };
  if constexpr (kIsShort) {
    const std::int32_t q = high_product_add(x, plane.multiplier, plane.half) >> plane.shift;
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(x) + times_minus_p(q));
  } else {
    const std::int32_t q = __mulhi(x, plane.multiplier);
    const auto r = static_cast<std::int32_t>(static_cast<std::uint32_t>(x) + times_minus_p(q));
    return r > plane.top ? r + plane.minus_p : r;
  }
}

/// The low bytes of four integers, a first in memory.
__device__ __forceinline__ std::uint32_t pack_bytes(std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d) {
  const std::uint32_t ab = __byte_perm(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), 0x0040);
  const std::uint32_t cd = __byte_perm(static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(d), 0x0040);
  return __byte_perm(ab, cd, 0x5410);
}

}  // namespace kizami::engines
