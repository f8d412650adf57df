// SPDX-License-Identifier: MIT
// A call of BLAS, whatever interface it came by.
#pragma once

#include <cstdint>
#include <utility>

#include "dropin/policy/call.hpp"

namespace kizami::dropin::blas {

template <class T>
struct Call : TypedCall<T> {
  const char* name = "";         ///< of the function that was called
  const void* caller = nullptr;  ///< an address in the calling code
  bool is_exchanged = false;     ///< A is what the program calls B, and B is A
};

/// Whether the reference BLAS takes the options, sizes and leading dimensions.
/// What it refuses is left to the native library, which calls xerbla with its own name and number.
template <class T>
[[nodiscard]] bool is_valid(const Call<T>& x) {
  if ((x.side != 'L' && x.side != 'R') || (x.uplo != 'U' && x.uplo != 'L') || (x.diag != 'N' && x.diag != 'U'))
    return false;
  if (!has_op(x, kIsComplex<T>, x.op_a) || !has_op(x, kIsComplex<T>, x.op_b) || x.m < 0 || x.n < 0 || x.k < 0)
    return false;
  const StoredRows rows = stored_rows(x);
  const bool has_b = !is_rank_k(x.routine) && !is_triangular(x.routine);
  return is_leading_dimension(x.lda, rows.a) && (!has_b || is_leading_dimension(x.ldb, rows.b)) &&
         is_leading_dimension(x.ldc, x.m);
}

/// The column-major call that a row-major one is, for memory read by columns is the transpose.
/// her2k: C^T = alpha conj(B) A^T + conj(alpha) conj(A) B^T, which is the other form with conj(alpha).
template <class T>
void turn_row_major(Call<T>& x) {
  const auto other = [](char letter, char one, char two) { return letter == one ? two : letter == two ? one : letter; };
  x.uplo = other(x.uplo, 'U', 'L');
  if (is_symmetric(x.routine) || is_triangular(x.routine)) {
    x.side = other(x.side, 'L', 'R');
    std::swap(x.m, x.n);
  } else if (is_rank_k(x.routine) || is_rank_2k(x.routine)) {
    const char transposed = is_hermitian(x.routine) ? 'C' : 'T';
    x.op_a = x.op_a == 'C' && !kIsComplex<T> ? 'N' : other(x.op_a, 'N', transposed);
    if (x.routine == Routine::kHer2k) x.alpha = conjugate(x.alpha);
  } else {
    std::swap(x.op_a, x.op_b);
    std::swap(x.m, x.n);
    std::swap(x.a, x.b);
    std::swap(x.lda, x.ldb);
    x.is_exchanged = !x.is_exchanged;
  }
}

}  // namespace kizami::dropin::blas
