// SPDX-License-Identifier: MIT
// What programs call instead of cuBLAS' routines of level 3 but gemm, each also as ..._64.
#include <cstdint>

#include "dropin/cublas/export.hpp"
#include "dropin/cublas/level3_entries.hpp"

// NOLINTBEGIN(bugprone-macro-parentheses): types and names
#define KIZAMI_RANK_K(name, routine, E, Factor, Int)                                                                 \
  KIZAMI_CUBLAS_FUNCTION(name, cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t op, Int n, Int k,     \
                         const Factor* alpha, const E* a, Int lda, const Factor* beta, E* c, Int ldc) {              \
    return rank_k<E, Factor, Int>(KIZAMI_ENTRY(name, routine), handle, uplo, op, n, k, alpha, a, lda, beta, c, ldc); \
  }
#define KIZAMI_RANK_K_EX(name, routine, E, Factor, Int)                                                                \
  KIZAMI_CUBLAS_FUNCTION(name, cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t op, Int n, Int k,       \
                         const Factor* alpha, const void* a, cudaDataType type_a, Int lda, const Factor* beta,         \
                         void* c, cudaDataType type_c, Int ldc) {                                                      \
    return rank_k_ex<Factor, Int>(KIZAMI_ENTRY(name, routine), handle, uplo, op, n, k, alpha, a, type_a, lda, beta, c, \
                                  type_c, ldc);                                                                        \
  }
#define KIZAMI_RANK_2K(name, routine, E, Factor, Int)                                                                \
  KIZAMI_CUBLAS_FUNCTION(name, cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t op, Int n, Int k,     \
                         const E* alpha, const E* a, Int lda, const E* b, Int ldb, const Factor* beta, E* c,         \
                         Int ldc) {                                                                                  \
    return rank_2k<E, Factor, Int>(KIZAMI_ENTRY(name, routine), handle, uplo, op, n, k, alpha, a, lda, b, ldb, beta, \
                                   c, ldc);                                                                          \
  }
#define KIZAMI_SYMMETRIC(name, routine, E, Factor, Int)                                                             \
  KIZAMI_CUBLAS_FUNCTION(name, cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, Int m, Int n,   \
                         const E* alpha, const E* a, Int lda, const E* b, Int ldb, const E* beta, E* c, Int ldc) {  \
    return symmetric<E, Int>(KIZAMI_ENTRY(name, routine), handle, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, \
                             ldc);                                                                                  \
  }
#define KIZAMI_TRMM(name, routine, E, Factor, Int)                                                                    \
  KIZAMI_CUBLAS_FUNCTION(name, cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,                   \
                         cublasOperation_t op, cublasDiagType_t diag, Int m, Int n, const E* alpha, const E* a,       \
                         Int lda, const E* b, Int ldb, E* c, Int ldc) {                                               \
    return triangular_product<E, Int>(KIZAMI_ENTRY(name, routine), handle, side, uplo, op, diag, m, n, alpha, a, lda, \
                                      b, ldb, c, ldc);                                                                \
  }
#define KIZAMI_TRSM(name, routine, E, Factor, Int)                                                                \
  KIZAMI_CUBLAS_FUNCTION(name, cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,               \
                         cublasOperation_t op, cublasDiagType_t diag, Int m, Int n, const E* alpha, const E* a,   \
                         Int lda, E* b, Int ldb) {                                                                \
    return solve<E, Int>(KIZAMI_ENTRY(name, routine), handle, side, uplo, op, diag, m, n, alpha, a, lda, b, ldb); \
  }

using namespace kizami::dropin::cublas;  // NOLINT(google-build-using-namespace): the exported functions are global
using kizami::dropin::Routine;

#define KIZAMI_BOTH_WIDTHS(KIND, name, routine, E, Factor) \
  KIND(name, routine, E, Factor, int)                      \
  KIND(name##_64, routine, E, Factor, std::int64_t)
#define KIZAMI_FOUR_TYPES(KIND, name, routine)                           \
  KIZAMI_BOTH_WIDTHS(KIND, cublasS##name, routine, float, float)         \
  KIZAMI_BOTH_WIDTHS(KIND, cublasD##name, routine, double, double)       \
  KIZAMI_BOTH_WIDTHS(KIND, cublasC##name, routine, cuComplex, cuComplex) \
  KIZAMI_BOTH_WIDTHS(KIND, cublasZ##name, routine, cuDoubleComplex, cuDoubleComplex)
#define KIZAMI_COMPLEX_TYPES(KIND, name, routine)                    \
  KIZAMI_BOTH_WIDTHS(KIND, cublasC##name, routine, cuComplex, float) \
  KIZAMI_BOTH_WIDTHS(KIND, cublasZ##name, routine, cuDoubleComplex, double)

KIZAMI_FOUR_TYPES(KIZAMI_RANK_K, syrk_v2, kSyrk)
KIZAMI_COMPLEX_TYPES(KIZAMI_RANK_K, herk_v2, kHerk)
KIZAMI_BOTH_WIDTHS(KIZAMI_RANK_K_EX, cublasCsyrkEx, kSyrk, void, cuComplex)
KIZAMI_BOTH_WIDTHS(KIZAMI_RANK_K_EX, cublasCsyrk3mEx, kSyrk, void, cuComplex)
KIZAMI_BOTH_WIDTHS(KIZAMI_RANK_K_EX, cublasCherkEx, kHerk, void, float)
KIZAMI_BOTH_WIDTHS(KIZAMI_RANK_K_EX, cublasCherk3mEx, kHerk, void, float)
KIZAMI_FOUR_TYPES(KIZAMI_RANK_2K, syrkx, kSyrkx)
KIZAMI_COMPLEX_TYPES(KIZAMI_RANK_2K, herkx, kHerkx)
KIZAMI_FOUR_TYPES(KIZAMI_RANK_2K, syr2k_v2, kSyr2k)
KIZAMI_COMPLEX_TYPES(KIZAMI_RANK_2K, her2k_v2, kHer2k)
KIZAMI_FOUR_TYPES(KIZAMI_SYMMETRIC, symm_v2, kSymm)
KIZAMI_COMPLEX_TYPES(KIZAMI_SYMMETRIC, hemm_v2, kHemm)
KIZAMI_FOUR_TYPES(KIZAMI_TRMM, trmm_v2, kTrmm)
KIZAMI_FOUR_TYPES(KIZAMI_TRSM, trsm_v2, kTrsm)
// NOLINTEND(bugprone-macro-parentheses)
