// SPDX-License-Identifier: MIT
// Loops over independent tiles of a phase that computes in floating point.
#pragma once

#include <cstdint>

#include "base/fp_environment.hpp"
#include "base/thread_pool.hpp"

namespace kizami::base {

/// Calls body(i, worker) for each i in [0, num_tasks) on at most max_threads threads, in the default floating-point
/// modes.
/// @range see ThreadPool::parallel_for
template <class Body>
void parallel_for(std::int64_t num_tasks, int max_threads, const Body& body) {
  ThreadPool::global().parallel_for(num_tasks, max_threads, [&body](std::int64_t i, int worker) {
    const FpEnvironmentGuard guard;
    body(i, worker);
  });
}

}  // namespace kizami::base
