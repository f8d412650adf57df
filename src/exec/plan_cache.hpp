// SPDX-License-Identifier: MIT
// Plans by shape, policy and batch: planning takes tens of microseconds, but a BLAS is called millions of times with the same shape, and by a blocked
// factorization with a thousand shapes, which the next one has again.
#pragma once

#include <memory>

#include "kizami/status.hpp"
#include "plan/plan.hpp"

namespace kizami::exec {

/// The plan for this shape, policy and batch in an environment, from a bounded cache. Safe to call from any thread.
/// @range environments that differ have different devices or numbers of threads
Result<std::shared_ptr<const plan::Plan>> cached_plan(const problem::Shape& shape, const Policy& policy,
                                                      const plan::Environment& environment, const Batch& batch = {});

/// Plans kept; the least recently used goes first.
inline constexpr int kPlanCacheSize = 1024;

}  // namespace kizami::exec
