// SPDX-License-Identifier: MIT
// The oracle: one loop per dimension, in 64-bit integers, for everything that product.hpp describes. Every other engine
// is compared with it by memcmp.
#pragma once

#include "product/product.hpp"

namespace kizami::engines {

/// Supports every ProductDesc in range, serially, without workspace.
[[nodiscard]] const product::Engine& cpu_ref_engine();

}  // namespace kizami::engines
