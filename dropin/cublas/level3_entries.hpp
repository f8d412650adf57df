// SPDX-License-Identifier: MIT
// The entry points of level 3 but gemm, by kinds (gemm_entries.hpp).
#pragma once

#include "dropin/cublas/gemm_entries.hpp"

namespace kizami::dropin::cublas {

/// syrk, herk: Factor is real for herk.
template <class E, class Factor, class Int>
cublasStatus_t rank_k(const Entry& entry, cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t op, Int n,
                      Int k, const Factor* alpha, const E* a, Int lda, const Factor* beta, E* c, Int ldc) {
  Call call = call_of(entry, handle, op, CUBLAS_OP_N, n, n, k, alpha, a, lda, nullptr, 0, beta, c, ldc);
  call.scalar = kScalarOfElement<E>;
  call.op_b = call.op_a;
  call.uplo = letter_of(uplo);
  return take_one(call, entry, handle, uplo, op, n, k, alpha, a, lda, beta, c, ldc);
}

/// cublasCsyrkEx, cublasCsyrk3mEx, cublasCherkEx, cublasCherk3mEx: Factor is real for herk.
template <class Factor, class Int>
cublasStatus_t rank_k_ex(const Entry& entry, cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t op, Int n,
                         Int k, const Factor* alpha, const void* a, cudaDataType type_a, Int lda, const Factor* beta,
                         void* c, cudaDataType type_c, Int ldc) {
  Call call = call_of(entry, handle, op, CUBLAS_OP_N, n, n, k, alpha, a, lda, nullptr, 0, beta, c, ldc);
  set_types(call, {type_a, type_a, type_c, CUBLAS_COMPUTE_32F});
  if (call.scalar != Scalar::kC64) call.why_native = kOtherTypes;
  call.op_b = call.op_a;
  call.uplo = letter_of(uplo);
  return take_one(call, entry, handle, uplo, op, n, k, alpha, a, type_a, lda, beta, c, type_c, ldc);
}

/// syr2k, her2k, syrkx, herkx: Factor, of beta, is real for her2k and herkx.
template <class E, class Factor, class Int>
cublasStatus_t rank_2k(const Entry& entry, cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t op, Int n,
                       Int k, const E* alpha, const E* a, Int lda, const E* b, Int ldb, const Factor* beta, E* c,
                       Int ldc) {
  Call call = call_of(entry, handle, op, op, n, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  call.scalar = kScalarOfElement<E>;
  call.uplo = letter_of(uplo);
  return take_one(call, entry, handle, uplo, op, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/// symm, hemm.
template <class E, class Int>
cublasStatus_t symmetric(const Entry& entry, cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, Int m,
                         Int n, const E* alpha, const E* a, Int lda, const E* b, Int ldb, const E* beta, E* c,
                         Int ldc) {
  const Int k = side == CUBLAS_SIDE_RIGHT ? n : m;
  Call call = call_of(entry, handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  call.scalar = kScalarOfElement<E>;
  call.side = letter_of(side);
  call.uplo = letter_of(uplo);
  return take_one(call, entry, handle, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc);
}

/// trmm.
template <class E, class Int>
cublasStatus_t triangular_product(const Entry& entry, cublasHandle_t handle, cublasSideMode_t side,
                                  cublasFillMode_t uplo, cublasOperation_t op, cublasDiagType_t diag, Int m, Int n,
                                  const E* alpha, const E* a, Int lda, const E* b, Int ldb, E* c, Int ldc) {
  const Int k = side == CUBLAS_SIDE_RIGHT ? n : m;
  Call call = call_of(entry, handle, op, CUBLAS_OP_N, m, n, k, alpha, a, lda, b, ldb, nullptr, c, ldc);
  call.scalar = kScalarOfElement<E>;
  call.side = letter_of(side);
  call.uplo = letter_of(uplo);
  call.diag = letter_of(diag);
  return take_one(call, entry, handle, side, uplo, op, diag, m, n, alpha, a, lda, b, ldb, c, ldc);
}

/// trsm.
template <class E, class Int>
cublasStatus_t solve(const Entry& entry, cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                     cublasOperation_t op, cublasDiagType_t diag, Int m, Int n, const E* alpha, const E* a, Int lda,
                     E* b, Int ldb) {
  const Int k = side == CUBLAS_SIDE_RIGHT ? n : m;
  Call call = call_of(entry, handle, op, CUBLAS_OP_N, m, n, k, alpha, a, lda, nullptr, 0, nullptr, b, ldb);
  call.scalar = kScalarOfElement<E>;
  call.side = letter_of(side);
  call.uplo = letter_of(uplo);
  call.diag = letter_of(diag);
  return take_one(call, entry, handle, side, uplo, op, diag, m, n, alpha, a, lda, b, ldb);
}

}  // namespace kizami::dropin::cublas
