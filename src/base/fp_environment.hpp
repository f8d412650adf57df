// SPDX-License-Identifier: MIT
// The floating-point modes that the library's bits assume: round to nearest, subnormals kept, exceptions masked. A
// caller may run with flush-to-zero or directed rounding; a guard sets the default modes for its scope and restores the
// caller's.
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace kizami::base {

class FpEnvironmentGuard {
 public:
#if defined(__x86_64__) || defined(__i386__)
  FpEnvironmentGuard() noexcept : saved_(_mm_getcsr()) { _mm_setcsr(kDefaultMxcsr); }
  ~FpEnvironmentGuard() { _mm_setcsr(saved_); }
#elif defined(__aarch64__)
  FpEnvironmentGuard() noexcept {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    const std::uint64_t default_modes = 0;
    asm volatile("msr fpcr, %0" ::"r"(default_modes));
  }
  ~FpEnvironmentGuard() { asm volatile("msr fpcr, %0" ::"r"(saved_)); }
#else
  FpEnvironmentGuard() noexcept = default;
#endif
  FpEnvironmentGuard(const FpEnvironmentGuard&) = delete;
  FpEnvironmentGuard& operator=(const FpEnvironmentGuard&) = delete;

 private:
#if defined(__x86_64__) || defined(__i386__)
  static constexpr unsigned kDefaultMxcsr = 0x1F80;  // all exceptions masked, nearest, no FTZ, no DAZ
  unsigned saved_;
#elif defined(__aarch64__)
  std::uint64_t saved_;
#endif
};

}  // namespace kizami::base
