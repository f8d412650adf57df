// SPDX-License-Identifier: MIT
// Splits an operand once, for many products by scheme ozaki2.
#pragma once

#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "problem/lines.hpp"
#include "schemes/prepared.hpp"

namespace kizami::ozaki2 {

/// Residues of the lowest rung, and sampled digits. @range prepared: side, num_lines and length are set
/// @status kUnsupported: no rung, or accuracy correct; kOutOfMemory; kNonFinite as the policy wants
template <class T>
Status prepare_ozaki2(const plan::Plan& plan, const problem::Lines<T>& lines, schemes::Prepared& prepared);

}  // namespace kizami::ozaki2
