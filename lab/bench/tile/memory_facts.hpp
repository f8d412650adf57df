// SPDX-License-Identifier: MIT
// Masked loads without padding, addresses beyond 32 bits, atomics.
#pragma once

#include "session.hpp"

namespace tile_bench {

/// Prints a line a kernel of kernels/memory.cu. Needs 7 GB of device memory.
void record_memory_facts();

}  // namespace tile_bench
