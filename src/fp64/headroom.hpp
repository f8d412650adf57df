// SPDX-License-Identifier: MIT
// How the FP64 rung scales lines before it multiplies them, for host and device. Not part of the module's interface.
#pragma once

#include "kizami/host_device.hpp"
#include "num/line_stats.hpp"
#include "num/scaling.hpp"

namespace kizami::fp64 {

/// Lines are scaled so that their largest element lies in [2^480, 2^481): with k < 2^34 no sum reaches 2^1000.
inline constexpr int kHeadroomExponent = 480;
/// Levels of the pairwise combination: chains of 128 in k < 2^34.
inline constexpr int kMaxLevels = 34 - 7 + 1;
static_assert((num::kMaxLineLength + 127) / 128 < std::int64_t{1} << kMaxLevels);

[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int line_shift(const num::LineStats& line) {
  return line.is_zero() ? 0 : kHeadroomExponent - line.exponent;
}

/// 2^shift in two factors, exact for results in FP64's normal range. @range |shift| <= 1600
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr num::ScaleFactors headroom_factors(int shift) {
  return {num::power_of_two(shift / 2), num::power_of_two(shift - shift / 2)};
}

/// Whether terms of this pair may underflow when each line is scaled by its own maximum: scaled elements are multiples
/// of 2^(480 - span), their products of 2^(960 - spans), and every operation is exact down to 2^-1074.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool may_underflow(const num::LineStats& a, const num::LineStats& b) {
  constexpr int kMinExponent = -1074;
  const int a_lowest = kHeadroomExponent - num::span_bits(a);
  const int b_lowest = kHeadroomExponent - num::span_bits(b);
  return a_lowest < kMinExponent || b_lowest < kMinExponent || a_lowest + b_lowest < kMinExponent;
}

}  // namespace kizami::fp64
