// SPDX-License-Identifier: MIT
// One call of a routine of cuBLAS as data, column-major, whatever entry point it came by.
//   gemm, gemm3m  C (m x n) <- alpha op(A) op(B) + beta C, inner size k; a batch of them has one shape
//   syrk, herk    a triangle of C (n x n) <- alpha op(A) op(A)' + beta C, inner size k; ' is ^T, of herk and its kin ^H
//   syrkx, herkx  a triangle of C <- alpha op(A) op(B)' + beta C
//   syr2k, her2k  a triangle of C <- alpha op(A) op(B)' + alpha' op(B) op(A)' + beta C
//   symm, hemm    C <- alpha A B + beta C, or B A: A symmetric or Hermitian, one triangle of it stored
//   trmm          C <- alpha op(A) B, or B op(A): A triangular; C may be B
//   trsm          C <- X with op(A) X = alpha C, or X op(A) = alpha C. cuBLAS calls this C "B"
#pragma once

#include <cublas_v2.h>

#include <cstdint>
#include <optional>

#include "kizami/types.hpp"

namespace kizami::dropin::cublas {

enum class Routine : std::uint8_t {
  kGemm,
  kGemm3m,
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

/// The name in rules.
[[nodiscard]] constexpr const char* to_string(Routine r) {
  constexpr const char* kNames[]{"gemm",  "gemm3m", "syrk", "herk", "syrkx", "herkx",
                                 "syr2k", "her2k",  "symm", "hemm", "trmm",  "trsm"};
  return kNames[static_cast<int>(r)];
}
[[nodiscard]] constexpr bool is_product(Routine r) { return r == Routine::kGemm || r == Routine::kGemm3m; }
[[nodiscard]] constexpr bool is_rank_k(Routine r) { return r == Routine::kSyrk || r == Routine::kHerk; }
[[nodiscard]] constexpr bool is_rank_2k(Routine r) { return r == Routine::kSyr2k || r == Routine::kHer2k; }
[[nodiscard]] constexpr bool is_symmetric(Routine r) { return r == Routine::kSymm || r == Routine::kHemm; }
[[nodiscard]] constexpr bool is_triangular(Routine r) { return r == Routine::kTrmm || r == Routine::kTrsm; }
/// Whether one triangle of C is computed and the other not touched.
[[nodiscard]] constexpr bool has_triangle(Routine r) { return !is_product(r) && !is_symmetric(r) && !is_triangular(r); }
[[nodiscard]] constexpr bool is_hermitian(Routine r) {
  return r == Routine::kHerk || r == Routine::kHerkx || r == Routine::kHer2k || r == Routine::kHemm;
}

/// Where the matrices of a call are.
enum class Form : std::uint8_t {
  kOne,       ///< a, b, c: one matrix each
  kStrided,   ///< a, b, c: the first of each, the i-th lies i strides further
  kPointers,  ///< a, b, c: arrays of pointers in device memory
};

/// What the caller's context says of a call.
struct Context {
  cudaStream_t stream = nullptr;
  bool has_device_factors = false;  ///< alpha and beta are in device memory, and are read when the call runs
};

/// Letters are those of Fortran, upper case, and R for conjugated without transposition; 0 is an option that is not understood.
/// What alpha, beta and the matrices are made of is `scalar`, but for the factors of herk and beta of its kin, which are real.
struct Call {
  Routine routine = Routine::kGemm;
  const char* name = "";             ///< of the function that was called
  const void* caller = nullptr;      ///< an address in the calling code
  const char* why_native = nullptr;  ///< what the entry point knows against emulation, or null
  cublasHandle_t handle = nullptr;   ///< what `context` is read from, unless it is known
  std::optional<Context> context;
  Scalar scalar = Scalar::kF64;
  char side = 'L';
  char uplo = 'U';
  char op_a = 'N';
  char op_b = 'N';
  char diag = 'N';
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;  ///< the inner size, of A's for symm, hemm, trmm, trsm
  const void* alpha = nullptr;
  bool has_host_factors = false;  ///< whatever the pointer mode: with another one the call is left to cuBLAS
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* b = nullptr;  ///< not of syrk, herk, trsm
  std::int64_t ldb = 0;
  const void* beta = nullptr;  ///< not of trmm, trsm
  void* c = nullptr;
  std::int64_t ldc = 0;
  Form form = Form::kOne;
  std::int64_t num_products = 1;
  std::int64_t stride_a = 0;
  std::int64_t stride_b = 0;
  std::int64_t stride_c = 0;
};

[[nodiscard]] constexpr char letter_of(cublasOperation_t op) {
  return op == CUBLAS_OP_N ? 'N' : op == CUBLAS_OP_T ? 'T' : op == CUBLAS_OP_C ? 'C' : '\0';
}
[[nodiscard]] constexpr char letter_of(cublasSideMode_t side) {
  return side == CUBLAS_SIDE_LEFT ? 'L' : side == CUBLAS_SIDE_RIGHT ? 'R' : '\0';
}
[[nodiscard]] constexpr char letter_of(cublasFillMode_t uplo) {
  return uplo == CUBLAS_FILL_MODE_LOWER ? 'L' : uplo == CUBLAS_FILL_MODE_UPPER ? 'U' : '\0';
}
[[nodiscard]] constexpr char letter_of(cublasDiagType_t diag) {
  return diag == CUBLAS_DIAG_NON_UNIT ? 'N' : diag == CUBLAS_DIAG_UNIT ? 'U' : '\0';
}
[[nodiscard]] constexpr Op op_of(char letter) {
  return letter == 'N'   ? Op::kNone
         : letter == 'T' ? Op::kTranspose
         : letter == 'R' ? Op::kConjugate
                         : Op::kConjTranspose;
}
[[nodiscard]] constexpr bool is_transposed(char letter) { return letter == 'T' || letter == 'C'; }

/// Whether the options are understood, and the routine has this operation: complex syrk and its kin do not conjugate, herk and its kin
/// always do.
[[nodiscard]] inline bool has_options(const Call& x) {
  const bool is_strict = has_triangle(x.routine) && is_complex(x.scalar);
  const auto has_op = [&](char op) {
    if (is_strict && op == 'T') return !is_hermitian(x.routine);
    if (is_strict && op == 'C') return is_hermitian(x.routine);
    return op != 0;
  };
  return x.side != 0 && x.uplo != 0 && x.diag != 0 && has_op(x.op_a) && has_op(x.op_b);
}

/// Whether cuBLAS takes the options, sizes, leading dimensions and addresses of host memory. What it refuses is left to it, and
/// so has its status.
[[nodiscard]] inline bool is_valid(const Call& x) {
  if ((x.handle == nullptr && !x.context) || !has_options(x)) return false;
  if (x.m < 0 || x.n < 0 || x.k < 0 || x.num_products < 0 || x.alpha == nullptr) return false;
  if (x.beta == nullptr && !is_triangular(x.routine)) return false;
  std::int64_t rows_a = is_transposed(x.op_a) ? x.k : x.m;
  std::int64_t rows_b = is_transposed(x.op_b) ? x.n : x.k;
  if (is_symmetric(x.routine) || is_triangular(x.routine)) {
    rows_a = x.k;
    rows_b = x.m;
  } else if (has_triangle(x.routine)) {
    rows_b = rows_a;
  }
  const auto fits = [](std::int64_t ld, std::int64_t rows) { return ld >= 1 && ld >= rows; };
  const bool has_b = !is_rank_k(x.routine) && x.routine != Routine::kTrsm;
  return fits(x.lda, rows_a) && (!has_b || fits(x.ldb, rows_b)) && fits(x.ldc, x.m);
}

}  // namespace kizami::dropin::cublas
