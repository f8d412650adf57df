// SPDX-License-Identifier: MIT
// Gauge entry of scheme ozaki1 on a device: the certificate of scheme ozaki2 with the weights of slices, once for all
// lines; the host waits for the rung that it finds, and enqueues the slices of that rung.
#pragma once

#include <cstddef>

#include "device/problem.hpp"
#include "device/state.hpp"
#include "kizami/outcome.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "product/product.hpp"

namespace kizami::ozaki1 {

/// @range  as run_device_ozaki1(), with has_slice_rungs(plan)
/// @param  is_answered false: no rung certifies all pairs, and scheme ozaki2 has to begin
/// @status kNonFinite; kInternal with CUDA's words
/// @queue  waits for the certificate, then asynchronous
template <class T>
Status run_device_slice_rungs(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
                              device::DeviceState* state, product::Queue queue, bool& is_answered);

/// What a finished call did, given its state, where state.is_sliced.
[[nodiscard]] Outcome device_slice_rung_outcome(const plan::Plan& plan, const device::DeviceState& state);

}  // namespace kizami::ozaki1
