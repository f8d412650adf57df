// SPDX-License-Identifier: MIT
// How elementwise functions round, contract and cast, and what they do outside their ranges.
#pragma once

#include "session.hpp"

namespace tile_bench {

/// Prints a line a function: how many results differ from the correctly rounded one, and the largest error in ulps;
/// then lines for contraction, casts and integers out of range.
void record_elementwise_facts();

}  // namespace tile_bench
