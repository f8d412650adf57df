// SPDX-License-Identifier: MIT
// cusolverDnDpotrf and cusolverDnXpotrf of FP64: A = L L^T or U^T U by halves (dropin/factorizations/recursion.hpp), so
// that inner sizes are large. Blocks on the diagonal are cuSOLVER's own, all else are calls of cuBLAS' syrk and trsm.
#pragma once

#include <cublas_v2.h>

#include "dropin/cusolver/solver_call.hpp"

namespace kizami::dropin::cusolver {

/// Answers the call, or leaves it untouched. The other triangle of A is not touched. info is 0, or the order of the first
/// leading minor that is not positive definite: then L or U is right in the blocks before it, and the rest is undefined.
/// @shape  a: n x n, of which the triangle `uplo` is read and written
/// @bound  as of getrf(): the blocks on the diagonal have cuSOLVER's
/// @status cuSOLVER's, cuBLAS' or CUDA's error once something is enqueued; A is then undefined
/// @queue  asynchronous
[[nodiscard]] SolverAnswer potrf(const SolverCall& call, cublasFillMode_t uplo) noexcept;

}  // namespace kizami::dropin::cusolver
