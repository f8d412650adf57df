// SPDX-License-Identifier: MIT
// Scheme ec on a device: split -> profiles, of large calls -> decision, with the second split and the FP64 rung -> product, of which
// what flags and decision do not need ends at once. Nothing waits for the host, unless the policy lets the
// call refuse what only the elements justify: then the FP64 rung comes last. Products of a batch whose matrices have one layout go through
// these kernels together, and their FP64 rung comes last, too.
#pragma once

#include <cstdint>
#include <span>

#include "device/effort_word.hpp"
#include "device/problem.hpp"
#include "device/state.hpp"
#include "kizami/outcome.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "product/product.hpp"

namespace kizami::ec {

/// @range  a plan of scheme ec and a problem that validate_device_problem() lets pass, with alpha and k that are not zero on the host
/// @status kNonFinite, kAccuracyUnreachable: of Policy::may_sync; kInternal with CUDA's words
/// @queue  asynchronous, capturable
template <class T>
Status run_device_ec(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
                     device::DeviceState* state, product::Queue queue, const device::EffortReport& effort);

/// The matrices of a batch with one layout: those of the first product, and what leads to the others'. Arrays are device
/// memory, of pointers to the matrices of each product; without them, matrices are `step` elements apart.
template <class T>
struct EcBatch {
  device::DeviceProblem<T> first;
  std::int64_t num_products = 1;
  const T* const* a_array = nullptr;  ///< all three, or none
  const T* const* b_array = nullptr;
  T* const* c_array = nullptr;
  std::int64_t a_step = 0;
  std::int64_t b_step = 0;
  std::int64_t c_step = 0;

  /// The products from `begin` on.
  [[nodiscard]] EcBatch part(std::int64_t begin, std::int64_t count) const {
    EcBatch p = *this;
    p.num_products = count;
    if (c_array != nullptr) {
      p.a_array += begin;
      p.b_array += begin;
      p.c_array += begin;
      return p;
    }
    p.first.a.data += begin * a_step;
    p.first.b.data += begin * b_step;
    p.first.c.data += begin * c_step;
    return p;
  }
};

/// Whether the products of a plan share launches, with this alpha.
template <class T>
[[nodiscard]] bool takes_together(const plan::Plan& plan, const Factor<T>& alpha);

/// All products of a batch, ec_of(plan).products_together at a time.
/// @range  as run_device_ec(), of each product; takes_together()  @param states [num_products]
/// @exact  the bits of each product are those of run_device_ec()
/// @status kInternal with CUDA's words  @queue as run_device_ec(); the number of launches is that of one product for
///         each part of the batch
template <class T>
Status run_device_ec_batch(const plan::Plan& plan, const EcBatch<T>& batch, std::byte* workspace,
                           device::DeviceState* states, product::Queue queue, const device::EffortReport& effort);
/// The same of matrices anywhere. @param is_answered false: they have not one layout, and nothing is enqueued
template <class T>
Status run_device_ec_batch(const plan::Plan& plan, std::span<const device::DeviceProblem<T>> problems,
                           std::byte* workspace, device::DeviceState* states, product::Queue queue,
                           const device::EffortReport& effort, bool& is_answered);

/// What a finished call of scheme ec did, given its state.
[[nodiscard]] Outcome device_ec_outcome(const plan::Plan& plan, const device::DeviceState& state);

}  // namespace kizami::ec
