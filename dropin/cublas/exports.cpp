// SPDX-License-Identifier: MIT
// What programs call instead of cuBLAS. Everything else of cuBLAS stays the program's own.
#include "gemm.hpp"

namespace kizami::dropin {
namespace {

template <class E, class Int>
cublasStatus_t gemm_of_process(const GemmCall<E, Int>& call) noexcept {
  try {
    const CublasFunctions* cublas = find_cublas();
    if (cublas == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    return gemm(*cublas, process_settings(), call);
  } catch (...) {  // no memory for the settings or their report
    return CUBLAS_STATUS_ALLOC_FAILED;
  }
}

}  // namespace
}  // namespace kizami::dropin

#define KIZAMI_CUBLAS_GEMM(function, E, Int)                                                                       \
  extern "C" cublasStatus_t function(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m, \
                                     Int n, Int k, const E* alpha, const E* a, Int lda, const E* b, Int ldb,       \
                                     const E* beta, E* c, Int ldc) {                                               \
    return kizami::dropin::gemm_of_process<E, Int>(                                                                \
        {#function, handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc});                            \
  }
KIZAMI_CUBLAS_GEMM(cublasSgemm_v2, float, int)
KIZAMI_CUBLAS_GEMM(cublasDgemm_v2, double, int)
KIZAMI_CUBLAS_GEMM(cublasCgemm_v2, cuComplex, int)
KIZAMI_CUBLAS_GEMM(cublasZgemm_v2, cuDoubleComplex, int)
KIZAMI_CUBLAS_GEMM(cublasSgemm_v2_64, float, std::int64_t)
KIZAMI_CUBLAS_GEMM(cublasDgemm_v2_64, double, std::int64_t)
KIZAMI_CUBLAS_GEMM(cublasCgemm_v2_64, cuComplex, std::int64_t)
KIZAMI_CUBLAS_GEMM(cublasZgemm_v2_64, cuDoubleComplex, std::int64_t)
#undef KIZAMI_CUBLAS_GEMM
