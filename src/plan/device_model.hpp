// SPDX-License-Identifier: MIT
// Seconds of a device call, from rates measured on an H200 (docs/perf/h200_call.md). Predictions choose between engines and
// the vendor's product; they never change a bit.
#pragma once

#include "plan/plan.hpp"

namespace kizami::plan {

/// cuBLAS's own product, or a batch of them in one call.
[[nodiscard]] double device_native_seconds(const problem::Shape& shape, std::int64_t num_products = 1);

/// Everything but the INT8 products of the main pass, at the lowest rung: statistics, certificate, split, CRT, launches.
[[nodiscard]] double device_phase_seconds(const Plan& plan);

/// Scheme ozaki1: everything but the products: split, sums, launches.
[[nodiscard]] double device_slice_phase_seconds(const Plan& plan);

/// What the certificate of slices adds to that.
[[nodiscard]] double device_slice_certificate_seconds(const Plan& plan);

/// Scheme ec: everything but the product of the first stage, which is taken: split, decision, the kernels that are not needed.
[[nodiscard]] double device_ec_phase_seconds(const Plan& plan);

}  // namespace kizami::plan
