// SPDX-License-Identifier: MIT
// What a limit of the address space (ulimit -v) does to OpenBLAS: a thread of it that gets no memory for its buffer
// asks again, forever. Its worker threads do so beside a command that does not need them, and its destructor waits for
// them; a product does so within the call.
#pragma once

#include "kizami/plan.hpp"

namespace kizami::cli {

/// Where the address space is limited, exit() ends the process before the destructors of libraries; what was registered
/// after this is run, and standard streams are flushed. Call once, at the beginning.
void end_before_libraries_where_limited(const int& exit_code);

/// Throws Failure kOutOfMemory if the plan is for the platform BLAS and a limit leaves it no room for a buffer.
void require_room_for_native_blas(const Plan& plan);

}  // namespace kizami::cli
