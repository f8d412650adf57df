// SPDX-License-Identifier: MIT
// Scheme ozaki1 on a device: split into slices -> products of windows of slices -> exact sums -> lines with NaN or Inf.
// Nothing waits for the host, unless the policy lets the call refuse what only the elements justify, or count the
// slices that they need.
#pragma once

#include "device/problem.hpp"
#include "device/state.hpp"
#include "kizami/outcome.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "product/product.hpp"

namespace kizami::ozaki1 {

/// @range  a plan of scheme ozaki1 and a problem that validate_device_problem() lets pass, with alpha and k that are
///         not zero on the host
/// @param rung that the state tells; the plan has one
/// @status kNonFinite: of Policy::may_sync; kInternal with CUDA's words
/// @queue  asynchronous, capturable
template <class T>
Status run_device_ozaki1(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
                         device::DeviceState* state, product::Queue queue, int rung = 0);

/// What a finished call of scheme ozaki1 did, given its state.
[[nodiscard]] Outcome device_ozaki1_outcome(const plan::Plan& plan, const device::DeviceState& state);

}  // namespace kizami::ozaki1
