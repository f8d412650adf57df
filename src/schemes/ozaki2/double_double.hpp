// SPDX-License-Identifier: MIT
// Residues -> C in double-double: the exact integer is rounded to 53 bits, and what is left over to 53 more.
#pragma once

#include "kizami/types.hpp"
#include "num/double_double.hpp"
#include "problem/lines.hpp"
#include "schemes/ozaki2/crt.hpp"

namespace kizami::ozaki2 {

/// As reconstruct_crt(). @bound 2^-106 |AB| before the epilogue (num::finish)
void reconstruct_crt(const ResiduePlanes& planes, const std::int32_t* row_scale, const std::int32_t* col_scale,
                     DoubleDouble alpha, DoubleDouble beta, int threads, MatrixView<DoubleDouble> c);

/// The product of line i of A and line j of B from a long accumulator. @range both lines finite @bound 2^-106 |AB|
[[nodiscard]] num::ScaledDoubleDouble accumulated_product(const problem::Lines<double>& a, std::int64_t i,
                                                          const problem::Lines<double>& b, std::int64_t j);
[[nodiscard]] num::ScaledDoubleDouble accumulated_product(const problem::Lines<DoubleDouble>& a, std::int64_t i,
                                                          const problem::Lines<DoubleDouble>& b, std::int64_t j);

}  // namespace kizami::ozaki2
