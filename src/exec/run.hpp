// SPDX-License-Identifier: MIT
// Walks a Plan: quick returns, the platform BLAS, scheme ozaki2, ozaki1 or ec.
#pragma once

#include <cstddef>
#include <span>

#include "exec/prepared.hpp"
#include "kizami/outcome.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "problem/problem.hpp"
#include "schemes/ozaki2/whole.hpp"

namespace kizami::exec {

/// Runs a problem that fits the plan. A prepared operand may stand for its matrix, whose data is then null.
/// @param whole  null, or of a plan of scheme ozaki2 what larger product this is a part of (schemes/ozaki2/whole.hpp)
/// @status see kizami::run; on error C is untouched
template <class T, class In>
Status run(const plan::Plan& plan, const problem::Problem<T, In>& problem, const schemes::Prepared* a_prepared,
           const schemes::Prepared* b_prepared, std::span<std::byte> workspace, Outcome& outcome,
           ozaki2::Whole* whole = nullptr);

}  // namespace kizami::exec
