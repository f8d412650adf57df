// SPDX-License-Identifier: MIT
#include "base/fork_safe.hpp"

#include <pthread.h>

namespace kizami::base {
namespace {

constinit std::atomic<std::uint64_t> forks{0};

/// When the library is loaded, so that no fork can come before.
[[gnu::constructor]] void count_forks() {
  pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
}

}  // namespace

std::uint64_t num_forks() noexcept { return forks.load(std::memory_order_relaxed); }

}  // namespace kizami::base
