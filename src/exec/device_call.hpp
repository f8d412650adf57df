// SPDX-License-Identifier: MIT
// A product of matrices in device memory: the phases of ozaki2.hpp as kernels on a stream.
#pragma once

#include <cstddef>
#include <span>

#include "kizami/outcome.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "plan/plan.hpp"
#include "product/product.hpp"

namespace kizami::exec {

/// Workspaces begin on such a boundary.
inline constexpr std::size_t kDeviceAlignment = 256;

template <class T>
struct DeviceProblem {
  Factor<T> alpha;
  MatrixView<const T> a;
  MatrixView<const T> b;
  Factor<T> beta;
  MatrixView<T> c;
};

/// @status see kizami::cuda::run()
template <class T>
Status run_device(const plan::Plan& plan, const DeviceProblem<T>& problem, std::span<std::byte> workspace,
                  product::Queue queue);

/// What the last call with this workspace did; waits for the queue.
Result<Outcome> read_device_outcome(const plan::Plan& plan, std::span<const std::byte> workspace, product::Queue queue);

}  // namespace kizami::exec
