// SPDX-License-Identifier: MIT
// Seconds of a call of scheme ozaki2 on a device, from rates measured on an H200 (docs/perf/h200_call.md). Predictions
// choose between engines and schemes; they never change a bit.
#pragma once

#include "kizami/effort.hpp"
#include "plan/plan.hpp"
#include "product/product.hpp"

namespace kizami::ozaki2 {

/// Everything but the INT8 products of the main pass, at the lowest rung: statistics, certificate, split, CRT,
/// launches.
[[nodiscard]] double device_phase_seconds(const plan::Plan& plan);

/// All products of a batch, each of which takes so long alone: what a product waits for its own kernels, others use that are
/// side by side with it.
[[nodiscard]] double device_batch_seconds(const plan::Plan& plan, double seconds_of_one);

/// What calls take beyond their plan that did this: looked at the elements again, climbed, balanced the inner index,
/// answered elements one by one. @units of all products
[[nodiscard]] double device_seconds_beyond(const plan::Plan& plan, const Effort& effort);

/// Whether the CRT takes less time in limbs of integers than in pieces of FP64 numbers: on devices whose FP64
/// instructions are a 32nd or a 64th of the others. @exact both have the same bits
[[nodiscard]] bool crt_takes_limbs(const product::DeviceFacts& facts);

}  // namespace kizami::ozaki2
