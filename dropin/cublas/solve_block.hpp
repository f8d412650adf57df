// SPDX-License-Identifier: MIT
// A small triangle solved by substitution, in one kernel: what trsm's diagonal blocks are where that is quicker than
// cuBLAS, whose 256 x 8192 takes 0.24 ms on an H200 (docs/perf/factorizations.md). Triangles on the left and on the
// right, stored above or below, transposed or not, are all one lower triangle on the left, met in other steps through
// memory.
#pragma once

#include <cstdint>

#include "dropin/cublas/call.hpp"
#include "kizami/status.hpp"

namespace kizami::dropin::cublas {

/// The largest order of such a triangle. In shared memory are so many elements of 32 lines, and of 36
/// of L: of FP64 76 KB, which every card since Ampere gives a block.
inline constexpr std::int64_t kMostSolved = 128;

/// What a solution has beside a rounding for each row, in roundings: alpha, the division, and two sums that become one.
inline constexpr std::int64_t kSolvedRoundings = 3;

/// L X = alpha C, X in the place of C: element (i, j) of L is at l + i * l_down + j * l_across, of C likewise.
template <class T>
struct Forward {
  std::int64_t order = 0;
  std::int64_t width = 0;  ///< columns of C, each a system of its own
  T alpha{};
  bool has_unit_diagonal = false;
  const T* l = nullptr;
  std::int64_t l_down = 0;
  std::int64_t l_across = 0;
  T* c = nullptr;
  std::int64_t c_down = 0;
  std::int64_t c_across = 0;
};

/// @range a call of trsm, its type real: conjugation is not looked at
template <class T>
[[nodiscard]] Forward<T> forward_of(const TypedCall<T>& x) {
  const bool is_left = x.side == 'L';
  const bool is_lower = (x.uplo == 'L') == (x.op_a == 'N');  // op(A)
  Forward<T> f;
  f.order = x.k;
  f.width = is_left ? x.n : x.m;
  f.alpha = x.alpha;
  f.has_unit_diagonal = x.diag == 'U';
  f.l = x.a;
  // On the right it is op(A)^T that stands on the left of X^T.
  const bool is_as_stored = (x.op_a == 'N') == is_left;
  f.l_down = is_as_stored ? 1 : x.lda;
  f.l_across = is_as_stored ? x.lda : 1;
  f.c = x.c;
  f.c_down = is_left ? 1 : x.ldc;
  f.c_across = is_left ? x.ldc : 1;
  if (is_lower == is_left) return f;
  // An upper triangle from its last line on.
  f.l += (f.order - 1) * (f.l_down + f.l_across);
  f.l_down = -f.l_down;
  f.l_across = -f.l_across;
  f.c += (f.order - 1) * f.c_down;
  f.c_down = -f.c_down;
  return f;
}

/// Enqueues the solution.
/// @range  1 <= order <= kMostSolved, width >= 1; T float or double
/// @bound  that of substitution: |L X - alpha C| <= (order + 3) u (|L||X| + |alpha C|), whatever the condition of L
/// @status CUDA's words
/// @queue  asynchronous and capturable
template <class T>
[[nodiscard]] Status solve_block(const Forward<T>& system, cudaStream_t stream);

}  // namespace kizami::dropin::cublas
