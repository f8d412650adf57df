// SPDX-License-Identifier: MIT
// libkizami.a names the host's BLAS for products of host memory, which this library never does. These stand where a linked
// BLAS would put its functions into the global scope of a program that may use another one.
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
