// SPDX-License-Identifier: MIT
// cusolverDnDgetrf and cusolverDnXgetrf of FP64 and square matrices: P A = L U with partial pivoting by blocks of columns
// (dropin/factorizations/recursion.hpp). Panels are factored by a kernel of Kizami on a second stream, beside products,
// which are calls of cuBLAS' gemm; triangles are solved with by substitution.
#pragma once

#include <cstdint>

#include "dropin/cusolver/solver_call.hpp"

namespace kizami::dropin::cusolver {

/// Answers the call, or leaves it untouched. info is 0, or the first i with U(i, i) = 0, and pivots are LAPACK's: rows
/// chosen are the first of the largest, as idamax chooses, but for rounding errors before; a NaN is chosen at once. Int: int or int64_t
/// @range  pivots: device memory; null, which means without pivoting, is left to cuSOLVER, and so is what has more rows
///         than the blocks of threads of the device hold, 33792 on an H200
/// @queue asynchronous
template <class Int>
[[nodiscard]] SolverAnswer getrf(const SolverCall& call, Int* pivots) noexcept;

}  // namespace kizami::dropin::cusolver
