// SPDX-License-Identifier: MIT
// Measures what the planner wants to know of a processor.
#pragma once

#include <functional>
#include <string_view>

#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "product/processor_rates.hpp"

namespace kizami::exec {

/// @param environment of the host: its engines, its BLAS and as many threads as it says
/// @return what is measured; what cannot be is as it is where nobody has measured
/// @status see kizami::calibrate_processor()
Result<product::ProcessorRates> calibrate_processor(const plan::Environment& environment,
                                                    const std::function<void(std::string_view)>& progress);

}  // namespace kizami::exec
