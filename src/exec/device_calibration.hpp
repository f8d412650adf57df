// SPDX-License-Identifier: MIT
// Measures what the planner wants to know of a device.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "kizami/predict.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"

namespace kizami::exec {

/// @param environment of the current device  @param start what is known of it: its sheet stays
/// @return `start` with what was measured
/// @status see kizami::cuda::calibrate()
Result<model::Device> calibrate_device(const plan::Environment& environment, model::Device start,
                                       const std::function<void(std::string_view)>& progress);

}  // namespace kizami::exec
