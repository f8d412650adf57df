// SPDX-License-Identifier: MIT
// A planned convolution on a CUDA device: split and product.
#pragma once

#include <cstddef>
#include <span>

#include "convolution/plan.hpp"
#include "kizami/status.hpp"
#include "product/product.hpp"

namespace kizami::convolution {

/// What kizami::cuda::convolve() and convolve_prepared() say; `prepared` of the former is empty.
[[nodiscard]] Status run_on_device(const Plan& plan, float alpha, const float* x, const float* w,
                                   std::span<const std::byte> prepared, float beta, float* y,
                                   std::span<std::byte> workspace, product::Queue queue);
/// What kizami::cuda::prepare_filters() says.
[[nodiscard]] Status prepare_on_device(const Plan& plan, const float* w, std::span<std::byte> prepared,
                                       product::Queue queue);

}  // namespace kizami::convolution
