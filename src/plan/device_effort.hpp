// SPDX-License-Identifier: MIT
// Seconds of a device call that did what its plan does not count on: looked at the elements again, climbed, balanced the inner
// index, answered elements one by one. From rates measured on an H200 (docs/perf/h200_call.md, "Wide exponents").
#pragma once

#include "kizami/effort.hpp"
#include "plan/plan.hpp"

namespace kizami::plan {

/// Of all products: plan.schedule.seconds where nothing of the kind was done, and never less.
/// @range a plan of a device; effort of a call with this plan
[[nodiscard]] double device_seconds(const Plan& plan, const Effort& effort);

}  // namespace kizami::plan
