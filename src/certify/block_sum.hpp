// SPDX-License-Identifier: MIT
// Ordered sums of block products and what surrounds them, piece by piece, for host and device. Those of one term of a line
// are in certify/terms.hpp and certify/block_digit.hpp.
//
// Of a pair of lines, with the exact products I_b < 2^22 of the digits of block b and the deficits d_b, d'_b of its lines,
//   S_0 = 0;   S_{b+1} = RN32(S_b + I_b 2^(-12 - d_b - d'_b)),
// and beyond num::kSegmentBlocks blocks a sum of such sums, likewise in order.
// On a device the bits of the INT32 accumulator are a float as they are, the subnormal I_b 2^-149. With T = 2^(127 - d_b - d'_b),
// a normal number since 0 <= d <= 52, one fused multiply-add is a step of the sum in units of 2^10 S: its addend is
// at least 2^-126, so that nothing underflows, and S < 2^36 keeps it from overflowing.
#pragma once

#include <cstdint>

#include "certify/block_digit.hpp"
#include "certify/digits.hpp"
#include "kizami/host_device.hpp"
#include "num/rung.hpp"

namespace kizami::certify {

/// Units of the device's sums: S = sum 2^kSumShift.
inline constexpr int kSumShift = 10;
static_assert(kScaleShiftA - kDigitBits + kScaleShiftB<1> - kDigitBits - 149 + kSumShift == -2 * kDigitBits);

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

}  // namespace kizami::certify
