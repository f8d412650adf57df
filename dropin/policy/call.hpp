// SPDX-License-Identifier: MIT
// A call of a routine of level 3 as data, column-major, as both libraries see it.
//   gemm, gemm3m  C (m x n) <- alpha op(A) op(B) + beta C, inner size k
//   gemmt         the same of a triangle of C (n x n)
//   syrk, herk    a triangle of C (n x n) <- alpha op(A) op(A)' + beta C, inner size k; ' is ^T, of herk and its kin ^H
//   syrkx, herkx  a triangle of C <- alpha op(A) op(B)' + beta C
//   syr2k, her2k  a triangle of C <- alpha op(A) op(B)' + alpha' op(B) op(A)' + beta C
//   symm, hemm    C <- alpha A B + beta C, or B A: A symmetric or Hermitian, one triangle of it stored
//   trmm          C <- alpha op(A) B, or B op(A): A triangular; C may be B, and is in BLAS
//   trsm          C <- X with op(A) X = alpha C, or X op(A) = alpha C. BLAS calls this C "B"
#pragma once

#include <complex>
#include <cstdint>
#include <string>

#include "kizami/types.hpp"

namespace kizami::dropin {

enum class Routine : std::uint8_t {
  kGemm,
  kGemm3m,
  kGemmt,
  kSyrk,
  kHerk,
  kSyrkx,
  kHerkx,
  kSyr2k,
  kHer2k,
  kSymm,
  kHemm,
  kTrmm,
  kTrsm
};
inline constexpr int kNumRoutines = static_cast<int>(Routine::kTrsm) + 1;

/// The name in rules.
[[nodiscard]] constexpr const char* to_string(Routine r) {
  constexpr const char* kNames[kNumRoutines]{"gemm",  "gemm3m", "gemmt", "syrk", "herk", "syrkx", "herkx",
                                             "syr2k", "her2k",  "symm",  "hemm", "trmm", "trsm"};
  return kNames[static_cast<int>(r)];
}
[[nodiscard]] constexpr bool is_product(Routine r) { return r == Routine::kGemm || r == Routine::kGemm3m; }
[[nodiscard]] constexpr bool is_rank_k(Routine r) { return r == Routine::kSyrk || r == Routine::kHerk; }
[[nodiscard]] constexpr bool is_rank_kx(Routine r) { return r == Routine::kSyrkx || r == Routine::kHerkx; }
[[nodiscard]] constexpr bool is_rank_2k(Routine r) { return r == Routine::kSyr2k || r == Routine::kHer2k; }
[[nodiscard]] constexpr bool is_symmetric(Routine r) { return r == Routine::kSymm || r == Routine::kHemm; }
[[nodiscard]] constexpr bool is_triangular(Routine r) { return r == Routine::kTrmm || r == Routine::kTrsm; }
/// Whether one triangle of C is computed and the other not touched.
[[nodiscard]] constexpr bool has_triangle(Routine r) { return !is_product(r) && !is_symmetric(r) && !is_triangular(r); }
[[nodiscard]] constexpr bool is_hermitian(Routine r) {
  return r == Routine::kHerk || r == Routine::kHerkx || r == Routine::kHer2k || r == Routine::kHemm;
}

/// What the routine multiplies, of the 2 m n k operations that the planner counts.
[[nodiscard]] constexpr double fraction_of(Routine r) {
  return is_product(r) || is_symmetric(r) || is_rank_2k(r) ? 1 : 0.5;
}

[[nodiscard]] constexpr bool is_transposed(char letter) { return letter == 'T' || letter == 'C'; }

/// Letters are those of Fortran, upper case, and R for conjugated without transposition; 0 is an option that is not
/// understood.
struct Shape {
  Routine routine = Routine::kGemm;
  char side = 'L';
  char uplo = 'U';
  char op_a = 'N';
  char op_b = 'N';
  char diag = 'N';
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;  ///< the inner size, of A's for symm, hemm, trmm, trsm
};

struct StoredRows {
  std::int64_t a;
  std::int64_t b;
};
/// Of A and B in memory, which leading dimensions must not be below. B of a routine without one does not matter.
[[nodiscard]] constexpr StoredRows stored_rows(const Shape& x) {
  if (is_symmetric(x.routine) || is_triangular(x.routine)) return {x.k, x.m};
  const std::int64_t rows_a = is_transposed(x.op_a) ? x.k : x.m;
  if (is_product(x.routine) || x.routine == Routine::kGemmt) return {rows_a, is_transposed(x.op_b) ? x.n : x.k};
  return {rows_a, rows_a};
}
[[nodiscard]] constexpr bool is_leading_dimension(std::int64_t ld, std::int64_t rows) { return ld >= 1 && ld >= rows; }

/// Whether the routine has that operation, N, T or C: complex syrk and its kin do not conjugate, herk and its kin
/// always do.
[[nodiscard]] constexpr bool has_op(const Shape& x, bool is_complex, char op) {
  const bool is_strict = is_complex && has_triangle(x.routine) && x.routine != Routine::kGemmt;
  if (op == 'T') return !is_strict || !is_hermitian(x.routine);
  if (op == 'C') return !is_strict || is_hermitian(x.routine);
  return op == 'N';
}

/// Those letters that the routine has, lower case: of side, triangle, operations and diagonal.
[[nodiscard]] std::string options_of(const Shape& x);

/// With its type known, and its factors in host memory; matrices are wherever the routine reads them.
template <class T>
struct TypedCall : Shape {
  T alpha{};
  const T* a = nullptr;
  std::int64_t lda = 0;
  const T* b = nullptr;  ///< not of syrk, herk, trsm, and of trmm only where C is not B
  std::int64_t ldb = 0;
  T beta{};
  T* c = nullptr;
  std::int64_t ldc = 0;
};

[[nodiscard]] constexpr Op op_of(char letter) {
  return letter == 'N'   ? Op::kNone
         : letter == 'T' ? Op::kTranspose
         : letter == 'R' ? Op::kConjugate
                         : Op::kConjTranspose;
}

template <class T>
[[nodiscard]] T conjugate(T x) {
  if constexpr (kIsComplex<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}

template <class T>
[[nodiscard]] RealOf<T> real_part(T x) {
  if constexpr (kIsComplex<T>) {
    return x.real();
  } else {
    return x;
  }
}

/// An operand op(X) of a product, from which blocks are taken.
template <class T>
struct Operand {
  char op = 'N';
  const T* data = nullptr;
  std::int64_t ld = 0;

  /// The address of what begins at row i and column j of op(X).
  [[nodiscard]] const T* at(std::int64_t i, std::int64_t j) const {
    return is_transposed(op) ? data + j + i * ld : data + i + j * ld;
  }
  /// What begins there, as an operand.
  [[nodiscard]] Operand from(std::int64_t i, std::int64_t j) const { return {op, at(i, j), ld}; }
  /// op(X), rows x cols.
  [[nodiscard]] MatrixView<const T> view(std::int64_t rows, std::int64_t cols) const {
    const MatrixView<const T> view =
        is_transposed(op) ? blas_view(data, cols, rows, ld).transposed() : blas_view(data, rows, cols, ld);
    return kIsComplex<T> && (op == 'C' || op == 'R') ? view.conjugated() : view;
  }
};

}  // namespace kizami::dropin
