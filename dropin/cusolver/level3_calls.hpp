// SPDX-License-Identifier: MIT
// Operations of a factorization as calls of cuBLAS' routines: the program could have made them itself, so settings,
// rules, log, summary and samples are what they are for these. FP64, column-major, 64-bit integers.
#pragma once

#include <cublas_v2.h>

#include <cstdint>

#include "dropin/factorizations/recursion.hpp"

namespace kizami::dropin::cusolver {

using factorizations::Matrix;

/// Whether this cuBLAS has the routines below, those of 64-bit integers.
[[nodiscard]] bool has_level3();

/// @param caller an address in the code that called for the factorization
/// Each returns cuBLAS' status.
/// C <- C - A B
[[nodiscard]] cublasStatus_t subtract_product(const void* caller, cublasHandle_t blas, const Matrix& a, const Matrix& b,
                                              const Matrix& c);
/// A triangle of C <- C - A A^T, or C - A^T A if `op` is CUBLAS_OP_T; the other one is not touched.
[[nodiscard]] cublasStatus_t subtract_rank_k(const void* caller, cublasHandle_t blas, cublasFillMode_t uplo,
                                             cublasOperation_t op, const Matrix& a, const Matrix& c);
/// B <- B L^-T on the right, or L^-T B on the left: L is the triangle `uplo` of `l`.
[[nodiscard]] cublasStatus_t solve_transposed(const void* caller, cublasHandle_t blas, cublasSideMode_t side,
                                              cublasFillMode_t uplo, const Matrix& l, const Matrix& b);

/// B <- L^-1 B, of a lower triangle with a unit diagonal.
[[nodiscard]] cublasStatus_t solve_unit_lower(const void* caller, cublasHandle_t blas, const Matrix& l,
                                              const Matrix& b);

}  // namespace kizami::dropin::cusolver
