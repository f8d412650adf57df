// SPDX-License-Identifier: MIT
// cusolverDnDgetrf and cusolverDnXgetrf of FP64 and square matrices: P A = L U with partial pivoting by blocks of columns
// (dropin/factorizations/recursion.hpp). Panels are factored by a kernel of Kizami on a second stream, beside products,
// which are calls of cuBLAS' gemm; triangles are solved with by substitution.
#pragma once

#include <cstdint>

#include "dropin/cusolver/solver_call.hpp"

namespace kizami::dropin::cusolver {

/// Answers the call, or leaves it untouched. info is 0, or the first i with U(i, i) = 0, and pivots are LAPACK's: rows
/// chosen are the first of the largest, as idamax chooses, but for rounding errors before; a NaN is chosen at once.
/// @param  Int int or int64_t
/// @shape  a: n x n, L (its unit diagonal left out) and U in the place of A; pivots: n, from 1 on
/// @range  pivots: device memory; null, which means without pivoting, is left to cuSOLVER, and so is what has more rows
///         than the blocks of threads of the device hold, 33792 on an H200
/// @bound  that of partitioned LU, whose products have the bound of their calls and whose triangles are solved by
///         substitution (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 13.2)
/// @status cuBLAS' or CUDA's error once something is enqueued; A is then undefined
/// @queue  asynchronous
template <class Int>
[[nodiscard]] SolverAnswer getrf(const SolverCall& call, Int* pivots) noexcept;

}  // namespace kizami::dropin::cusolver
