// SPDX-License-Identifier: MIT
// How a device call begins: its state is as new.
#pragma once

#include <cstdint>

#include "device/state.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "num/rung.hpp"
#include "problem/lines.hpp"
#include "product/product.hpp"

namespace kizami::certify {

/// Resets *state for a call of `num_pairs` elements of C: `rung` (0, or -1 without a ladder; of slices the one that
/// answers) with so many planes, alpha = 0 or not, and what to look at first, with planes of `first_rung`.
/// @queue enqueues one kernel
template <class T>
Status begin_state(device::DeviceState* state, Factor<T> alpha, std::int32_t num_products, std::int64_t num_pairs,
                   int rung, product::Queue queue, bool is_sliced = false, device::Look look = device::Look::kSample,
                   int first_rung = 0);

/// The same, with state->look after some lines of both operands, or of parts of them. The lowest rung has that allowance.
/// @param has_begun  behind begin_state() and the split of some lines for kSample: what that has counted of them (left open,
///                   refused, with NaN or Inf) stays, unless they will be split again
/// @range lines of elements, of both operands equally long
/// @queue enqueues one kernel
template <class T>
Status begin_state_and_scout(device::DeviceState* state, Factor<T> alpha, std::int32_t num_products,
                             std::int64_t num_pairs, const problem::Lines<T>& a, const problem::Lines<T>& b,
                             float allowance, product::Queue queue, bool has_begun = false);

/// Where the lowest rung does not certify all pairs that LookTask::kCount has counted: no rung for the kernels that
/// follow, which then end at once. @queue enqueues one kernel
Status cancel_unless_lowest(device::DeviceState* state, std::int64_t num_pairs, product::Queue queue);

/// What others have decided of a call: state->selection, and that it has so many planes. @queue enqueues one kernel
Status impose_selection(device::DeviceState* state, const num::Selection& selection, std::int32_t num_products,
                        product::Queue queue);

}  // namespace kizami::certify
