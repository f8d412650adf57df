// SPDX-License-Identifier: MIT
// Products of matrices in device memory, one or a batch: validation of all, then the calls of device_call.hpp one after another on
// a queue, in one workspace. Never changes a bit of a product.
#pragma once

#include <cstddef>
#include <span>

#include "exec/device_call.hpp"
#include "kizami/batch.hpp"
#include "kizami/effort.hpp"
#include "kizami/outcome.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "product/product.hpp"

namespace kizami::exec {

/// @shape  problems: as many as the plan is for
/// @param  note where the last kernel tells the effort of all products
/// @status see kizami::cuda::run() and run_batched(); of several products with the number of the one that is refused
template <class T>
Status run_device(const plan::Plan& plan, std::span<const device::DeviceProblem<T>> problems,
                  std::span<std::byte> workspace, product::Queue queue, const EffortNote& note = {});

/// A batch whose matrices arrays in device memory point to.
template <class T>
struct DeviceArrays {
  Factor<T> alpha;
  MatrixArray<const T> a;
  MatrixArray<const T> b;
  Factor<T> beta;
  MatrixArray<T> c;
};

/// The same, by copies of the matrices: a kernel finds them, and another puts C where it belongs.
template <class T>
Status run_device_arrays(const plan::Plan& plan, const DeviceArrays<T>& problem, std::span<std::byte> workspace,
                         product::Queue queue, const EffortNote& note = {});

/// What each product of the last call with this workspace did; waits for the queue. @shape outcomes: [num_products]
Status read_device_outcomes(const plan::Plan& plan, std::span<const std::byte> workspace, product::Queue queue,
                            std::span<Outcome> outcomes);

}  // namespace kizami::exec
