// SPDX-License-Identifier: MIT
// A cuBLAS that does nothing, to be left calls by libkizami_cublas.so (cublas_overhead.cpp).
#include <cublas_v2.h>

extern "C" cublasStatus_t cublasDgemm_v2(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                                         const double*, const double*, int, const double*, int, const double*, double*,
                                         int) {
  return CUBLAS_STATUS_SUCCESS;
}
extern "C" cublasStatus_t cublasGetStream_v2(cublasHandle_t, cudaStream_t* stream) {
  *stream = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
extern "C" cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t, cublasPointerMode_t* mode) {
  *mode = CUBLAS_POINTER_MODE_HOST;
  return CUBLAS_STATUS_SUCCESS;
}
extern "C" cublasStatus_t cublasGetMathMode(cublasHandle_t, cublasMath_t* mode) {
  *mode = CUBLAS_DEFAULT_MATH;
  return CUBLAS_STATUS_SUCCESS;
}
