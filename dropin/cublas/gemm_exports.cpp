// SPDX-License-Identifier: MIT
// What programs call instead of cuBLAS' products, each also as ..._64. Everything else of cuBLAS stays the program's
// own.
#include <cstdint>

#include "dropin/cublas/export.hpp"
#include "dropin/cublas/gemm_entries.hpp"
#include "dropin/cublas/grouped_entries.hpp"

// NOLINTBEGIN(bugprone-macro-parentheses): types and names
#define KIZAMI_PRODUCT(name, routine, E, Int)                                                                        \
  KIZAMI_CUBLAS_FUNCTION(name, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m, Int n,  \
                         Int k, const E* alpha, const E* a, Int lda, const E* b, Int ldb, const E* beta, E* c,       \
                         Int ldc) {                                                                                  \
    return product<E, Int>(KIZAMI_ENTRY(name, routine), handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, \
                           ldc);                                                                                     \
  }
#define KIZAMI_TYPED_PRODUCT(name, routine, F, Int)                                                                  \
  KIZAMI_CUBLAS_FUNCTION(name, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m, Int n,  \
                         Int k, const F* alpha, const void* a, cudaDataType type_a, Int lda, const void* b,          \
                         cudaDataType type_b, Int ldb, const F* beta, void* c, cudaDataType type_c, Int ldc) {       \
    return typed_product<F, Int>(KIZAMI_ENTRY(name, routine), handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, \
                                 type_b, ldb, beta, c, type_c, ldc);                                                 \
  }
