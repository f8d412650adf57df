// SPDX-License-Identifier: MIT
// Lines with NaN or Inf: counting, refusing, answering.
#pragma once

#include <cstdint>

#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "num/line_stats.hpp"
#include "problem/lines.hpp"
#include "problem/problem.hpp"

namespace kizami::fp64 {

[[nodiscard]] std::int64_t count_nonfinite(const num::LineStats* stats, std::int64_t num_lines);

/// @status kNonFinite if any line holds NaN or Inf: names the operand, how many lines and the first.
Status reject_nonfinite(Side side, const num::LineStats* stats, std::int64_t num_lines);

/// Writes the elements of C in rows and columns with NaN or Inf as exact IEEE arithmetic gives them.
/// @range those elements of C still hold their old values
template <class T, class In>
void answer_nonfinite(const problem::Problem<T, In>& problem, const num::LineStats* a_stats,
                      const num::LineStats* b_stats, int threads);

}  // namespace kizami::fp64
