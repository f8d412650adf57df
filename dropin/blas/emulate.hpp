// SPDX-License-Identifier: MIT
// The routines of level 3 by products. Bounds, for a product's own bound b(k) (Outcome::bound) and gauge G:
//   gemm, gemm3m, gemmt, symm, hemm, syrk, herk   that of one product with inner size k
//   syr2k, her2k   the sum of those of the two products: b(k) (G(A, B') + G(B, A')), and the rounding of two epilogues
//   trmm           of the blocks beside the diagonal as one product each; of the diagonal blocks, at most kMaxBlock wide, as
//                  the native trmm; and the rounding of an epilogue for each of at most 2 + log2(n / block) halvings
//   trsm           a residual: |alpha C - op(A) X| is bounded as |X - op(A) C| is for trmm, with gauge |op(A)||X|
// A triangle that is not computed, and one that is not stored, are not touched.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dropin/blas/products.hpp"
#include "dropin/level3/products.hpp"

namespace kizami::dropin::blas {

/// Diagonal blocks of trmm and trsm are n / 4 wide, and at least 1, so that small calls have products, too; at most
/// this.
inline constexpr std::int64_t kMaxBlock = 64;
[[nodiscard]] inline std::int64_t block_of_triangular(const Shape& x) {
  return std::clamp<std::int64_t>(level3::order_of(x) / 4, 1, kMaxBlock);
}

/// Columns [j, j + width) of a triangle of C: a product of num_rows rows from `first` on, those beside the diagonal
/// block, and one of the diagonal block as a square.
struct TriangleColumns {
  std::int64_t j;
  std::int64_t width;
  std::int64_t first;
  std::int64_t num_rows;
};
[[nodiscard]] inline std::int64_t columns_of_triangle(std::int64_t n) {
  constexpr std::int64_t kMost = 1024;  // unmeasured
  return std::clamp<std::int64_t>(n / 4, 1, kMost);
}
template <class Visit>
void for_each_columns(char uplo, std::int64_t n, const Visit& visit) {
  const std::int64_t block = columns_of_triangle(n);
  for (std::int64_t j = 0; j < n; j += block) {
    const std::int64_t width = std::min(block, n - j);
    const std::int64_t first = uplo == 'U' ? 0 : j + width;
    visit(TriangleColumns{j, width, first, (uplo == 'U' ? j : n) - first});
  }
}

/// @range a valid call of sizes >= 1, for which there is a native BLAS (trmm, trsm)
/// @status throws std::bad_alloc before anything is written
template <class T>
void emulate(const Call<T>& call, Products<T>& products);

}  // namespace kizami::dropin::blas
