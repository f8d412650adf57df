// SPDX-License-Identifier: MIT
// The products that routines of level 3 are made of, as calls. Matrices may be in host or in device memory: their
// elements are not looked at.
#pragma once

#include <cstdint>

#include "dropin/policy/call.hpp"

namespace kizami::dropin::level3 {

/// The order of the triangle that a call is taken apart by: of C's, or of A's.
[[nodiscard]] constexpr std::int64_t order_of(const Shape& x) { return has_triangle(x.routine) ? x.n : x.k; }

/// C (m x n) <- alpha X Y + beta C. @shape X: m x k; Y: k x n
template <class T>
[[nodiscard]] TypedCall<T> product_of(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const Operand<T>& x,
                                      const Operand<T>& y, T beta, T* c, std::int64_t ldc) {
  return {{Routine::kGemm, 'L', 'U', x.op, y.op, 'N', m, n, k}, alpha, x.data, x.ld, y.data, y.ld, beta, c, ldc};
}

/// A triangle of C (n x n) is updated by one product, of syr2k and her2k by two, one after the other: calls
/// update(alpha, X, Y, beta) for each C <- alpha X Y + beta C. @shape X: n x k; Y: k x n
template <class T, class Update>
void for_each_update(const TypedCall<T>& x, const Update& update) {
  if (x.routine == Routine::kGemmt)
    return update(x.alpha, Operand<T>{x.op_a, x.a, x.lda}, Operand<T>{x.op_b, x.b, x.ldb}, x.beta);
  const char transposed = is_hermitian(x.routine) ? 'C' : 'T';
  const bool is_plain = x.op_a == 'N';  // op(A) op(B)' = A B', else A' B
  const char left = is_plain ? 'N' : transposed;
  const char right = is_plain ? transposed : 'N';
  const T* b = is_rank_k(x.routine) ? x.a : x.b;
  const std::int64_t ldb = is_rank_k(x.routine) ? x.lda : x.ldb;
  update(x.alpha, Operand<T>{left, x.a, x.lda}, Operand<T>{right, b, ldb}, x.beta);
  if (!is_rank_2k(x.routine)) return;
  const T second_alpha = is_hermitian(x.routine) ? conjugate(x.alpha) : x.alpha;
  update(second_alpha, Operand<T>{left, b, ldb}, Operand<T>{right, x.a, x.lda}, T{1});
}

}  // namespace kizami::dropin::level3
