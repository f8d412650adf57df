// SPDX-License-Identifier: MIT
// Scheme ec on a device: split -> profiles, of large calls -> decision -> one product a stage -> FP64 rung, of which
// the kernels that flags and decision do not need end at once. Nothing waits for the host, unless the policy lets the
// call refuse what only the elements justify.
#pragma once

#include "device/effort_word.hpp"
#include "device/problem.hpp"
#include "device/state.hpp"
#include "kizami/outcome.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "product/product.hpp"

namespace kizami::ec {

/// @range  a plan of scheme ec and a problem that validate_device_problem() lets pass, with alpha and k that are not zero on the host
/// @status kNonFinite, kAccuracyUnreachable: of Policy::may_sync; kInternal with CUDA's words
/// @queue  asynchronous, capturable
template <class T>
Status run_device_ec(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
                     device::DeviceState* state, product::Queue queue, const device::EffortReport& effort);

/// What a finished call of scheme ec did, given its state.
[[nodiscard]] Outcome device_ec_outcome(const plan::Plan& plan, const device::DeviceState& state);

}  // namespace kizami::ec
