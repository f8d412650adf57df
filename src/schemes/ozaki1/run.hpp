// SPDX-License-Identifier: MIT
// Scheme ozaki1, phase by phase: statistics, number of slices, split, products, exact sums, rounding.
#pragma once

#include <cstddef>

#include "kizami/outcome.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "problem/problem.hpp"
#include "schemes/prepared.hpp"

namespace kizami::ozaki1 {

/// Operands that no number of slices certifies are answered by scheme ozaki2; the outcome says so.
/// @range a problem that fits the plan and is no quick return; workspace of plan.schedule.workspace_bytes; prepared
///        operands as for run_ozaki2()
/// @status kNonFinite; kAccuracyUnreachable: a prepared operand is not enough, or as run_ozaki2(); kInternal
template <class T>
Status run_ozaki1(const plan::Plan& plan, const problem::Problem<T>& problem, const schemes::Prepared* a_prepared,
                  const schemes::Prepared* b_prepared, std::byte* workspace, Outcome& outcome);

}  // namespace kizami::ozaki1
