// SPDX-License-Identifier: MIT
// A CUDA device as the planner sees it, and what calls on it need that is made once: engines, constants in its memory.
#pragma once

#include <memory>

#include "kizami/status.hpp"
#include "num/moduli.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki2/device_crt.hpp"

namespace kizami::exec {

/// The calling thread's current device: facts and the engines that run there; the first call on a device prepares it.
/// @status kUnsupported: no driver or no device
Result<plan::Environment> device_environment();

/// The CRT constants in the memory of a prepared device.
[[nodiscard]] const reconstruct::DeviceCrtTable* device_crt_tables(int device, num::Ring ring);

}  // namespace kizami::exec
