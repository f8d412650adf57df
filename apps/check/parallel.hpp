// SPDX-License-Identifier: MIT
// A loop over independent indices on a few short-lived threads. The kit may not use the pool of the library under test.
#pragma once

#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace kizami::check {

/// Below this much work (in elements or terms) threads cost more than they save. unmeasured
inline constexpr std::int64_t kSerialWork = 1 << 16;

/// Calls body(i) once for each i in [0, num_tasks), on at most max_threads threads; work is the total, in any unit near
/// 10 ns.
/// @range body does not throw. A thread that cannot be started is done without.
template <class Body>
void parallel_for(std::int64_t num_tasks, std::int64_t work, int max_threads, const Body& body) {
  std::atomic<std::int64_t> next{0};
  const auto run = [&] {
    for (std::int64_t i = next++; i < num_tasks; i = next++) body(i);
  };
  std::vector<std::jthread> helpers;
  for (int t = 1; t < max_threads && work >= kSerialWork; ++t) {
    try {
      helpers.emplace_back(run);
    } catch (const std::system_error&) {
      break;
    }
  }
  run();
}

}  // namespace kizami::check
