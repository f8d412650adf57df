// SPDX-License-Identifier: MIT
// Another library that stands before cuBLAS, preloaded behind the one under test.
#include <cublas_v2.h>

#include <cstdio>

extern "C" cublasStatus_t cublasDgemm_v2(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                                         const double*, const double*, int, const double*, int, const double*, double*,
                                         int) {
  std::puts("behind");
  return CUBLAS_STATUS_SUCCESS;
}
