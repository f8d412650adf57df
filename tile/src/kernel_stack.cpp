// SPDX-License-Identifier: MIT
// The stack is mapped without reservation and entered by swapcontext; AddressSanitizer and ThreadSanitizer are told. No
// exception can pass from one stack to the other: it is carried.
#include "tile/src/kernel_stack.hpp"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define KIZAMI_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KIZAMI_ASAN 1
#endif
#endif
#if defined(KIZAMI_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__SANITIZE_THREAD__)
#define KIZAMI_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KIZAMI_TSAN 1
#endif
#endif
#if defined(KIZAMI_TSAN)
#include <sanitizer/tsan_interface.h>
#endif
// Entry and exit of a function that changes the stack belong to different stacks: they must not be counted.
#if defined(KIZAMI_TSAN) && defined(__clang__)
#define KIZAMI_UNCOUNTED __attribute__((disable_sanitizer_instrumentation))
#elif defined(KIZAMI_TSAN)
#define KIZAMI_UNCOUNTED __attribute__((no_sanitize_thread))
#else
#define KIZAMI_UNCOUNTED
#endif

namespace kizami::tile {
namespace {

/// Sixteen of the largest types of tile code, which are 16 MiB.
constexpr std::size_t kStackBytes = std::size_t{256} << 20;

/// A mapping with a page below that must not be touched; empty if the system refused it.
class Mapping {
 public:
  Mapping() : guard_bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* const memory = mmap(nullptr, guard_bytes_ + kStackBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return;
    memory_ = static_cast<std::byte*>(memory);
    mprotect(memory_, guard_bytes_, PROT_NONE);
  }
  ~Mapping() {
    if (memory_ != nullptr) munmap(memory_, guard_bytes_ + kStackBytes);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  [[nodiscard]] std::byte* stack() const { return memory_ == nullptr ? nullptr : memory_ + guard_bytes_; }

 private:
  std::size_t guard_bytes_;
  std::byte* memory_ = nullptr;
};

/// One call on the kernel stack.
struct Call {
  void (*body)(void*);
  void* argument;
  ucontext_t caller;
  ucontext_t callee;
  std::exception_ptr thrown;  // by body
#if defined(KIZAMI_ASAN)
  const void* caller_stack = nullptr;
  std::size_t caller_bytes = 0;
#endif
#if defined(KIZAMI_TSAN)
  void* caller_fiber = nullptr;
#endif
};

thread_local bool t_is_on_kernel_stack = false;

/// makecontext passes ints: the address of the call comes in two halves.
KIZAMI_UNCOUNTED void enter(unsigned high, unsigned low) {
  auto* const call = reinterpret_cast<Call*>((static_cast<std::uintptr_t>(high) << 32) | low);
#if defined(KIZAMI_ASAN)
  __sanitizer_finish_switch_fiber(nullptr, &call->caller_stack, &call->caller_bytes);
#endif
  try {
    call->body(call->argument);
  } catch (...) {
    call->thrown = std::current_exception();
  }
#if defined(KIZAMI_ASAN)
  __sanitizer_start_switch_fiber(nullptr, call->caller_stack, call->caller_bytes);
#endif
#if defined(KIZAMI_TSAN)
  __tsan_switch_to_fiber(call->caller_fiber, 0);
#endif
}

}  // namespace

bool run_on_kernel_stack(void (*body)(void*), void* argument) {
  if (t_is_on_kernel_stack) {
    body(argument);
    return true;
  }
  static thread_local const Mapping mapping;
  if (mapping.stack() == nullptr) return false;
  Call call{};
  call.body = body;
  call.argument = argument;
  getcontext(&call.callee);
  call.callee.uc_stack.ss_sp = mapping.stack();
  call.callee.uc_stack.ss_size = kStackBytes;
  call.callee.uc_link = &call.caller;
  const auto address = reinterpret_cast<std::uintptr_t>(&call);
  makecontext(&call.callee, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(address >> 32),
              static_cast<unsigned>(address));
  t_is_on_kernel_stack = true;
#if defined(KIZAMI_ASAN)
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, mapping.stack(), kStackBytes);
#endif
#if defined(KIZAMI_TSAN)
  call.caller_fiber = __tsan_get_current_fiber();
  void* const fiber = __tsan_create_fiber(0);
  __tsan_switch_to_fiber(fiber, 0);
#endif
  swapcontext(&call.caller, &call.callee);
#if defined(KIZAMI_ASAN)
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
#if defined(KIZAMI_TSAN)
  __tsan_destroy_fiber(fiber);
#endif
  t_is_on_kernel_stack = false;
  if (call.thrown) std::rethrow_exception(std::move(call.thrown));
  return true;
}

}  // namespace kizami::tile
