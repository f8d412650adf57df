// SPDX-License-Identifier: MIT
// Signed-byte products on the tensor cores of compute capability 9.0 (sm_90a): one persistent launch makes all planes
// of a ProductDesc, and the residue is taken in the registers that hold the accumulators.
#pragma once

#include "product/product.hpp"

namespace kizami::engines {

/// Supports every ProductDesc in range whose operands and result are in the memory of a device of compute capability
/// 9.0. Needs no workspace. Bytes of C between columns are not touched.
/// @status run(): kOk; kInvalidArgument when the description or a pointer breaks its range; kInternal with CUDA's words
/// @queue  asynchronous on the queue, which belongs to the current device; capturable; safe from several threads
[[nodiscard]] const product::Engine& hopper_engine();

}  // namespace kizami::engines
