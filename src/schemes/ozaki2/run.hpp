// SPDX-License-Identifier: MIT
// Scheme ozaki2 on the CPU, from operands to C: statistics, rung, split, product, reconstruction, repairs.
#pragma once

#include "kizami/outcome.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "problem/problem.hpp"
#include "schemes/ozaki2/whole.hpp"
#include "schemes/prepared.hpp"

namespace kizami::ozaki2 {

/// Runs a validated problem that is no quick return. A prepared operand may stand for its matrix, whose data is then
/// null.
/// @param whole  null, or of what larger product this is a part: it is asked for the rung, and the selection of the
///        outcome is that of the whole
/// @range workspace: plan.schedule.workspace_bytes on a 64-byte boundary; whole: no prepared operands
/// @status see kizami::run; on error C is untouched
template <class T, class In>
Status run_ozaki2(const plan::Plan& plan, const problem::Problem<T, In>& problem, const schemes::Prepared* a_prepared,
                  const schemes::Prepared* b_prepared, std::byte* workspace, Outcome& outcome, Whole* whole = nullptr);

}  // namespace kizami::ozaki2
