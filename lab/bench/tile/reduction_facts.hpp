// SPDX-License-Identifier: MIT
// The order of sums and scans, and what extrema do with NaN, zeros of both signs and ties.
#pragma once

#include "session.hpp"

namespace tile_bench {

/// Prints a line a kernel of kernels/reductions.cu.
void record_reduction_facts();

}  // namespace tile_bench
