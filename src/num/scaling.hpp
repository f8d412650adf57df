// SPDX-License-Identifier: MIT
// Multiplication by 2^s for any int s in two exact factors, without leaving the range of FP64 in between.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kizami/host_device.hpp"

namespace kizami::num {

/// 2^s = first * second.
struct ScaleFactors {
  double first = 1.0;
  double second = 1.0;
};

/// 2^e. @range -1022 <= e <= 1023
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr double power_of_two(int e) {
  return bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
}

/// Factors of 2^s for scaled values that the caller knows to stay below 2^200 in magnitude: then s > 1280 means x = 0,
/// and s < -1280 a result below 2^-256, so clamping there changes neither a rounding to integer nor a comparison with
/// 1/2.
/// @exact x * first * second == x 2^s whenever |x 2^s| >= 2^-200 or x = 0
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr ScaleFactors scale_factors(int s) {
  const int clamped = std::clamp(s, -1280, 1280);
  const int half = clamped / 2;
  return {power_of_two(half), power_of_two(clamped - half)};
}

}  // namespace kizami::num
