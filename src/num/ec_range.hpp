// SPDX-License-Identifier: MIT
// Whether FP32 operands are within the range of scheme ec's two-part forms, from what a split sees of each line by
// itself. No pair of lines is looked at, so this costs a device nothing, and it is sufficient only: schemes/ec/run.cpp
// knows a certificate that accepts more.
//
// With y = x 2^scale, the largest of a line in [2^top, 2^(top + 1)), G = sum |y_a||y_b| over k, and `budget` what range
// errors may take of G:
//   FP16 (top 14). The parts of y miss 2^-25 beyond the 2^-22 |y| that num::ec_bound() counts, and where a part is
//   subnormal its products are aligned as if it were 2^-14: 17 addends cut at 2^(-14 - 25) of the other factor.
//     fine   no element but zeros is below F: each misses (2^-25 + 17 2^-39) / F of itself. Two lines:
//            2^-24 (1 + 2^-8) / F <= budget.
//     dense  3/4 of the elements have a first part of at least D (1 + 2^-10), so are at least D: of two such lines k / 2 elements meet, so G >= k D^2 / 2. All elements of both
//            miss 2 k 2^-25 2^15, alignment 3 k/16 steps of 17 2^-25: together less than k 2^-9 (1 + 2^-8), which is to
//            be at most budget k D^2 / 2.
//     So FP16 holds if all lines are fine, or all are dense.
//   TF32 (top 45). The parts miss 2^-137, sums are multiples of 2^-149, subnormal parts are aligned as 2^-126.
//     narrow no element but zeros is below 2^(top - 95): products are at least 2^-100, no part is subnormal, and a step with a
//            product misses 2^-149: less than 2^-48 of it.
//     full   every element is at least 2^(top - 124), and G at least 2^45 2^-79 whatever the other line is. All misses:
//            less than k 2^46 2^-136, thus k 2^-56 of G.
//     So TF32 holds for k <= 2^30 with 2^-26 of G set aside if all lines are narrow, or all of one operand are full.
// Lines of zeros have no error in either, and lines with NaN or Inf are answered elsewhere: they have no flags.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kizami/host_device.hpp"

namespace kizami::num {

/// What a line is not. Flags of several lines are combined by |.
enum EcLineFlag : std::uint32_t {
  kEcNotFine = 1,
  kEcNotDense = 2,
  kEcNotNarrow = 4,
  kEcNotFull = 8,
};
inline constexpr std::uint32_t kEcAllFlags = 15;

/// Thresholds of |y|, but for `dense`, which is one of |hi| and a number of 11 bits.
struct EcRangeLimits {
  float fine = 0;
  float dense = 0;
  float narrow = 0;
  float full = 0;
};

/// Limits for lines scaled to 2^top, given what range errors of FP16 may take. @range f16_budget > 0
[[nodiscard]] inline EcRangeLimits ec_range_limits(int top, double f16_budget) {
  constexpr int kF16Top = 14;
  const auto up = [](double x) { return static_cast<float>(x * (1.0 + 0x1p-20)); };
  const double to_top = std::ldexp(1.0, top - kF16Top);
  const double fine = std::max(0x1p-24 * (1.0 + 0x1p-8) / f16_budget, 0x1p-14);
  const double dense = std::sqrt(0x1p-8 * (1.0 + 0x1p-8) / f16_budget) * (1.0 + 0x1p-10) * to_top;
  const int ulp = std::ilogb(dense) - 10;
  const double dense_hi = std::ldexp(std::ceil(std::ldexp(dense, -ulp)), ulp);
  return {up(fine * to_top), static_cast<float>(dense_hi), std::ldexp(1.0F, top - 95), std::ldexp(1.0F, top - 124)};
}

/// What a split counts of a line.
struct EcLineSight {
  float smallest = 0;          ///< |y| of the smallest element that is not zero, at least 2^-149; 0: all are
  std::int64_t num_dense = 0;  ///< elements with a first part of at least EcRangeLimits::dense
  std::int64_t num_full = 0;   ///< elements of at least EcRangeLimits::full
};

/// Flags of a finite line of `length` elements.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t ec_line_flags(const EcRangeLimits& limits,
                                                                       const EcLineSight& line, std::int64_t length) {
  if (line.smallest == 0.0F) return 0;
  return (line.smallest < limits.fine ? kEcNotFine : 0U) | (4 * line.num_dense < 3 * length ? kEcNotDense : 0U) |
         (line.smallest < limits.narrow ? kEcNotNarrow : 0U) | (line.num_full < length ? kEcNotFull : 0U);
}

/// Whether FP16 holds operands whose lines have these flags.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool ec_f16_holds(std::uint32_t a, std::uint32_t b) {
  return ((a | b) & kEcNotFine) == 0 || ((a | b) & kEcNotDense) == 0;
}
/// Whether TF32 does.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool ec_tf32_holds(std::uint32_t a, std::uint32_t b) {
  return ((a | b) & kEcNotNarrow) == 0 || (a & kEcNotFull) == 0 || (b & kEcNotFull) == 0;
}

}  // namespace kizami::num
