// SPDX-License-Identifier: MIT
// Splits an operand once, for many products by scheme ozaki1.
#pragma once

#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "problem/lines.hpp"
#include "schemes/prepared.hpp"

namespace kizami::ozaki1 {

/// Slices of the lowest rung, and sampled digits where a certificate chooses the rung. @range prepared: side, num_lines
/// and length are set
/// @status kUnsupported: slices that are no bytes, as many as the data want, or of one scale; kOutOfMemory; kNonFinite
///         as the policy wants
template <class T>
Status prepare_ozaki1(const plan::Plan& plan, const problem::Lines<T>& lines, schemes::Prepared& prepared);

}  // namespace kizami::ozaki1
