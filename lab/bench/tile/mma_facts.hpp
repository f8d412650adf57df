// SPDX-License-Identifier: MIT
// What mma does that the language leaves open: the order and the precision of its sums, overflow, NaN and Inf.
#pragma once

#include "session.hpp"

namespace tile_bench {

/// Prints one line a kernel of kernels/mma.cu and kind of numbers: the models of mma_model.hpp that explain every bit
/// of every result, and the largest error; further lines for integers at the ends of their range and for special
/// values.
void record_mma_facts();

}  // namespace tile_bench
