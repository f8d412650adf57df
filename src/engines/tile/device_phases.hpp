// SPDX-License-Identifier: MIT
// The phases of scheme ozaki2 around the products as tile kernels in device memory, for FP64.
#pragma once

#include "product/device_phases.hpp"

namespace kizami::engines {

/// @range  split: lines that are contiguous along k or across lines, strides that an int holds, integers below 2^96.
///         Reconstruction: C column-major, up to 28 moduli
/// @exact  as the common phases
[[nodiscard]] const product::DevicePhaseBodies& tile_device_phases();

}  // namespace kizami::engines
