// SPDX-License-Identifier: MIT
// A call of cuBLAS as data, whatever entry point it came by. A batch of products has one shape.
#pragma once

#include <cublas_v2.h>

#include <cstdint>
#include <optional>

#include "dropin/policy/call.hpp"
#include "kizami/types.hpp"

namespace kizami::dropin::cublas {

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

/// What alpha, beta and the matrices are made of is `scalar`, but for the factors of herk and beta of its kin, which
/// are real.
struct Call : Shape {
  const char* name = "";             ///< of the function that was called
  const void* caller = nullptr;      ///< an address in the calling code
  const char* why_native = nullptr;  ///< what the entry point knows against emulation, or null
  cublasHandle_t handle = nullptr;   ///< what `context` is read from, unless it is known
  std::optional<Context> context;
  Scalar scalar = Scalar::kF64;
  const void* alpha = nullptr;
  bool has_host_factors = false;  ///< whatever the pointer mode: with another one the call is left to cuBLAS
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* b = nullptr;  ///< not of syrk, herk, trsm
  std::int64_t ldb = 0;
  const void* beta = nullptr;  ///< not of trmm, trsm
  void* c = nullptr;
  std::int64_t ldc = 0;
  bool has_real_diagonal = false;  ///< of gemmt, which is only ever a part of another call: C is Hermitian
  Form form = Form::kOne;
  std::int64_t num_products = 1;
  std::int64_t stride_a = 0;
  std::int64_t stride_b = 0;
  std::int64_t stride_c = 0;
  bool is_exchanged = false;  ///< a and b are B and A of the call that was made, of a product of the transposes
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
/// Factors in host memory may be real where the matrices are complex.
[[nodiscard]] constexpr bool has_real_alpha(const Call& x) { return x.routine == Routine::kHerk; }
[[nodiscard]] constexpr bool has_real_beta(const Call& x) { return has_triangle(x.routine) && is_hermitian(x.routine); }

/// A factor in host memory; null is 0.
template <class T>
[[nodiscard]] T factor_at(const void* address, bool is_real) {
  if (address == nullptr) return T{};
  return is_real ? T(*static_cast<const RealOf<T>*>(address)) : *static_cast<const T*>(address);
}

/// alpha or beta, where the context says that it is.
template <class T>
[[nodiscard]] Factor<T> factor_of(const void* address, const Context& context) {
  const T* typed = static_cast<const T*>(address);
  return context.has_device_factors ? Factor<T>::at(typed) : Factor<T>(*typed);
}

/// Whether the options are understood, and the routine has them; cuBLASLt's products have R, too.
[[nodiscard]] inline bool has_options(const Call& x) {
  const auto has = [&](char op) { return op == 'R' || has_op(x, is_complex(x.scalar), op); };
  return x.side != 0 && x.uplo != 0 && x.diag != 0 && has(x.op_a) && has(x.op_b);
}

/// Whether cuBLAS takes the options, sizes, leading dimensions and addresses of host memory. What it refuses is left to
/// it, and so has its status.
[[nodiscard]] inline bool is_valid(const Call& x) {
  if ((x.handle == nullptr && !x.context) || !has_options(x)) return false;
  if (x.m < 0 || x.n < 0 || x.k < 0 || x.num_products < 0 || x.alpha == nullptr) return false;
  if (x.beta == nullptr && !is_triangular(x.routine)) return false;
  const StoredRows rows = stored_rows(x);
  const bool has_b = !is_rank_k(x.routine) && x.routine != Routine::kTrsm;
  return is_leading_dimension(x.lda, rows.a) && (!has_b || is_leading_dimension(x.ldb, rows.b)) &&
         is_leading_dimension(x.ldc, x.m);
}

}  // namespace kizami::dropin::cublas