#define KIZAMI_PRODUCT_EX(name, routine, E, Int)                                                                       \
  KIZAMI_CUBLAS_FUNCTION(name, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m, Int n,    \
                         Int k, const void* alpha, const void* a, cudaDataType type_a, Int lda, const void* b,         \
                         cudaDataType type_b, Int ldb, const void* beta, void* c, cudaDataType type_c, Int ldc,        \
                         cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {                                    \
    return product_ex<Int>(KIZAMI_ENTRY(name, routine), handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, \
                           ldb, beta, c, type_c, ldc, compute, algorithm);                                             \
  }
#define KIZAMI_BATCHED(name, routine, E, Int)                                                                        \
  KIZAMI_CUBLAS_FUNCTION(name, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m, Int n,  \
                         Int k, const E* alpha, const E* const a[], Int lda, const E* const b[], Int ldb,            \
                         const E* beta, E* const c[], Int ldc, Int count) {                                          \
    return batched<E, Int>(KIZAMI_ENTRY(name, routine), handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, \
                           ldc, count);                                                                              \
  }
#define KIZAMI_BATCHED_EX(name, routine, E, Int)                                                                       \
  KIZAMI_CUBLAS_FUNCTION(name, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m, Int n,    \
                         Int k, const void* alpha, const void* const a[], cudaDataType type_a, Int lda,                \
                         const void* const b[], cudaDataType type_b, Int ldb, const void* beta, void* const c[],       \
                         cudaDataType type_c, Int ldc, Int count, cublasComputeType_t compute,                         \
                         cublasGemmAlgo_t algorithm) {                                                                 \
    return batched_ex<Int>(KIZAMI_ENTRY(name, routine), handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, \
                           ldb, beta, c, type_c, ldc, count, compute, algorithm);                                      \
  }
#define KIZAMI_STRIDED(name, routine, E, Int)                                                                         \
  KIZAMI_CUBLAS_FUNCTION(name, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m, Int n,   \
                         Int k, const E* alpha, const E* a, Int lda, long long stride_a, const E* b, Int ldb,         \
                         long long stride_b, const E* beta, E* c, Int ldc, long long stride_c, Int count) {           \
    return strided<E, Int>(KIZAMI_ENTRY(name, routine), handle, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, \
                           stride_b, beta, c, ldc, stride_c, count);                                                  \
  }
#define KIZAMI_STRIDED_EX(name, routine, E, Int)                                                                      \
  KIZAMI_CUBLAS_FUNCTION(name, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m, Int n,   \
                         Int k, const void* alpha, const void* a, cudaDataType type_a, Int lda, long long stride_a,   \
                         const void* b, cudaDataType type_b, Int ldb, long long stride_b, const void* beta, void* c,  \
                         cudaDataType type_c, Int ldc, long long stride_c, Int count, cublasComputeType_t compute,    \
                         cublasGemmAlgo_t algorithm) {                                                                \
    return strided_ex<Int>(KIZAMI_ENTRY(name, routine), handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, stride_a, \
                           b, type_b, ldb, stride_b, beta, c, type_c, ldc, stride_c, count, compute, algorithm);      \
  }
#define KIZAMI_GROUPED(name, routine, E, Int)                                                                         \
  KIZAMI_CUBLAS_FUNCTION(name, cublasHandle_t handle, const cublasOperation_t op_a[], const cublasOperation_t op_b[], \
                         const Int m[], const Int n[], const Int k[], const E alpha[], const E* const a[],            \
                         const Int lda[], const E* const b[], const Int ldb[], const E beta[], E* const c[],          \
                         const Int ldc[], Int count, const Int sizes[]) {                                             \
    return grouped<E, Int>(KIZAMI_ENTRY(name, routine), handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c,  \
                           ldc, count, sizes);                                                                        \
  }
#define KIZAMI_GROUPED_EX(name, routine, E, Int)                                                                       \
  KIZAMI_CUBLAS_FUNCTION(name, cublasHandle_t handle, const cublasOperation_t op_a[], const cublasOperation_t op_b[],  \
                         const Int m[], const Int n[], const Int k[], const void* alpha, const void* const a[],        \
                         cudaDataType_t type_a, const Int lda[], const void* const b[], cudaDataType_t type_b,         \
                         const Int ldb[], const void* beta, void* const c[], cudaDataType_t type_c, const Int ldc[],   \
                         Int count, const Int sizes[], cublasComputeType_t compute) {                                  \
    return grouped_ex<Int>(KIZAMI_ENTRY(name, routine), handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, \
                           ldb, beta, c, type_c, ldc, count, sizes, compute);                                          \
  }

using namespace kizami::dropin::cublas;  // NOLINT(google-build-using-namespace): the exported functions are global
using kizami::dropin::Routine;

#define KIZAMI_BOTH_WIDTHS(KIND, name, routine, E) \
  KIND(name, routine, E, int)                      \
  KIND(name##_64, routine, E, std::int64_t)

KIZAMI_BOTH_WIDTHS(KIZAMI_PRODUCT, cublasSgemm_v2, kGemm, float)
KIZAMI_BOTH_WIDTHS(KIZAMI_PRODUCT, cublasDgemm_v2, kGemm, double)
KIZAMI_BOTH_WIDTHS(KIZAMI_PRODUCT, cublasCgemm_v2, kGemm, cuComplex)
KIZAMI_BOTH_WIDTHS(KIZAMI_PRODUCT, cublasZgemm_v2, kGemm, cuDoubleComplex)
KIZAMI_BOTH_WIDTHS(KIZAMI_PRODUCT, cublasCgemm3m, kGemm3m, cuComplex)
KIZAMI_BOTH_WIDTHS(KIZAMI_PRODUCT, cublasZgemm3m, kGemm3m, cuDoubleComplex)

KIZAMI_BOTH_WIDTHS(KIZAMI_TYPED_PRODUCT, cublasSgemmEx, kGemm, float)
KIZAMI_BOTH_WIDTHS(KIZAMI_TYPED_PRODUCT, cublasCgemmEx, kGemm, cuComplex)
KIZAMI_BOTH_WIDTHS(KIZAMI_TYPED_PRODUCT, cublasCgemm3mEx, kGemm3m, cuComplex)
KIZAMI_BOTH_WIDTHS(KIZAMI_PRODUCT_EX, cublasGemmEx, kGemm, void)

KIZAMI_BOTH_WIDTHS(KIZAMI_BATCHED, cublasSgemmBatched, kGemm, float)
KIZAMI_BOTH_WIDTHS(KIZAMI_BATCHED, cublasDgemmBatched, kGemm, double)
KIZAMI_BOTH_WIDTHS(KIZAMI_BATCHED, cublasCgemmBatched, kGemm, cuComplex)
KIZAMI_BOTH_WIDTHS(KIZAMI_BATCHED, cublasZgemmBatched, kGemm, cuDoubleComplex)
KIZAMI_BOTH_WIDTHS(KIZAMI_BATCHED, cublasCgemm3mBatched, kGemm3m, cuComplex)
KIZAMI_BOTH_WIDTHS(KIZAMI_BATCHED_EX, cublasGemmBatchedEx, kGemm, void)

KIZAMI_BOTH_WIDTHS(KIZAMI_STRIDED, cublasSgemmStridedBatched, kGemm, float)
KIZAMI_BOTH_WIDTHS(KIZAMI_STRIDED, cublasDgemmStridedBatched, kGemm, double)
KIZAMI_BOTH_WIDTHS(KIZAMI_STRIDED, cublasCgemmStridedBatched, kGemm, cuComplex)
KIZAMI_BOTH_WIDTHS(KIZAMI_STRIDED, cublasZgemmStridedBatched, kGemm, cuDoubleComplex)
KIZAMI_BOTH_WIDTHS(KIZAMI_STRIDED, cublasCgemm3mStridedBatched, kGemm3m, cuComplex)
KIZAMI_BOTH_WIDTHS(KIZAMI_STRIDED_EX, cublasGemmStridedBatchedEx, kGemm, void)

KIZAMI_BOTH_WIDTHS(KIZAMI_GROUPED, cublasSgemmGroupedBatched, kGemm, float)
KIZAMI_BOTH_WIDTHS(KIZAMI_GROUPED, cublasDgemmGroupedBatched, kGemm, double)
KIZAMI_BOTH_WIDTHS(KIZAMI_GROUPED_EX, cublasGemmGroupedBatchedEx, kGemm, void)
// NOLINTEND(bugprone-macro-parentheses)
