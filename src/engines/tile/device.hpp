// SPDX-License-Identifier: MIT
// Engine tile for operands in device memory: the kernels of tile_kernels/device/{ozaki2,product_slices}.cu, as cubins.
// It has bodies of its own for the phases around the products, too (product::DevicePhaseBodies).
#pragma once

#include "kizami/status.hpp"
#include "product/product.hpp"

namespace kizami::engines {

/// Refuses every product where the build has no compiler of tile kernels, and on devices of another compute capability
/// than 9.0.
/// @range  beyond that of ProductDesc: row strides and c_col_stride below 2^31, for tile kernels index by int; exact_k
///         of BF16 and E5M2 at least 256; no Pointers::num_products with floating-point formats
/// @exact  every epilogue but kCompare, windows too. Tensor cores saturate INT32, so k = 2^17, where a sum of modulus
///         256 may reach 2^31, is two launches that add
/// Needs no workspace. Bytes of C between columns are not touched.
/// @status run(): kOk; kInvalidArgument when the description or a pointer breaks its range; kInternal with CUDA's words
/// @queue  asynchronous on the queue, which belongs to the current, prepared device; capturable; safe from several
///         threads
[[nodiscard]] const product::Engine& tile_device_engine();

/// Loads the kernels into a device, once; the engine's query() repeats what was wrong.
/// @status kUnsupported: no tile kernels in this build, no driver; kInternal with the driver's words
Status prepare_tile_device(int device);

}  // namespace kizami::engines
