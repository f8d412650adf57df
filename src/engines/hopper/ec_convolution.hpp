// SPDX-License-Identifier: MIT
// The convolution of split FP32 operands (product/ec_convolution.hpp) on the tensor cores of sm_90a, in one persistent
// launch.
#pragma once

#include "kizami/status.hpp"
#include "product/ec_convolution.hpp"
#include "product/product.hpp"

namespace kizami::engines {

/// Enqueues the convolution. Planes hold no NaN and no Inf.
/// @status kOk; kInvalidArgument names what breaks its range; kUnsupported without a driver; kInternal with CUDA's words
/// @queue  asynchronous, one kernel whose start overlaps the end of the one before, capturable
[[nodiscard]] Status run_ec_convolution(const product::EcConvolution& convolution, product::EcConvolutionForm form,
                                        product::Queue queue);

}  // namespace kizami::engines
