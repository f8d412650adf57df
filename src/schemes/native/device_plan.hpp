// SPDX-License-Identifier: MIT
// The workspace of the vendor's product on a device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/carver.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"

namespace kizami::plan {

struct DeviceNativeBuffers {
  std::byte* scratch = nullptr;  ///< [plan.schedule.product_bytes], cuBLAS's own
  std::byte* factors = nullptr;  ///< alpha and beta, where not both are in device memory, aligned to their size
  void** pointers = nullptr;     ///< [3][num_products]; of a batch that is not given by arrays in device memory
};

[[nodiscard]] DeviceNativeBuffers carve_device_native(base::Carver& carver, const Plan& plan);

/// Seconds of cuBLAS's own product, or of a batch of them in one call: coefficients fitted to docs/perf/h200_call.md and
/// bench/results/h200.
[[nodiscard]] double device_native_seconds(const problem::Shape& shape, std::int64_t num_products = 1);

/// Decides how much scratch cuBLAS gets.
/// @status kWorkspaceTooSmall: the limit is below the rest of the workspace
Status plan_device_native(Plan& plan);

}  // namespace kizami::plan
