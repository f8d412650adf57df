// SPDX-License-Identifier: MIT
// What a program does around its work: it has its standard streams, takes signals, reports errors, and ends with an
// exit code.
#pragma once

#include <functional>

#include "failure.hpp"

namespace kizami::cli {

/// Runs the work and reports what it throws: "NAME: error: MESSAGE" on stderr. Never throws. Call once, at the
/// beginning.
/// @param name  begins what is said on stderr from then on
/// @return the exit code
[[nodiscard]] int run_program(const char* name, const std::function<ExitCode()>& work) noexcept;

}  // namespace kizami::cli
