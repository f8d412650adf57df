// SPDX-License-Identifier: MIT
// Signed-byte products by mma.sync, as every device from compute capability 8.0 on has it: one persistent launch makes
// all planes of a ProductDesc, and the residue is taken in the registers that hold the accumulators.
#pragma once

#include "product/product.hpp"

namespace kizami::engines {

/// "mma". Supports every ProductDesc of signed bytes in range whose operands and result are in the memory of a device of
/// compute capability 8.0 or newer. Needs no workspace. Bytes of C between columns are not touched.
/// @status run(): kOk; kInvalidArgument when the description or a pointer breaks its range; kInternal with CUDA's words
/// @queue  asynchronous on the queue, which belongs to the current device; capturable; safe from several threads
[[nodiscard]] const product::Engine& mma_product_engine();

}  // namespace kizami::engines
