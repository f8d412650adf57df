// SPDX-License-Identifier: MIT
// Scheme ec on the CPU, from operands to C: statistics, choice of the stage, split, floating-point products, epilogue.
#pragma once

#include "kizami/outcome.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "problem/problem.hpp"

namespace kizami::ec {

/// Runs a validated problem that is no quick return. Operands beyond the range of every stage are answered by scheme
/// ozaki2, which the plan holds behind them; the outcome says so.
/// @range T: float or its complex type; workspace: plan.schedule.workspace_bytes on a 64-byte boundary
/// @status see kizami::run; on error C is untouched
template <class T>
Status run_ec(const plan::Plan& plan, const problem::Problem<T>& problem, std::byte* workspace, Outcome& outcome);

}  // namespace kizami::ec
