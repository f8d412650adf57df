// SPDX-License-Identifier: MIT
// Host libraries of libkizami.a that this library does without, so that it brings none into a program that might load
// another version of it: the BLAS behind the scheme native, which is answered by the program's own before libkizami is
// asked, and the part of Highway that is not in its headers. References to the four functions come here by the linker's
// --wrap.
#include <hwy/targets.h>

#include <cstdio>
#include <cstdlib>

namespace {

[[noreturn]] void refuse(const char* function) {
  std::fprintf(stderr, "kizami: %s was called from within libkizami_blas.so\n", function);
  std::abort();
}

}  // namespace

extern "C" {
void __wrap_cblas_sgemm() { refuse("cblas_sgemm"); }  // NOLINT(bugprone-reserved-identifier): the linker's name
void __wrap_cblas_dgemm() { refuse("cblas_dgemm"); }  // NOLINT(bugprone-reserved-identifier)
void __wrap_cblas_cgemm() { refuse("cblas_cgemm"); }  // NOLINT(bugprone-reserved-identifier)
void __wrap_cblas_zgemm() { refuse("cblas_zgemm"); }  // NOLINT(bugprone-reserved-identifier)
}

namespace hwy {

/// Instructions that Highway may use: what each of its targets needs, as its documentation lists it.
int64_t SupportedTargets() {
  int64_t targets = HWY_STATIC_TARGET;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const auto all = [](auto... has) { return (... && (has != 0)); };
  const bool has_avx2 = all(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"),
                            __builtin_cpu_supports("bmi"), __builtin_cpu_supports("bmi2"));
  const bool has_avx3 = has_avx2 && all(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512vl"),
                                        __builtin_cpu_supports("avx512dq"), __builtin_cpu_supports("avx512bw"),
                                        __builtin_cpu_supports("avx512cd"));
  if (all(__builtin_cpu_supports("ssse3"))) targets |= HWY_SSSE3;
  if (all(__builtin_cpu_supports("sse4.2"), __builtin_cpu_supports("pclmul"), __builtin_cpu_supports("aes")))
    targets |= HWY_SSE4;
  if (has_avx2) targets |= HWY_AVX2;
  if (has_avx3) targets |= HWY_AVX3;
#endif
  return targets;
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
