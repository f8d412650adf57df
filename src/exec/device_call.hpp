// SPDX-License-Identifier: MIT
// A product of matrices in device memory: the phases of ozaki2.hpp as kernels on a stream.
#pragma once

#include <cstddef>
#include <span>

#include "device/effort_word.hpp"
#include "device/problem.hpp"
#include "device/state.hpp"
#include "kizami/outcome.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "plan/plan.hpp"
#include "product/product.hpp"

namespace kizami::exec {

/// Whether the host knows that C <- beta C, and A and B are not read.
template <class T>
[[nodiscard]] bool has_no_terms(const plan::Plan& plan, const Factor<T>& alpha) {
  return plan.shape.k == 0 || (alpha.device == nullptr && alpha.value == T{0});
}

/// @status kInvalidArgument: a plan for the host or another device than the current one
Status validate_device_plan(const plan::Plan& plan);
/// @status kInvalidArgument: less than plan.schedule.workspace_bytes, or misaligned
Status validate_device_workspace(const plan::Plan& plan, std::span<const std::byte> workspace);
/// @status the same, and kUnsupported: a captured queue, where the policy lets the call wait
Status validate_device_call(const plan::Plan& plan, std::span<const std::byte> workspace, product::Queue queue);
/// What is known of the matrices of one product without their elements, and its look.
template <class T>
Status validate_device_problem(const plan::Plan& plan, const device::DeviceProblem<T>& problem);

/// Enqueues one validated product of a scheme other than native, or one that the host knows to have no terms.
/// @param workspace plan.schedule.product_bytes  @param state what the product does is written there, in device
///        memory; null: nowhere  @param effort what the last kernel tells the host, of schemes ozaki2 and ec
/// @status of Policy::may_sync: kNonFinite, kAccuracyUnreachable; kInternal with CUDA's words
template <class T>
Status enqueue_device(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
                      device::DeviceState* state, product::Queue queue, const device::EffortReport& effort = {});

/// What a finished product did, given its state.
[[nodiscard]] Outcome device_outcome(const plan::Plan& plan, const device::DeviceState& state);

}  // namespace kizami::exec
