// SPDX-License-Identifier: MIT
// libkizami.a names libraries of the host, for products of host memory, which libkizami_cublas.so never does. These
// stand where linked libraries would be one more file to bring along and, in the global scope of a program, would come
// before the ones that it loads itself.
#include <hwy/targets.h>

#include <cstdio>
#include <cstdlib>

namespace {

[[noreturn]] void refuse(const char* function) {
  std::fprintf(stderr, "kizami: %s is not part of libkizami_cublas.so\n", function);
  std::abort();
}

}  // namespace

extern "C" {
void cblas_sgemm() { refuse("cblas_sgemm"); }
void cblas_dgemm() { refuse("cblas_dgemm"); }
void cblas_cgemm() { refuse("cblas_cgemm"); }
void cblas_zgemm() { refuse("cblas_zgemm"); }
}

// Which instructions Highway may use: those that every processor of the platform has.
namespace hwy {

int64_t SupportedTargets() { return HWY_STATIC_TARGET; }

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
