// SPDX-License-Identifier: MIT
// Symmetric residues of INT32 accumulators by one high product, without division, for every modulus 2..256.
//
// Let M = floor((2^32 - 1) / p), q = floor(x M / 2^32) and r = x - p q (modulo 2^32, which loses nothing: r is small).
// M = 2^32 / p - e with 0 < e <= 1, so x M / 2^32 = x / p - d with d = x e / 2^32, and -1/2 <= d < 1/2 for any INT32 x.
//   x >= 0:  0 <= d < 1/2,   q = floor(x/p - d) gives  0 <= r/p < 1 + d,        hence r in [0, 3p/2)
//   x <  0: -1/2 <= d < 0,   q = floor(x/p + |d|) gives -|d| <= r/p < 1,        hence r in [-p/2, p)
// Together r in [-p/2, 3p/2), the upper end excluded. With top = ceil(p/2) - 1, the largest symmetric residue:
//   r <= top:  r is an integer >= -p/2, hence >= -floor(p/2): canonical as it stands.
//   r >  top:  r - p is in [top + 1 - p, p/2) = [-floor(p/2), p/2), and an integer below p/2 is <= top: canonical.
// So one conditional subtraction suffices. 1 <= M <= 2^31 - 1 for p >= 2, so M is a positive INT32.
//
// kReduceAdd: x = acc + c in INT32. The extremes of acc are 2^31 (all -128, k = 2^17), then 2^31 - 128, and
// -2^17 * 128 * 127 = -2^31 + 2^24 below: with c in [-128, 127] only the first leaves INT32. By product.hpp it occurs
// for p = 256 alone (or another power of two), which divides 2^32, so wrapping is harmless.
#pragma once

#include <cstdint>

namespace kizami::engines {

struct ResidueConstants {
  std::int32_t p;
  std::int32_t multiplier;  ///< M
  std::int32_t top;         ///< largest symmetric residue
};

[[nodiscard]] constexpr ResidueConstants residue_constants(int p) {
  return {p, static_cast<std::int32_t>(std::uint32_t{0xFFFFFFFF} / static_cast<std::uint32_t>(p)), (p + 1) / 2 - 1};
}

/// The symmetric residue of x + add, as above. @range add in [-128, 127]
[[nodiscard]] constexpr std::int8_t symmetric_residue(std::int32_t acc, std::int32_t add,
                                                      const ResidueConstants& constants) {
  const std::uint32_t x = static_cast<std::uint32_t>(acc) + static_cast<std::uint32_t>(add);
  const std::int64_t product = std::int64_t{static_cast<std::int32_t>(x)} * constants.multiplier;
  const auto q = static_cast<std::uint32_t>(product >> 32);
  const auto r = static_cast<std::int32_t>(x - q * static_cast<std::uint32_t>(constants.p));
  return static_cast<std::int8_t>(r > constants.top ? r - constants.p : r);
}

}  // namespace kizami::engines
