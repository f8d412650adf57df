// SPDX-License-Identifier: MIT
// Lines as the certificate of scheme ozaki1 sees them: in the words of scheme ozaki2 (rung.hpp), so that one
// certificate serves both. FP64 operations without contraction: host and device find the same weights, and so the same
// rung.
#pragma once

#include <array>

#include "kizami/host_device.hpp"
#include "num/line_stats.hpp"
#include "num/rung.hpp"
#include "num/slices.hpp"

namespace kizami::num {

/// Rungs of more and more slices.
struct SliceLadder {
  DigitRule rule;
  int num_rungs = 0;
  std::array<int, kMaxRungs> exact_digits{};  ///< two lines of so many digits have all their products taken
  double dropped_share = 0;                   ///< k Q / R_l, the largest of all rungs
};

/// A line's error in units of R_l 2^exponent is 1, and 0 where it has so few digits that products with another such
/// line are all taken; norm1 has the line's part in the dropped products.
[[nodiscard]] KIZAMI_HOST_DEVICE inline LineWeight slice_weight(const SliceLadder& ladder, const LineStats& line) {
  LineWeight weight;
  if (line.is_zero()) return weight;
  const int digits = num_exact_digits(ladder.rule, line, line.exponent);
  // With one line of few digits but more than one the other one's dropped products are still there: norm1 has them
  // whole. Of two other lines each has half of them.
  weight.exact_rung = ladder.num_rungs;
  for (int r = ladder.num_rungs - 1; r >= 0; --r) {
    if (digits <= ladder.exact_digits[static_cast<std::size_t>(r)]) weight.exact_rung = r;
  }
  const double share = digits == 1 ? 0.0 : weight.exact_rung < ladder.num_rungs ? 1.0 : 0.5;
  const double norm1 = static_cast<double>(line.sum_abs) * 0x1p-20 * (1.0 + 0x1p-50);
  const double whole = norm1 + share * ladder.dropped_share;
  weight.norm2 = 1.0F;
  weight.norm1 = round_up_to_float(whole < 1.0 ? 1.0 : whole);
  return weight;
}
static_assert(kAbsBits == 20);

/// The lowest rung that certifies every pair, or -1: slices leave no pair to FP64 arithmetic.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr Selection lowest_for_all(const Ladder& ladder,
                                                                    const RungHistogram& histogram) {
  int rung = ladder.num_rungs;
  while (rung > 0 && histogram.pairs[static_cast<std::size_t>(rung)] == 0) --rung;
  return {rung < ladder.num_rungs ? rung : -1, false, 0};
}

}  // namespace kizami::num
