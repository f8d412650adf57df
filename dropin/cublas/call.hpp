// SPDX-License-Identifier: MIT
// One call of a product of cuBLAS as data, column-major, whatever entry point it came by.
//   gemm, gemm3m  C (m x n) <- alpha op(A) op(B) + beta C, inner size k; a batch of them has one shape
#pragma once

#include <cublas_v2.h>

#include <cstdint>
#include <optional>

#include "kizami/types.hpp"

namespace kizami::dropin::cublas {

enum class Routine : std::uint8_t { kGemm, kGemm3m };

/// The name in rules.
[[nodiscard]] constexpr const char* to_string(Routine r) {
  constexpr const char* kNames[]{"gemm", "gemm3m"};
  return kNames[static_cast<int>(r)];
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

/// Letters are those of Fortran, upper case, and R for conjugated without transposition; 0 is an option that is not understood. What alpha, beta and the matrices are made
/// of is `scalar`.
struct Call {
  Routine routine = Routine::kGemm;
  const char* name = "";             ///< of the function that was called
  const void* caller = nullptr;      ///< an address in the calling code
  const char* why_native = nullptr;  ///< what the entry point knows against emulation, or null
  cublasHandle_t handle = nullptr;   ///< what `context` is read from, unless it is known
  std::optional<Context> context;
  Scalar scalar = Scalar::kF64;
  char op_a = 'N';
  char op_b = 'N';
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const void* alpha = nullptr;
  bool has_host_factors = false;  ///< whatever the pointer mode: with another one the call is left to cuBLAS
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* b = nullptr;
  std::int64_t ldb = 0;
  const void* beta = nullptr;
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
[[nodiscard]] constexpr Op op_of(char letter) {
  return letter == 'N'   ? Op::kNone
         : letter == 'T' ? Op::kTranspose
         : letter == 'R' ? Op::kConjugate
                         : Op::kConjTranspose;
}
[[nodiscard]] constexpr bool is_transposed(char letter) { return letter == 'T' || letter == 'C'; }

/// Whether cuBLAS takes the options, sizes, leading dimensions and addresses of host memory. What it refuses is left to it, and
/// so has its status.
[[nodiscard]] inline bool is_valid(const Call& x) {
  if ((x.handle == nullptr && !x.context) || x.op_a == 0 || x.op_b == 0) return false;
  if (x.m < 0 || x.n < 0 || x.k < 0 || x.num_products < 0 || x.alpha == nullptr || x.beta == nullptr) return false;
  const auto fits = [](std::int64_t ld, std::int64_t rows) { return ld >= 1 && ld >= rows; };
  return fits(x.lda, is_transposed(x.op_a) ? x.k : x.m) && fits(x.ldb, is_transposed(x.op_b) ? x.n : x.k) &&
         fits(x.ldc, x.m);
}

}  // namespace kizami::dropin::cublas
