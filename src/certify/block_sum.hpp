// SPDX-License-Identifier: MIT
// Ordered sums of block products and what surrounds them, piece by piece, for host and device. Those of one term of a line
// are in split/terms.hpp.
//
// Of a pair of lines, with the exact products I_b < 2^22 of the digits of block b and the deficits d_b, d'_b of its lines,
//   S_0 = 0;   S_{b+1} = RN32(S_b + I_b 2^(-12 - d_b - d'_b)),
// and beyond num::kSegmentBlocks blocks a sum of such sums, likewise in order.
// On a device the bits of the INT32 accumulator are a float as they are, the subnormal I_b 2^-149. With T = 2^(127 - d_b - d'_b),
// a normal number since 0 <= d <= 52, one fused multiply-add is a step of the sum in units of 2^10 S: its addend is
// at least 2^-126, so that nothing underflows, and S < 2^36 keeps it from overflowing.
#pragma once

#include <cstdint>

#include "kizami/host_device.hpp"
#include "num/rung.hpp"
#include "split/digits.hpp"

namespace kizami::certify {

/// The factors of T as stored for blocks of A and of B: split::block_scale() times these powers of two. Complex: the
/// accumulators have twice the products, see device_block_sums.cuh.
inline constexpr int kScaleShiftA = 90 + split::kDigitBits;
template <int kTerms>
inline constexpr int kScaleShiftB = 37 + split::kDigitBits - (kTerms == 2 ? 1 : 0);
/// Units of the device's sums: S = sum 2^kSumShift.
inline constexpr int kSumShift = 10;
static_assert(kScaleShiftA - split::kDigitBits + kScaleShiftB<1> - split::kDigitBits - 149 + kSumShift ==
              -2 * split::kDigitBits);

/// split::block_scale(deficit) 2^shift.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr float shifted_block_scale(std::int32_t deficit, int shift) {
  return bit_cast<float>(static_cast<std::uint32_t>(127 - split::kDigitBits - deficit + shift) << 23);
}

/// Where the scale of a line stands among those of its block: sixteen lines as {0, 1, 8, 9}, {2, 3, 10, 11}, ..., four scales
/// that a thread with the pairs of mma.sync or wgmma loads at once.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::int64_t scale_place(std::int64_t line) {
  return line / 16 * 16 + line % 8 / 2 * 4 + line / 8 % 2 * 2 + line % 2;
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

/// One term of a line in 32 bits: its exponent, and the digit that it has in a block of that exponent; 0 for zero.
/// @range shift: |shift| <= 3000
inline constexpr int kTermBias = 8192;
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::uint32_t packed_subnormal(std::uint64_t magnitude, std::int32_t shift) {
  const int leading = 63 - num::count_leading_zeros(magnitude);  // magnitude 2^-1074
  const auto significand =
      static_cast<std::uint32_t>(leading >= 6 ? magnitude >> (leading - 6) : magnitude << (6 - leading)) & 63u;
  return (static_cast<std::uint32_t>(kTermBias - 1074 + leading + shift) << 6) + significand;
}
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::uint32_t packed_term(double x, std::int32_t shift) {
  const auto magnitude = bit_cast<std::uint64_t>(x) & 0x7FFFFFFFFFFFFFFFu;
  const auto high = static_cast<std::uint32_t>(magnitude >> 32);
  constexpr std::uint32_t kSmallestNormal = 0x00100000u;
  if (high < kSmallestNormal) return magnitude == 0 ? 0 : packed_subnormal(magnitude, shift);
  // 11 bits of exponent above 6 bits of the significand.
  return (high >> 14) + (static_cast<std::uint32_t>(kTermBias - 1023 + shift) << 6);
}
/// Its exponent, shifted. @range packed != 0
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::int32_t exponent_of_term(std::uint32_t packed) {
  return static_cast<std::int32_t>(packed >> 6) - kTermBias;
}
/// split::block_digit() of it in a block of that exponent. @range exponent >= that of the term
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t digit_of_term(std::uint32_t packed, std::int32_t exponent) {
  if (packed == 0) return 0;
  const std::int32_t below = exponent - exponent_of_term(packed);
  return below > 6 ? 0 : (64u | (packed & 63u)) >> below;
}

}  // namespace kizami::certify
