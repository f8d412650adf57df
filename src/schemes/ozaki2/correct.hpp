// SPDX-License-Identifier: MIT
// Accuracy `correct`: every element, or part of a complex element, is the exact product rounded once.
//   X = sum a'b' is exact by CRT, and |AB 2^(s+t) - X| <= E, E = 0 where both lines were split exactly. If X - E and X
//   + E round to the same number, that is the answer; if not, the terms are summed in a long accumulator.
// @cite Ziv1991 (rounding test); Kulisch1971 (long accumulator)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kizami/types.hpp"
#include "num/rung.hpp"
#include "problem/lines.hpp"
#include "schemes/ozaki2/crt.hpp"

namespace kizami::ozaki2 {

/// Pairs of inexact lines take a rounding test, which seldom fails: few of them are no reason for a higher rung.
inline constexpr std::int64_t kInexactPairs = 16;

/// The lowest rung that splits the lines of all but 1/kInexactPairs of the pairs exactly; the highest if none does.
/// @param exact_rows, exact_cols  lines that each rung splits exactly   @range ladder.num_rungs >= 1
[[nodiscard]] constexpr int lowest_exact_rung(const num::Ladder& ladder, std::int64_t num_pairs,
                                              const std::array<std::int64_t, num::kMaxRungs>& exact_rows,
                                              const std::array<std::int64_t, num::kMaxRungs>& exact_cols) {
  for (int r = 0; r < ladder.num_rungs; ++r) {
    const auto at = static_cast<std::size_t>(r);
    if (num_pairs - exact_rows[at] * exact_cols[at] <= num_pairs / kInexactPairs) return r;
  }
  return ladder.num_rungs - 1;
}

/// A block of C and what its lines are.
template <class T>
struct CorrectBlock {
  problem::Lines<T> a;                      ///< the rows of the block
  problem::Lines<T> b;                      ///< the columns of the block
  const std::int32_t* row_scale = nullptr;  ///< as in reconstruct_crt()
  const std::int32_t* col_scale = nullptr;
  const num::LineError* row_error = nullptr;
  const num::LineError* col_error = nullptr;
};

/// C <- +-AB, correctly rounded: subnormals, overflow to Inf; an exact zero is +0.
/// @shape  c: m x n; planes as in reconstruct_crt() @return elements (or parts) that the long accumulator answered
/// @queue  blocks until done, on up to `threads` threads
template <class T>
std::int64_t reconstruct_correct(const ResiduePlanes& planes, const CorrectBlock<T>& block, bool negate, int threads,
                                 MatrixView<T> c);

}  // namespace kizami::ozaki2
