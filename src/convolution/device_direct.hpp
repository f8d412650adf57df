// SPDX-License-Identifier: MIT
// FP32 sums of a convolution on a CUDA device, without tensor cores.
#pragma once

#include "kizami/status.hpp"
#include "product/direct_convolution.hpp"
#include "product/product.hpp"

namespace kizami::convolution {

/// Every output is such a sum; alpha = 0: beta y.
/// @queue  asynchronous, one kernel whose start overlaps the end of the one before, capturable
[[nodiscard]] Status device_direct(const product::DirectConvolution& task, product::Queue queue);

}  // namespace kizami::convolution
