// SPDX-License-Identifier: MIT
// Whether equilibration is worth a look: what the power-of-two rescaling of the inner index takes from the norms of a
// few lines. |A||B| is the same for equilibrated operands; norms that shrink are moduli saved.
//   Of 64 lines of each operand, the even ones give the largest exponents of columns of A and rows of B, relative to
//   their lines, and so the shifts; the odd ones give log2 of the norm as given less that of the norm shifted. The gain
//   is the lower median of A's plus that of B's.
// Integers only: host and device agree.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kizami/host_device.hpp"
#include "num/exponent.hpp"
#include "num/line_stats.hpp"
#include "problem/lines.hpp"

namespace kizami::certify {

inline constexpr int kGainLines = 64;
inline constexpr int kOddLines = kGainLines / 2;

/// The line that is sample `s` of 64. @range 0 <= s < kGainLines
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::int64_t gain_line(std::int64_t num_lines, int s) {
  return num_lines / kGainLines * s + num_lines % kGainLines * s / kGainLines;
}
static_assert(gain_line(130, 63) == 63 * 130 / 64 && gain_line(1, 63) == 0);

/// log2 of a norm in half bits, rounded down. @range a line that is not zero
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::int32_t norm_half_bits(const num::LineStats& line) {
  return 2 * line.exponent + 63 - num::count_leading_zeros(line.sum_squares);
}

/// The lower median; 0 of none. Sorts the numbers.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::int32_t lower_median(std::int32_t* x, int count) {
  for (int i = 1; i < count; ++i) {
    const std::int32_t value = x[i];
    int at = i;
    for (; at > 0 && x[at - 1] > value; --at) x[at] = x[at - 1];
    x[at] = value;
  }
  return count == 0 ? 0 : x[(count - 1) / 2];
}

/// The gain in half bits; of double-doubles that of their high parts.
/// @shape a_shift, b_shift: [length], scratch
template <class T>
[[nodiscard]] std::int32_t equilibration_gain(const problem::Lines<T>& a, const num::LineStats* a_stats,
                                              const problem::Lines<T>& b, const num::LineStats* b_stats, int threads,
                                              std::int32_t* a_shift, std::int32_t* b_shift);

}  // namespace kizami::certify
