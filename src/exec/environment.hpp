// SPDX-License-Identifier: MIT
// The machine as the planner sees it, and the one explicit list of engines.
#pragma once

#include <string>

#include "plan/plan.hpp"

namespace kizami::exec {

/// Processor features and engines, found once; num_threads is what the process may use now.
[[nodiscard]] plan::Environment environment();

/// What the BLAS says of itself.
[[nodiscard]] std::string native_library();

/// One fact a line: processor features, engines with their kernels, threads, BLAS, calibration.
[[nodiscard]] std::string machine_report();

}  // namespace kizami::exec
