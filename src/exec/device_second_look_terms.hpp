// SPDX-License-Identifier: MIT
// What the second look does with one block of two lines, one pair, one tile: the formulas of certificate.cpp piece by
// piece, for host and device. Those of one term of a line are in split/terms.hpp.
#pragma once

#include <cstdint>

#include "kizami/host_device.hpp"

namespace kizami::exec {

/// x >> amount, and 0 for amounts of 32 and more, which C++ leaves undefined.
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::uint32_t shift_right(std::uint32_t x, std::uint32_t amount) {
#if defined(__CUDA_ARCH__)
  std::uint32_t shifted;
  asm("shr.u32 %0, %1, %2;" : "=r"(shifted) : "r"(x), "r"(amount));
  return shifted;
#else
  return amount < 32 ? x >> amount : 0;
#endif
}

/// The sum of a block, acc < 2^20, goes to the pair as (acc << shift) >> deficit, the deficit of both lines together.
/// A shift and a product of 32 by 32 bits do it while deficits are small:
///   (acc 2^(kLead - deficit_b)) * 2^(lead - deficit_a)   with lead = shift - kLead;
/// beyond that acc 2^kLead is shifted down by what is left. 2 <= lead <= 31 since 13 <= shift <= 42.
inline constexpr int kLead = 11;

[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_near(int lead, std::uint32_t deficit_a, std::uint32_t deficit_b) {
  return deficit_a <= static_cast<std::uint32_t>(lead) && deficit_b <= static_cast<std::uint32_t>(kLead);
}
/// @range is_near(lead, deficit_a, deficit_b); factor_a = 2^(lead - deficit_a), lead_b = kLead - deficit_b
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::uint64_t near_block_term(std::uint32_t acc, std::uint32_t factor_a,
                                                                      std::uint32_t lead_b) {
  return static_cast<std::uint64_t>(acc << lead_b) * factor_a;
}
/// @range any deficits
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::uint64_t block_term(std::uint32_t acc, int lead, std::uint32_t deficit_a,
                                                                 std::uint32_t deficit_b) {
  const int deficit = static_cast<int>(deficit_a + deficit_b);
  const int rest = deficit > lead ? deficit - lead : 0;
  const std::uint32_t factor = std::uint32_t{1} << (lead - (deficit - rest));
  return static_cast<std::uint64_t>(shift_right(acc << kLead, static_cast<std::uint32_t>(rest))) * factor;
}
/// From this deficit on a term is zero: acc << shift is below 2^62.
inline constexpr std::uint32_t kVanishingDeficit = 62;

/// The bits of a line of B with those of real and imaginary parts exchanged.
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::uint64_t swap_bit_pairs(std::uint64_t x) {
  return (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
}

/// Tiles are walked in bands of this many tile rows, so that blocks that work at the same time share lines.
inline constexpr std::int64_t kBandRows = 16;
struct TilePlace {
  std::int64_t row;
  std::int64_t col;
};
[[nodiscard]] KIZAMI_HOST_DEVICE inline TilePlace tile_place(std::int64_t index, std::int64_t rows, std::int64_t cols) {
  const std::int64_t band = index / (kBandRows * cols);
  const std::int64_t first = band * kBandRows;
  const std::int64_t height = rows - first < kBandRows ? rows - first : kBandRows;
  const std::int64_t inside = index - first * cols;
  return {first + inside % height, inside / height};
}

/// Rungs of eight pairs, four bits each.
inline constexpr std::uint32_t kNoPair = 15;  ///< beyond the edge of C
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::uint32_t larger_of_each(std::uint32_t x, std::uint32_t y) {
  std::uint32_t larger = 0;
  for (int bit = 0; bit < 32; bit += 4) {
    const std::uint32_t a = x >> bit & 15;
    const std::uint32_t b = y >> bit & 15;
    larger |= (a > b ? a : b) << bit;
  }
  return larger;
}
/// One bit, the lowest of four, for each pair of this rung.
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::uint32_t pairs_of_rung(std::uint32_t rungs, std::uint32_t rung) {
  std::uint32_t differs = rungs ^ rung * 0x11111111u;
  differs |= differs >> 1;
  differs |= differs >> 2;
  return ~differs & 0x11111111u;
}

}  // namespace kizami::exec
