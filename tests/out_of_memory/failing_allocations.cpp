// SPDX-License-Identifier: MIT
#include "out_of_memory/failing_allocations.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

namespace kizami::out_of_memory {
namespace {

constexpr std::int64_t kOff = INT64_MAX / 2;
/// What the thread that asked waits at each allocation, so that others wake and have work left also where processors
/// are busy.
constexpr std::chrono::microseconds kHeadStart{50};
constinit std::atomic<std::int64_t> until_failure{kOff};
constinit std::atomic<Failing> failing{Failing::kOne};
constinit thread_local bool t_has_asked = false;

bool fails() {
  const Failing which = failing.load(std::memory_order_relaxed);
  if (which == Failing::kOneElsewhere && t_has_asked) {
    std::this_thread::sleep_for(kHeadStart);
    return false;
  }
  const std::int64_t left = until_failure.fetch_sub(1, std::memory_order_relaxed);
  return left == 0 || (left < 0 && which == Failing::kAllFrom);
}

}  // namespace

FailingAllocations::FailingAllocations(std::int64_t number, Failing which) {
  failing = which;
  t_has_asked = true;
  until_failure = number;
}
FailingAllocations::~FailingAllocations() {
  until_failure = kOff;
  t_has_asked = false;
}
bool FailingAllocations::has_failed() { return until_failure < 0; }

}  // namespace kizami::out_of_memory

void* operator new(std::size_t bytes) {
  void* const memory = kizami::out_of_memory::fails() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  void* memory = nullptr;
  if (kizami::out_of_memory::fails() || posix_memalign(&memory, alignment, bytes) != 0) {
    errno = ENOMEM;
    return nullptr;
  }
  return memory;
}
