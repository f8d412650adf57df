// SPDX-License-Identifier: MIT
// One call of a BLAS routine of level 3 as data, column-major, whatever interface it came by.
//   gemm, gemm3m  C (m x n) <- alpha op(A) op(B) + beta C, inner size k
//   gemmt         the same of a triangle of C (n x n)
//   symm, hemm    C <- alpha A B + beta C, or B A: A symmetric or Hermitian, one triangle of it stored
//   syrk, herk    a triangle of C (n x n) <- alpha op(A) op(A)' + beta C, inner size k; ' is ^T, of herk ^H
//   syr2k, her2k  a triangle of C <- alpha op(A) op(B)' + alpha' op(B) op(A)' + beta C
//   trmm          C <- alpha op(A) C, or C op(A): A triangular. BLAS calls this C "B"
//   trsm          C <- X with op(A) X = alpha C, or X op(A) = alpha C
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <utility>

#include "kizami/types.hpp"

namespace kizami::dropin::blas {

enum class Routine : std::uint8_t { kGemm, kGemm3m, kGemmt, kSymm, kHemm, kSyrk, kHerk, kSyr2k, kHer2k, kTrmm, kTrsm };

[[nodiscard]] constexpr const char* to_string(Routine r) {
  constexpr const char* kNames[]{"gemm", "gemm3m", "gemmt", "symm", "hemm", "syrk",
                                 "herk", "syr2k",  "her2k", "trmm", "trsm"};
  return kNames[static_cast<int>(r)];
}
[[nodiscard]] constexpr bool is_triangular(Routine r) { return r == Routine::kTrmm || r == Routine::kTrsm; }
[[nodiscard]] constexpr bool is_symmetric(Routine r) { return r == Routine::kSymm || r == Routine::kHemm; }
[[nodiscard]] constexpr bool is_rank_2k(Routine r) { return r == Routine::kSyr2k || r == Routine::kHer2k; }
[[nodiscard]] constexpr bool is_rank_k(Routine r) { return r == Routine::kSyrk || r == Routine::kHerk; }
[[nodiscard]] constexpr bool is_hermitian(Routine r) {
  return r == Routine::kHemm || r == Routine::kHerk || r == Routine::kHer2k;
}
/// Whether one triangle of C is computed and the other not touched.
[[nodiscard]] constexpr bool has_triangle(Routine r) { return r == Routine::kGemmt || is_rank_k(r) || is_rank_2k(r); }

/// Letters are those of Fortran, upper case; 0 is an option that is not understood.
template <class T>
struct Call {
  Routine routine = Routine::kGemm;
  const char* name = "";         ///< of the function that was called
  const void* caller = nullptr;  ///< an address in the calling code
  char side = 'L';
  char uplo = 'U';
  char op_a = 'N';
  char op_b = 'N';
  char diag = 'N';
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;  ///< the inner size, of A's for symm, hemm, trmm, trsm
  T alpha{};
  const T* a = nullptr;
  std::int64_t lda = 0;
  const T* b = nullptr;  ///< not of syrk, herk, trmm, trsm
  std::int64_t ldb = 0;
  T beta{};
  T* c = nullptr;
  std::int64_t ldc = 0;
};

[[nodiscard]] constexpr Op op_of(char letter) {
  return letter == 'N' ? Op::kNone : letter == 'T' ? Op::kTranspose : Op::kConjTranspose;
}

template <class T>
[[nodiscard]] T conjugate(T x) {
  if constexpr (kIsComplex<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}

/// Whether the routine has this operation: complex syrk and syr2k do not conjugate, herk and her2k always do.
template <class T>
[[nodiscard]] bool has_op(const Call<T>& call, char op) {
  const bool is_rank = is_rank_k(call.routine) || is_rank_2k(call.routine);
  if (op == 'T') return !(is_rank && is_hermitian(call.routine));
  if (op == 'C') return !(is_rank && kIsComplex<T> && !is_hermitian(call.routine));
  return op == 'N';
}

/// Whether the reference BLAS takes the options, sizes and leading dimensions.
/// What it refuses is left to the native library, which calls xerbla with its own name and number.
template <class T>
[[nodiscard]] bool is_valid(const Call<T>& x) {
  const bool is_left = x.side == 'L';
  if ((x.side != 'L' && x.side != 'R') || (x.uplo != 'U' && x.uplo != 'L') || (x.diag != 'N' && x.diag != 'U'))
    return false;
  if (!has_op(x, x.op_a) || !has_op(x, x.op_b) || x.m < 0 || x.n < 0 || x.k < 0) return false;
  std::int64_t rows_a = x.op_a == 'N' ? x.m : x.k;
  std::int64_t rows_b = x.op_b == 'N' ? x.k : x.n;
  if (is_symmetric(x.routine) || is_triangular(x.routine)) {
    rows_a = is_left ? x.m : x.n;
    rows_b = x.m;
  } else if (is_rank_2k(x.routine)) {
    rows_b = rows_a;
  }
  const auto fits = [](std::int64_t ld, std::int64_t rows) { return ld >= std::max<std::int64_t>(1, rows); };
  const bool has_b = !is_rank_k(x.routine) && !is_triangular(x.routine);
  return fits(x.lda, rows_a) && (!has_b || fits(x.ldb, rows_b)) && fits(x.ldc, x.m);
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
  }
}

}  // namespace kizami::dropin::blas
