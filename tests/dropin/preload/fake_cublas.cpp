// SPDX-License-Identifier: MIT
// A libcublas.so.13 for machines without a device: its functions print what they are called with. A handle is a FakeHandle.
// FAKE_CUBLAS_STATUS: what the products return. FAKE_CUBLAS_NESTED: one product calls another by its name.
#include <cublas_v2.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "dropin/preload/fake_handle.hpp"

namespace {

cublasStatus_t product(const char* name, cublasHandle_t handle, int op_a, int op_b, std::int64_t m, std::int64_t n,
                       std::int64_t k, std::int64_t lda, std::int64_t ldb, std::int64_t ldc) {
  std::printf("cublas %s ops %d%d size %lldx%lldx%lld ld %lld %lld %lld\n", name, op_a, op_b, static_cast<long long>(m),
              static_cast<long long>(n), static_cast<long long>(k), static_cast<long long>(lda),
              static_cast<long long>(ldb), static_cast<long long>(ldc));
  static bool is_nested = std::getenv("FAKE_CUBLAS_NESTED") == nullptr;
  if (!is_nested) {
    is_nested = true;
    const double one = 1;
    static_cast<void>(
        cublasDgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, nullptr, 1, nullptr, 1, &one, nullptr, 1));
  }
  const char* status = std::getenv("FAKE_CUBLAS_STATUS");
  return static_cast<cublasStatus_t>(status == nullptr ? 0 : std::atoi(status));
}

}  // namespace

#define FAKE_GEMM(function, E, Int)                                                                                \
  extern "C" cublasStatus_t function(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m, \
                                     Int n, Int k, const E*, const E*, Int lda, const E*, Int ldb, const E*, E*,   \
                                     Int ldc) {                                                                    \
    return product(#function, handle, op_a, op_b, m, n, k, lda, ldb, ldc);                                         \
  }
FAKE_GEMM(cublasSgemm_v2, float, int)
FAKE_GEMM(cublasDgemm_v2, double, int)
FAKE_GEMM(cublasCgemm_v2, cuComplex, int)
FAKE_GEMM(cublasZgemm_v2, cuDoubleComplex, int)
FAKE_GEMM(cublasSgemm_v2_64, float, std::int64_t)
FAKE_GEMM(cublasDgemm_v2_64, double, std::int64_t)
FAKE_GEMM(cublasCgemm_v2_64, cuComplex, std::int64_t)
FAKE_GEMM(cublasZgemm_v2_64, cuDoubleComplex, std::int64_t)

extern "C" cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  *stream = kizami::dropin_test::of(handle).stream;
  return CUBLAS_STATUS_SUCCESS;
}
extern "C" cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  *mode = kizami::dropin_test::of(handle).pointer_mode;
  return CUBLAS_STATUS_SUCCESS;
}
extern "C" cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  *mode = kizami::dropin_test::of(handle).math_mode;
  return CUBLAS_STATUS_SUCCESS;
}
