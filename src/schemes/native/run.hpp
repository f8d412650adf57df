// SPDX-License-Identifier: MIT
// Scheme native on the host: one product of the platform BLAS for each block of k, if its bound is certain.
#pragma once

#include "kizami/outcome.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "problem/problem.hpp"

namespace kizami::native {

/// @return by is_answered whether it answers: not if terms may overflow or underflow on the way, unless the policy
///         names it
/// @range  a plan that begins with scheme native, a problem that fits it and is no quick return
/// @status kNonFinite, kOutOfMemory, kUnsupported: a matrix that no BLAS takes; on error C is untouched
template <class T>
Status run_native(const plan::Plan& plan, const problem::Problem<T>& problem, Outcome& outcome, bool& is_answered);

}  // namespace kizami::native
