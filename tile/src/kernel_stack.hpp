// SPDX-License-Identifier: MIT
// A stack large enough for kernels. Tiles are values: a function that holds a dozen tiles of 256 KiB needs more stack
// than the threads of a process have. Each thread that runs kernels gets one of its own, whose pages cost nothing until
// used.
#pragma once

namespace kizami::tile {

/// Calls body(argument) on the calling thread's kernel stack, or in place if it is on it already.
/// Returns false, without the call, if the system refuses the memory. Exceptions must not leave body.
[[nodiscard]] bool run_on_kernel_stack(void (*body)(void*), void* argument);

}  // namespace kizami::tile
