// SPDX-License-Identifier: MIT
// The error bound of scheme ec, deterministic: it holds for every operand in range, not with some probability. It rests
// on the tensor core adding as its num::TensorCore says, which recorded vectors of the hardware check
// (tests/data/tensor_core), and on nothing else.
//
// With G = (|A||B|)_ij, m_q the magnitude of part q relative to its element (part_magnitude()) and d the remainder of
// the split (split_remainder()):
//   split     |A B - A~ B~| <= (2 d + d^2) G
//   dropped   pairs of parts that are not multiplied: sum m_p m_q G
//   steps     one step of the tensor core sums an accumulator and g products whose absolute sum is at most w. Each of the
//             g + 1 addends loses less than 2^-f 2^E, and 2^E <= the largest addend <= w, since the significand of a
//             product is at least 1; cutting the sum to 24 bits loses less than 2^-23 w. So |error| <= gamma w with
//               gamma = (g + 1) 2^-f + 2^-23                       (rounding to nearest halves its term)
//             and where the step adds the accumulator outside: g 2^-f + 2^-23 + 2^-24 (to nearest) or + 2^-23.
//             A promoted chain starts at zero after each r intervals of L elements. In an interval it takes its P pairs
//             one after another, the first few by turns, so during the L/g steps of pair p at most M_0 + ... + M_p of
//             that interval is in it (M_q = the product of the two magnitudes of pair q; of pairs by turns: all of
//             these), and all M of the intervals before. Of r intervals the first is held longest:
//               error <= gamma (L/g) ((r - 1) P sum_q M_q + sum_p held_p) G.
//             A chain that is not promoted holds up to all of it during all steps: gamma ceil(k/L) (L/g) P sum_q M_q G.
//   outside   promoting adds n = ceil(k / (r L)) numbers in FP32 to nearest, the first one to zero: (n - 1) 2^-24 sum M_q G
//             [Higham2002, section 4.2], no more where they are added in two halves and these to each other; the Horner
//             sum of further sums: 2^-24 each.
// Terms of higher order: e / (1 - e). Subnormal operands have the exponent of the smallest normal number, so there
// 2^E <= w fails: a part of the range error that schemes/ec/recipe.hpp accounts for.
// @cite [OY2021, section 3]; [Fasi2021]; [Higham2002, section 4.2]
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "num/bounds.hpp"
#include "num/tensor_core.hpp"

namespace kizami::num {

/// One sum of a product: the magnitudes M_q of its pairs, in order.
struct EcSumTerms {
  std::array<double, 9> magnitudes{};
  int num_pairs = 0;
  int num_interleaved = 0;  ///< the first so many pairs take turns
  bool promotes = true;
};

struct EcErrorTerms {
  TensorCore core;
  std::int64_t k_interval = 64;  ///< L
  int intervals_promoted = 1;    ///< r
  std::array<EcSumTerms, 3> sums{};
  int num_sums = 1;
  double split_remainder = 0;  ///< d
  double dropped = 0;          ///< sum of m_p m_q over the pairs that are not multiplied
};

/// gamma: the error of one step relative to the absolute sum of its addends.
[[nodiscard]] constexpr double tensor_core_step_bound(const TensorCore& core) {
  const auto cut = [](RoundingMode rounding, double unit) {
    return rounding == RoundingMode::kTowardZero ? unit : 0.5 * unit;
  };
  const double addends = static_cast<double>(core.is_fused ? core.group + 1 : core.group);
  const double alignment = addends * cut(core.alignment, exp2i<double>(-core.fraction_bits));
  const double sum = cut(core.sum_rounding, 0x1p-23);
  return alignment + sum + (core.is_fused ? 0.0 : cut(core.add_rounding, 0x1p-23));
}

/// |C - AB| <= ec_bound() |A||B| for operands within range. @range k >= 0
[[nodiscard]] inline double ec_bound(const EcErrorTerms& terms, std::int64_t k) {
  const double gamma = tensor_core_step_bound(terms.core);
  const auto parts_of = [k](std::int64_t length) { return std::max<std::int64_t>((k + length - 1) / length, 1); };
  const std::int64_t interval = std::max<std::int64_t>(std::min(terms.k_interval, k), 1);
  const auto num_intervals = static_cast<double>(parts_of(interval));
  const auto num_promotions = static_cast<double>(parts_of(terms.k_interval * terms.intervals_promoted));
  const auto held_intervals = std::min(static_cast<double>(terms.intervals_promoted), num_intervals) - 1.0;
  const auto steps = static_cast<double>((interval + terms.core.group - 1) / terms.core.group);
  double error = terms.split_remainder * (2.0 + terms.split_remainder) + terms.dropped;
  for (int s = 0; s < terms.num_sums; ++s) {
    const EcSumTerms& sum = terms.sums[static_cast<std::size_t>(s)];
    double by_turns = 0;
    for (int p = 0; p < sum.num_interleaved; ++p) by_turns += sum.magnitudes[static_cast<std::size_t>(p)];
    double held = 0;
    double held_during_pairs = 0;
    for (int p = 0; p < sum.num_pairs; ++p) {
      held += sum.magnitudes[static_cast<std::size_t>(p)];
      held_during_pairs += p < sum.num_interleaved ? by_turns : held;
    }
    const auto num_pairs = static_cast<double>(sum.num_pairs);
    error += sum.promotes ? gamma * steps * (held_intervals * num_pairs * held + held_during_pairs) +
                                (num_promotions - 1.0) * 0x1p-24 * held
                          : gamma * steps * num_intervals * num_pairs * held;
    if (s > 0) error += 0x1p-24 * (1.0 + held);
  }
  return error < 1.0 ? error / (1.0 - error) * kSlackUp : 1e300;
}

}  // namespace kizami::num
