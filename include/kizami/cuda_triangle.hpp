// SPDX-License-Identifier: MIT
// One triangle of a product in the memory of a CUDA device, and products of a matrix of which one triangle is stored: what
// BLAS calls syrk, herk and gemmt, symm and hemm, in the order of a stream. No CUDA header is needed to include this.
//   Status s = cuda::gemmt<double>(stream, Layout::kColMajor, {.is_lower = true}, Op::kNone, Op::kTranspose, n, k, 1.0,
//                                  a, lda, a, lda, 0.0, c, ldc);
// Built with CUDA only.
#pragma once

#include <cstdint>

#include "kizami/cuda.hpp"
#include "kizami/effort.hpp"
#include "kizami/export.h"
#include "kizami/outcome.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"

namespace kizami::cuda {

/// Elements (i, j) of an n x n C with i >= j, or those with i <= j.
struct Triangle {
  bool is_lower = true;
  /// Imaginary parts of the diagonal are not read, and become 0, as those of a Hermitian C.
  bool has_real_diagonal = false;
};

/// The plan by which gemmt() makes a triangle: one of all of C, whose prediction is that of all of C.
/// @range  as make_plan() with m = n; Policy::scheme kAuto means here the quickest of the schemes that can leave a
///         triangle out
/// @status as make_plan()   @bound Plan::bound(), as of gemmt()
KIZAMI_API Result<Plan> make_triangle_plan(Scalar scalar, std::int64_t n, std::int64_t k, const Policy& policy = {});

/// Enqueues C <- alpha op(A) op(B) + beta C for one triangle of C; the elements of the other are neither read nor
/// written. Each has the bits that gemm() gives it by the same scheme (of scheme ec with promotion_k given: that gemm()
/// gives it in a form for large C, whose sums of promotions are one chain). Where op(B) is op(A)^T by the same pointer and
/// leading dimension, A is read and split once.
/// @range  as gemm() with m = n; Policy::scheme kOzaki2, kEc, or kAuto as make_triangle_plan() takes it
/// @status as gemm(); kUnsupported, with C as it was, where the engine or the workspace is not one of a triangle: then
///         the engine is not hopper, k is beyond one INT32 sum, or the workspace limit too small for whole operands; of
///         scheme ec C is complex, n below 3966, or k at most 1024
/// @bound  as gemm()   @queue as gemm()
template <class T>
KIZAMI_API Status gemmt(Stream stream, Layout layout, const Triangle& triangle, Op op_a, Op op_b, std::int64_t n,
                        std::int64_t k, Factor<T> alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb,
                        Factor<T> beta, T* c, std::int64_t ldc, const Policy& policy = {}, Outcome* outcome = nullptr,
                        const EffortNote& note = {});

/// How a symmetric matrix A is stored: the other triangle is not read. Of a Hermitian one imaginary parts of the diagonal
/// are not read either, and count as 0.
struct Symmetric {
  Side side = Side::kA;  ///< C <- alpha A B + beta C, or kB: alpha B A
  bool is_lower = true;
  bool is_hermitian = false;
};

/// What symm() takes beside its product on the current device: A of that order, written out. As the planner predicts.
/// @units seconds   @status as make_plan()
KIZAMI_API Result<double> symm_seconds(Scalar scalar, std::int64_t order);

/// Enqueues C <- alpha A B + beta C, or alpha B A + beta C, with a symmetric or Hermitian A: A is written out in full into
/// memory of the library, which it takes beside the workspace, and multiplied as gemm() would, to the bit.
/// @range  as gemm(); A is m x m, or n x n where it stands behind B, below 2^20
/// @alias  C shares no memory with B or with the square of A, the triangle that is not read included
/// @status as gemm(); kOutOfMemory also where A in full has no room, with C as it was   @bound as gemm()   @queue as gemm()
template <class T>
KIZAMI_API Status symm(Stream stream, Layout layout, const Symmetric& symmetric, std::int64_t m, std::int64_t n,
                       Factor<T> alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, Factor<T> beta,
                       T* c, std::int64_t ldc, const Policy& policy = {}, Outcome* outcome = nullptr,
                       const EffortNote& note = {});

}  // namespace kizami::cuda
