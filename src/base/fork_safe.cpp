// SPDX-License-Identifier: MIT
#include "base/fork_safe.hpp"

#include <pthread.h>

#include <chrono>

#include "base/process_begin.hpp"

namespace kizami::base {
namespace {

using Clock = std::chrono::steady_clock;

constinit std::atomic<std::uint64_t> forks{0};
constinit std::atomic<Clock::time_point> begin{};

/// When the library is loaded, so that no fork can come before.
[[gnu::constructor]] void count_forks() {
  begin.store(Clock::now(), std::memory_order_relaxed);
  pthread_atfork(nullptr, nullptr, [] {
    begin.store(Clock::now(), std::memory_order_relaxed);
    forks.fetch_add(1, std::memory_order_relaxed);
  });
}

}  // namespace

std::uint64_t num_forks() noexcept { return forks.load(std::memory_order_relaxed); }
std::chrono::steady_clock::time_point process_begin() noexcept { return begin.load(std::memory_order_relaxed); }

}  // namespace kizami::base
