// SPDX-License-Identifier: MIT
// Windows of floating-point slices by the tile kernels of tile_kernels/device/product_slices.cu, a launch each.
#pragma once

#include <optional>
#include <string>

#include "engines/tile/device_kernels.hpp"
#include "kizami/status.hpp"
#include "product/product.hpp"

namespace kizami::engines::tile_engines {

/// What these kernels want beyond the @range of ProductDesc.
[[nodiscard]] std::optional<std::string> why_float_windows_refused(const product::ProductDesc& d);
[[nodiscard]] double float_windows_seconds(const product::ProductDesc& d, int num_sms);

/// @range  an accepted description with m, n, num_windows >= 1
/// Makes all windows.   @queue asynchronous, capturable
[[nodiscard]] Status run_float_windows(const product::ProductDesc& d, const product::Pointers& pointers,
                                       const DeviceKernels& kernels, product::Queue queue);

}  // namespace kizami::engines::tile_engines
