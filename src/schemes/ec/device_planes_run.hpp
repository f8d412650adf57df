// SPDX-License-Identifier: MIT
// Runs a plan of scheme ec by planes on a CUDA device.
#pragma once

#include <cstddef>

#include "device/effort_word.hpp"
#include "device/problem.hpp"
#include "device/state.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "product/product.hpp"

namespace kizami::ec {

/// @range  has_device_planes(); T: float or its complex type
/// @status as run_device_ec()
/// @queue  asynchronous and capturable, unless the policy lets it wait for lines with NaN or Inf
template <class T>
Status run_device_planes(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
                         device::DeviceState* state, product::Queue queue, const device::EffortReport& effort);

}  // namespace kizami::ec
