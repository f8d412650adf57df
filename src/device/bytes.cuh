// SPDX-License-Identifier: MIT
// Bytes in words of 32 bits.
#pragma once

#include <cstdint>

namespace kizami::device {

/// Low bytes of four numbers side by side.
[[nodiscard]] __device__ inline std::uint32_t pack_bytes(std::uint32_t r0, std::uint32_t r1, std::uint32_t r2,
                                                         std::uint32_t r3) {
  return __byte_perm(__byte_perm(r0, r1, 0x0040), __byte_perm(r2, r3, 0x0040), 0x5410);
}

}  // namespace kizami::device
