// SPDX-License-Identifier: MIT
// How a device call begins: its state is as new.
#pragma once

#include <cstdint>

#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "plan/device_state.hpp"
#include "product/product.hpp"

namespace kizami::exec {

/// Resets *state for a call of `num_pairs` elements of C: `rung` (0, or -1 without a ladder; of slices the one that
/// answers) with so many planes, alpha = 0 or not.
/// @queue enqueues one kernel
template <class T>
Status begin_state(plan::DeviceState* state, Factor<T> alpha, std::int32_t num_products, std::int64_t num_pairs,
                   int rung, product::Queue queue, bool is_sliced = false);

}  // namespace kizami::exec
