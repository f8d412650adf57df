// SPDX-License-Identifier: MIT
// What scheme ozaki2 needs to know of one line (a row of op(A) or a column of op(B)): integers only, gathered by max,
// min and sums, so that neither order, tiling nor machine changes them, and independent of the unit: a line multiplied
// by 2^s has exponent and lsb moved by s and equal sums.
#pragma once

#include <cstdint>

#include "kizami/host_device.hpp"

namespace kizami::num {

/// Fraction bits of the scaled magnitudes that are summed: q = ceil(|x| 2^(kAbsBits - exponent)) <= 2^(kAbsBits + 1).
inline constexpr int kAbsBits = 20;
/// Likewise for the squares: r = ceil(|x| 2^(kSquareBits - exponent)) <= 2^(kSquareBits + 1), r^2 is summed.
inline constexpr int kSquareBits = 14;
/// Largest line length: r^2 <= 2^(2 kSquareBits + 2), so sum_squares fits in 64 bits for k < 2^34.
inline constexpr std::int64_t kMaxLineLength = (std::int64_t{1} << 34) - 1;
static_assert(kMaxLineLength <= static_cast<std::int64_t>(UINT64_MAX >> (2 * kSquareBits + 2)));

/// Smallest possible lsb and largest possible exponent of one FP64 value moved by any equilibration shift; beyond them
/// means "no non-zero element".
inline constexpr int kNoExponent = -100000;
inline constexpr int kNoLsb = 100000;

/// Instead of the power of two of a line: someone else answers its elements (NaN or Inf).
inline constexpr std::int32_t kSkipLine = INT32_MIN;

struct LineStats {
  std::int32_t exponent = kNoExponent;  ///< floor(log2(max |x|)); kNoExponent if all elements are zero
  std::int32_t lsb = kNoLsb;      ///< largest e such that every element is a multiple of 2^e; kNoLsb if all are zero
  std::uint64_t sum_squares = 0;  ///< sum r^2: (||x||_2 2^-exponent)^2 <= sum_squares 2^(-2 kSquareBits)
  std::uint64_t sum_abs = 0;      ///< sum q:   ||x||_1 2^-exponent <= sum_abs 2^-kAbsBits
  bool is_finite = true;          ///< false: the line holds NaN or Inf; the other fields are those of a zero line

  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_zero() const { return exponent == kNoExponent; }
  friend constexpr bool operator==(const LineStats&, const LineStats&) = default;
};

/// Bits between the leading bit of the largest element and the last bit of any: the line is an integer multiple of
/// 2^(exponent - span_bits).
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int span_bits(const LineStats& line) {
  return line.is_zero() ? 0 : line.exponent - line.lsb;
}

}  // namespace kizami::num
