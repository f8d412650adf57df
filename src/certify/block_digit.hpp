// SPDX-License-Identifier: MIT
// One term of a line as a digit of a block, and the scale of a block, for host and device.
#pragma once

#include <cstdint>

#include "certify/digits.hpp"
#include "kizami/host_device.hpp"
#include "num/exponent.hpp"

namespace kizami::certify {

/// Scales are stored as factors of certify/block_sum.hpp's T: those of A and of B are 2^-(kDigitBits + deficit) times
/// these powers of two. Complex: the accumulators have twice the products.
inline constexpr int kScaleShiftA = 90 + kDigitBits;
template <int kTerms>
inline constexpr int kScaleShiftB = 37 + kDigitBits - (kTerms == 2 ? 1 : 0);
/// 2^(shift - kDigitBits - deficit).
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr float shifted_block_scale(std::int32_t deficit, int shift) {
  return bit_cast<float>(static_cast<std::uint32_t>(127 - kDigitBits - deficit + shift) << 23);
}

/// Where the scale of a line stands among those of its block: sixteen lines as {0, 1, 8, 9}, {2, 3, 10, 11}, ..., four
/// scales that a thread with the pairs of mma.sync or wgmma loads at once.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::int64_t scale_place(std::int64_t line) {
  return line / 16 * 16 + line % 8 / 2 * 4 + line / 8 % 2 * 2 + line % 2;
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
/// block_digit() of it in a block of that exponent. @range exponent >= that of the term; of zero: an exponent of
/// num::LineStats
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t digit_of_term(std::uint32_t packed, std::int32_t exponent) {
  const auto below = static_cast<std::uint32_t>(exponent - exponent_of_term(packed));  // of zero: far below, or above
  return (64u | (packed & 63u)) >> (below < 31 ? below : 31);
}

}  // namespace kizami::certify
