// SPDX-License-Identifier: MIT
// A CUDA device as the planner sees it, with what is made once for it: engines, constants in its memory.
#pragma once

#include <string>
#include <string_view>

#include "base/device_limits.hpp"
#include "kizami/predict.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"

namespace kizami::exec {

/// The calling thread's current device: facts and the engines that run there; the first call on a device prepares it.
/// A kind of device that nobody has run is first tested (device_self_test.hpp).
/// @status kUnsupported: no driver, no device, none that this build has code for, or one that fails the test
Result<plan::Environment> device_environment();

/// Where the description of the current device would lie that kizami calibrate writes; empty: nowhere.
Status find_calibration_path(std::string& path);

/// What is known of the current device without measuring it: its description, or what its attributes say.
Status describe_current_device(const base::DeviceLimits& limits, model::Device& description);

/// For tests: from now on every device is taken for a described card, model::find_device(), with its limits and rates; an
/// empty name: as it is. Kernels, plans and workspaces are then those of that card, as far as the device can run them.
/// @range  not while calls run; plans that were made before are not used any more
Status assume_device(std::string_view name);

}  // namespace kizami::exec
