// SPDX-License-Identifier: MIT
// FP32 sums of a convolution on a CUDA device, without tensor cores.
#pragma once

#include <cstdint>

#include "convolution/direct.hpp"
#include "kizami/status.hpp"
#include "product/product.hpp"

namespace kizami::convolution {

/// Every output is such a sum; alpha = 0: beta y.
/// @queue  asynchronous, one kernel whose start overlaps the end of the one before, capturable
[[nodiscard]] Status device_direct(const DirectTask& task, product::Queue queue);

/// The outputs that a product of split operands cannot make: those whose filter, or whose window, has NaN or Inf. Writes
/// them, and marks the latter for the product to leave alone.
/// @shape  has_nonfinite: [images]; filter_scales: [groups][filters]; marks: [image][p][q][group], written of images with
///         NaN or Inf alone: 1 if a window has one
/// @queue  as device_direct(); ends at once if there is none
[[nodiscard]] Status device_settle_nonfinite(const DirectTask& task, const std::int32_t* has_nonfinite,
                                             const std::int32_t* filter_scales, std::int8_t* marks,
                                             product::Queue queue);

}  // namespace kizami::convolution
