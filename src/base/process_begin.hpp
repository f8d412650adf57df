// SPDX-License-Identifier: MIT
// How long a process is there, of which the child of a fork is one.
#pragma once

#include <chrono>

namespace kizami::base {

/// When this process loaded the library or, the child of a fork, when it came to be.
[[nodiscard]] std::chrono::steady_clock::time_point process_begin() noexcept;

}  // namespace kizami::base
