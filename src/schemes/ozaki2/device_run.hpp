// SPDX-License-Identifier: MIT
// Scheme ozaki2 on a device: split, certificate, products of residues, CRT, repairs. One chain of launches; the host
// waits only where the policy lets it.
#pragma once

#include <cstddef>

#include "device/effort_word.hpp"
#include "device/problem.hpp"
#include "device/state.hpp"
#include "kizami/outcome.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "product/product.hpp"

namespace kizami::ozaki2 {

/// As enqueue_device(). @range the plan is of scheme ozaki2, or its slices end in one
template <class T>
Status run_device_ozaki2(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
                         device::DeviceState* state, product::Queue queue, const device::EffortReport& effort);

/// What the state of such a call says.
[[nodiscard]] Outcome device_ozaki2_outcome(const plan::Plan& plan, const device::DeviceState& state);

}  // namespace kizami::ozaki2
