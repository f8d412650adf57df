// SPDX-License-Identifier: MIT
// What a batch did, from what its products did.
#pragma once

#include "kizami/outcome.hpp"

namespace kizami::exec {

/// Adds a product: bound, moduli and rung are the largest of all, counts are summed, the scheme is that of the products
/// beyond the range of scheme ec if there are any, and the variant the widest that was taken.
/// @param all engine "none" before the first product
void add_outcome(const Outcome& one, Outcome& all);

}  // namespace kizami::exec
