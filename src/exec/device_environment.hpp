// SPDX-License-Identifier: MIT
// A CUDA device as the planner sees it, with what is made once for it: engines, constants in its memory.
#pragma once

#include <memory>

#include "kizami/status.hpp"
#include "plan/plan.hpp"

namespace kizami::exec {

/// The calling thread's current device: facts and the engines that run there; the first call on a device prepares it.
/// @status kUnsupported: no driver or no device
Result<plan::Environment> device_environment();

}  // namespace kizami::exec
