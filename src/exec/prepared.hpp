// SPDX-License-Identifier: MIT
// Splits an operand once, for many products.
#pragma once

#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "plan/plan.hpp"
#include "problem/lines.hpp"
#include "schemes/prepared.hpp"

namespace kizami::exec {

/// Splits the lines of one operand at the lowest rung of the plan.
/// @status kUnsupported: schemes native and ec, no rung, or slices that are no bytes or as many as the data want;
///         kOutOfMemory; kNonFinite as the policy wants
template <class T>
Status prepare(const plan::Plan& plan, Side side, const problem::Lines<T>& lines, schemes::Prepared& prepared);

}  // namespace kizami::exec
