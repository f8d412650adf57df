// SPDX-License-Identifier: MIT
// Residues modulo one p from 0 to p - 1, two in a word (16 bits each) or four (bytes), where sums of Strassen's quadrants are made
// (device_quadrants.cuh). Modulo 256 the low byte of 16 bits is what counts.
#pragma once

#include "kizami/cxx20.hpp"  // before all else

#include <cstdint>

#include "kizami/host_device.hpp"

namespace kizami::ozaki2 {

/// Of each half of a word min(x + y, least), x + y modulo 2^16.
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::uint32_t add_and_least(std::uint32_t x, std::uint32_t y,
                                                                    std::uint32_t least) {
#if defined(__CUDA_ARCH__)
  return __viaddmin_u16x2(x, y, least);
#else
  std::uint32_t out = 0;
  for (int shift = 0; shift < 32; shift += 16) {
    const std::uint32_t sum = ((x >> shift) + (y >> shift)) & 0xFFFFU;
    const std::uint32_t other = least >> shift & 0xFFFFU;
    out |= (sum < other ? sum : other) << shift;
  }
  return out;
#endif
}

/// Residues of sums. @param minus_p  -p in both halves
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::uint32_t add_residue_pairs(std::uint32_t x, std::uint32_t y,
                                                                        std::uint32_t minus_p) {
  const std::uint32_t sum = add_and_least(x, y, ~0U);
  return add_and_least(sum, minus_p, sum);  // less than p, it would leave 16 bits
}

/// The symmetric residues that four bytes stand for. @range p = 256 or odd, at least 3
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::uint32_t symmetric_residue_bytes(std::uint32_t residues, std::uint32_t p) {
  const std::uint32_t to_128 = (127 - (p - 1) / 2) * 0x01010101U;  // from the least that is not its own
  const std::uint32_t is_large = (residues + to_128) >> 7 & 0x01010101U;
  return residues + is_large * (256 - p);
}

}  // namespace kizami::ozaki2
