// SPDX-License-Identifier: MIT
// The front door: one matrix product at a stated accuracy.
//   C <- alpha op(A) op(B) + beta C,  op(X) = X, X^T, X^H or conj(X),  FP32, FP64, complex, double-double
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

/// Multiplies into double-double: at most 100 bits relative to |A||B|.
/// @range In: double or DoubleDouble (normalised), both operands of one type. Scheme ozaki2 only.
/// @status as gemm(); kInvalidArgument also for an element with |lo| > ulp(hi) / 2
template <class In>
KIZAMI_API Status gemm_dd(Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k,
                          DoubleDouble alpha, const In* a, std::int64_t lda, const In* b, std::int64_t ldb,
                          DoubleDouble beta, DoubleDouble* c, std::int64_t ldc, const Policy& policy = {},
                          Outcome* outcome = nullptr);

/// Multiplies num_products pairs, the i-th at a + i * stride_a, b + i * stride_b and c + i * stride_c, by one plan.
/// @units  strides in elements; 0 gives every product the same A or B
/// @range  num_products >= 0, strides >= 0; no two matrices C have an element in common
/// @alias  the matrices C overlap neither each other nor any A or B
/// @status as gemm(), with the number of the first product that failed; its C is untouched, others may be written
template <class T>
KIZAMI_API Status gemm_strided_batched(Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k,
                                       T alpha, const T* a, std::int64_t lda, std::int64_t stride_a, const T* b,
                                       std::int64_t ldb, std::int64_t stride_b, T beta, T* c, std::int64_t ldc,
                                       std::int64_t stride_c, std::int64_t num_products, const Policy& policy = {},
                                       Outcome* outcomes = nullptr);

/// The same with arrays of pointers. @shape a, b, c, and outcomes unless null: [num_products]
template <class T>
KIZAMI_API Status gemm_batched(Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha,
                               const T* const* a, std::int64_t lda, const T* const* b, std::int64_t ldb, T beta,
                               T* const* c, std::int64_t ldc, std::int64_t num_products, const Policy& policy = {},
                               Outcome* outcomes = nullptr);

}  // namespace kizami
