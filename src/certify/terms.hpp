// SPDX-License-Identifier: MIT
// What the split makes of one real term, one block of digits or one inner index: FP64 formulas for host and device. The
// first look on the device has the same numbers from integers (device/line.cuh).
#pragma once

#include <cmath>
#include <cstdint>

#include "certify/digits.hpp"
#include "kizami/host_device.hpp"
#include "num/exponent.hpp"
#include "num/line_stats.hpp"
#include "num/scaling.hpp"

namespace kizami::certify {

/// floor(log2 |x 2^shift|), or num::kNoExponent for zero. @range x finite
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::int32_t shifted_exponent(double x, std::int32_t shift) {
  return x == 0.0 ? num::kNoExponent : num::floor_log2(x) + shift;
}

/// floor(|x| 2^s), f the factors of 2^s. @range the result is below 128
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::int32_t digit(double x, const num::ScaleFactors& f) {
  return static_cast<std::int32_t>(std::fabs(x) * f.first * f.second);
}
/// The digit of x 2^shift in a block whose largest exponent is `exponent`.
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::int32_t block_digit(double x, std::int32_t shift, std::int32_t exponent) {
  return x == 0.0 ? 0 : digit(x, num::scale_factors(kDigitBits - exponent + shift));
}

/// How far a block lies below its line; beyond kMaxDeficit for a block without a non-zero term.
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::int32_t block_deficit(std::int32_t line_exponent,
                                                                   std::int32_t block_exponent) {
  return block_exponent == num::kNoExponent ? kMaxDeficit + 1 : line_exponent - block_exponent;
}
/// 2^-(kDigitBits + deficit): a block's digits times this are what they stand for, relative to 2^exponent of the line.
/// @range 0 <= deficit <= kMaxDeficit
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr float block_scale(std::int32_t deficit) {
  return bit_cast<float>(static_cast<std::uint32_t>(127 - kDigitBits - deficit) << 23);
}

/// Factors that take the terms x 2^shift of a line to the units of its magnitudes.
[[nodiscard]] KIZAMI_HOST_DEVICE inline num::ScaleFactors magnitude_factors(std::int32_t line_exponent,
                                                                            std::int32_t shift) {
  return num::scale_factors(num::kAbsBits - line_exponent + shift);
}
/// What a term adds to LineStats::sum_abs and LineStats::sum_squares.
struct Magnitude {
  std::uint64_t units = 0;
  std::uint64_t square = 0;
};
/// ceil(|x| 2^(kAbsBits - exponent)), and the square of ceil(|x| 2^(kSquareBits - exponent)).
/// The scaled value is exact unless it is far below 1; every non-zero element counts at least 1 unit.
[[nodiscard]] KIZAMI_HOST_DEVICE inline Magnitude magnitude_of(double x, const num::ScaleFactors& f) {
  const double scaled = std::fabs(x) * f.first * f.second;  // < 2^(kAbsBits + 1)
  auto units = static_cast<std::uint64_t>(scaled);
  units += static_cast<double>(units) < scaled || (units == 0 && x != 0.0) ? 1 : 0;
  constexpr int kCoarser = num::kAbsBits - num::kSquareBits;
  const std::uint64_t coarse = (units + (std::uint64_t{1} << kCoarser) - 1) >> kCoarser;
  return {units, coarse * coarse};
}

/// Whether a difference of the largest exponents e of a column of A and f of a row of B counts: a zero column (or row)
/// contributes nothing.
[[nodiscard]] KIZAMI_HOST_DEVICE inline bool is_live(std::int32_t e, std::int32_t f) {
  return e != num::kNoExponent && f != num::kNoExponent;
}
/// d of equilibration_shifts(): A takes 2^-d, B 2^d. `least` and `most` are over the live differences e - f.
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::int32_t equilibration_shift(std::int32_t e, std::int32_t f,
                                                                         std::int32_t least, std::int32_t most) {
  if (!is_live(e, f)) return 0;
  const std::int32_t quarters = 2 * (e - f) - most - least;
  const std::int32_t nearest = ((quarters < 0 ? -quarters : quarters) + 1) / 4;  // ties towards zero
  return quarters < 0 ? -nearest : nearest;
}

}  // namespace kizami::certify
