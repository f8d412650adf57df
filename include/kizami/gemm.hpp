// SPDX-License-Identifier: MIT
// The front door: one matrix product at a stated accuracy.
//   C <- alpha op(A) op(B) + beta C,  op(X) = X or X^T,  FP32 or FP64
// with BLAS semantics: beta = 0 never reads C, k = 0 or alpha = 0 gives beta C, NaN and Inf appear where exact IEEE
// arithmetic puts them, and equal requests give equal bits on every engine and thread count (policy reproducibility).
#pragma once

#include <cstdint>

#include "kizami/export.h"
#include "kizami/plan.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"

namespace kizami {

/// Multiplies in BLAS terms.
/// @shape  op(A): m x k, op(B): k x n, C: m x n. Column-major: lda >= max(1, rows of A), and so on; row-major: columns.
/// @status kInvalidArgument with argument, value and limit; otherwise as make_plan() and run(). On every error C is
/// untouched.
/// @bound, @alias, @queue as run()
template <class T>
KIZAMI_API Status gemm(Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha,
                       const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc,
                       const Policy& policy = {}, Outcome* outcome = nullptr);

/// Multiplies views: C <- alpha A B + beta C with A m x k, B k x n, C m x n.
template <class T>
KIZAMI_API Status gemm(T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta, MatrixView<T> c,
                       const Policy& policy = {}, Outcome* outcome = nullptr);

}  // namespace kizami
