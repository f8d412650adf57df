// SPDX-License-Identifier: MIT
// A plan as FP32 sums.
#pragma once

#include "convolution/plan.hpp"
#include "product/direct_convolution.hpp"

namespace kizami::convolution {

[[nodiscard]] product::DirectConvolution direct_convolution(const Plan& plan, float alpha, const float* x,
                                                            const float* weights, float beta, float* y);

}  // namespace kizami::convolution
