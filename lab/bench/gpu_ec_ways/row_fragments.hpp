// SPDX-License-Identifier: MIT
// Which FP32 elements of a stage a thread loads where the rows of wgmma come from registers: 64 lines of 32 elements, 128
// bytes a line in the 128-byte swizzle (16-byte chunk c of line l lies at chunk c ^ l % 8). A thread of a warp w has of
// rows 16 w + g and 16 w + 8 + g, g = lane / 4, the elements
//   k = 8 u + 2 t, 8 u + 2 t + 1,   t = lane % 4, u = 0..3,
// of which u = 0, 1 belong to the first 16 of k and u = 2, 3 to the others; register h + 2 (u % 2) of a step has row h's.
//
// A row g is line 2 (g % 4) + g / 4 of its eight lines, not line g: a load of 8 bytes serves 16 lanes at a time, and so
// the four rows of those have four pairs of chunks, which are all banks. With line g two rows would share each pair.
#pragma once

#include <cstdint>

#include "kizami/host_device.hpp"

namespace bench::ec_ways {

inline constexpr int kRowElements = 32;  ///< of a line in a stage
inline constexpr int kPairs = 4;         ///< of elements, of a thread and row: u

/// The line of eight that is row g of eight. @range g = 0..7
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int line_of_row(int g) { return 2 * (g % 4) + g / 4; }
/// A lane with the rows of another one, such that lane / 4 of it is the line of the row: what stores C asks for.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int lane_of_lines(int lane) { return 4 * line_of_row(lane / 4) + lane % 4; }

/// Where a lane's pair u begins, in bytes from the first of 16 lines; of row g + 8 kEightLines further. The pairs of a lane
/// differ in bits 5 and 6 alone, and stages begin on 1024 bytes, so an address with pair 0 ^ u kPairBit is that with pair u.
inline constexpr std::uint32_t kEightLines = 8 * 128;
inline constexpr std::uint32_t kPairBit = 32;
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t pair_offset(int lane, int u) {
  const auto line = static_cast<std::uint32_t>(line_of_row(lane / 4));
  const auto t = static_cast<std::uint32_t>(lane % 4);
  const std::uint32_t chunk = (2 * static_cast<std::uint32_t>(u) + t / 2) ^ line;
  return line * 128 + chunk * 16 + t % 2 * 8;
}

}  // namespace bench::ec_ways
