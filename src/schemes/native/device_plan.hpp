// SPDX-License-Identifier: MIT
// The workspace of the vendor's product on a device.
#pragma once

#include <cstddef>

#include "base/carver.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "schemes/native/stage.hpp"

namespace kizami::native {

struct DeviceNativeBuffers {
  std::byte* scratch = nullptr;  ///< [plan.schedule.product_bytes], the library's own
  std::byte* factors = nullptr;  ///< alpha and beta, where not both are in device memory, aligned to their size
  void** pointers = nullptr;     ///< [3][num_products]; of a batch that is not given by arrays in device memory
};

[[nodiscard]] DeviceNativeBuffers carve_device_native(base::Carver& carver, const plan::Plan& plan);

/// Decides how much scratch the library gets.
/// @status kWorkspaceTooSmall: the limit is below the rest of the workspace
Status plan_device_native(plan::Plan& plan);

}  // namespace kizami::native
