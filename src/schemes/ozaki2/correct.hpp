// SPDX-License-Identifier: MIT
// Accuracy `correct`: every element, or part of a complex element, is the exact product rounded once.
//   X = sum a'b' is exact by CRT, and |AB 2^(s+t) - X| <= E, E = 0 where both lines were split exactly. If X - E and X
//   + E round to the same number, that is the answer; if not, the terms are summed in a long accumulator.
// @cite Ziv1991 (rounding test); Kulisch1971 (long accumulator)
#pragma once

#include <cstdint>

#include "kizami/types.hpp"
#include "num/rung.hpp"
#include "problem/lines.hpp"
#include "schemes/ozaki2/crt.hpp"

namespace kizami::ozaki2 {

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
