// SPDX-License-Identifier: MIT
// Scheme ec for operands in device memory by planes, as on the host: an engine of product/float_product.hpp multiplies
// the parts of a split, which lie a plane a part, and its FP32 sums become C. So every variant runs there with the
// host's bits, for studies: nobody looks for operands beyond a variant's range. (device_plan.hpp has the variants whose
// kernels split, judge and finish by themselves.)
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/carver.hpp"
#include "device/state.hpp"
#include "kizami/status.hpp"
#include "num/line_stats.hpp"
#include "plan/plan.hpp"
#include "schemes/ec/stage.hpp"

namespace kizami::ec {

/// Of one operand, all lines at once.
struct DevicePlaneBuffers {
  num::LineStats* stats = nullptr;  ///< [lines]
  std::int32_t* scales = nullptr;   ///< [lines]
  std::byte* planes = nullptr;      ///< [parts][lines][row], row = ec_row_elems()
};

struct DevicePlanesBuffers {
  device::DeviceState* state = nullptr;  ///< at the beginning of the workspace; the rest is absent from an empty call
  DevicePlaneBuffers a;
  DevicePlaneBuffers b;
  float* sums = nullptr;  ///< [ec_products()][n][m]
  std::byte* engine = nullptr;
};

/// Carves the buffers of a call.
[[nodiscard]] DevicePlanesBuffers carve_device_planes(base::Carver& carver, const plan::Plan& plan);

/// Whether a validated policy is for plans by planes: it names engine mma, or a variant that no other engine carries.
[[nodiscard]] bool is_for_device_planes(const Policy& policy);
/// Whether a plan of operands in device memory is one by planes.
[[nodiscard]] bool has_device_planes(const plan::Plan& plan);

/// Plans scheme ec by planes.
/// @range  is_for_device_planes()
/// @status kUnsupported: a wish that is not carried; kAccuracyUnreachable; kWorkspaceTooSmall
Status plan_device_planes(plan::Plan& plan, const plan::Environment& environment);

}  // namespace kizami::ec
