// SPDX-License-Identifier: MIT
// A planned convolution on the host, whose tensor core is a model: to the bit what a device makes.
#pragma once

#include "convolution/plan.hpp"
#include "kizami/status.hpp"

namespace kizami::convolution {

/// What kizami::convolve() says. Planes and cells are those of the device, so this also tells whether they are right.
[[nodiscard]] Status run_on_host(const Plan& plan, float alpha, const float* x, const float* w, float beta, float* y);

}  // namespace kizami::convolution
