// SPDX-License-Identifier: MIT
// Whether tile kernels run at all: vector add, products and a reduction whose results are integers, so that `==`
// judges.
#pragma once

#include "session.hpp"

namespace tile_bench {

/// Loads the three cubins and runs them at sizes around the tile edges; prints a line for each. Returns the number of
/// loads and results that are not as they must be.
int run_basics();

}  // namespace tile_bench
