// SPDX-License-Identifier: MIT
// The routines of level 3 by products. Bounds, for a product's own bound b(k) (Outcome::bound) and gauge G:
//   gemm, gemm3m, gemmt, symm, hemm, syrk, herk   that of one product with inner size k
//   syr2k, her2k   the sum of those of the two products: b(k) (G(A, B') + G(B, A')), and the rounding of two epilogues
//   trmm           of the blocks beside the diagonal as one product each; of the diagonal blocks, at most kMaxBlock wide, as
//                  the native trmm; and the rounding of an epilogue for each of at most 2 + log2(n / block) halvings
//   trsm           a residual: |alpha C - op(A) X| is bounded as |X - op(A) C| is for trmm, with gauge |op(A)||X|
// A triangle that is not computed, and one that is not stored, are not touched.
#pragma once

#include "dropin/blas/products.hpp"

namespace kizami::dropin::blas {

/// Diagonal blocks of trmm and trsm are n / 4 wide, and at least 1, so that small calls have products, too; at most
/// this.
inline constexpr std::int64_t kMaxBlock = 64;

/// @range a valid call of sizes >= 1, for which there is a native BLAS (trmm, trsm)
/// @status throws std::bad_alloc before anything is written
template <class T>
void emulate(const Call<T>& call, Products<T>& products);

}  // namespace kizami::dropin::blas
