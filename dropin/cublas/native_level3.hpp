// SPDX-License-Identifier: MIT
// cuBLAS' own routines of level 3 with 64-bit integers, for the blocks of a call that Kizami does not multiply.
#pragma once

#include <cublas_v2.h>

#include <cstdint>

#include "dropin/cublas/call.hpp"

namespace kizami::dropin::cublas {

template <class T>
class NativeLevel3 {
 public:
  using Real = RealOf<T>;

  /// Whether this cuBLAS has the routine, and gemm.
  [[nodiscard]] static bool is_there(Routine routine);

  /// Each is the routine that `x` is, or gemm, with these matrices and factors of host memory. Factors of herk, and
  /// beta of its kin, are real.
  static cublasStatus_t gemm(cublasHandle_t handle, char op_a, char op_b, std::int64_t m, std::int64_t n,
                             std::int64_t k, T alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb,
                             T beta, T* c, std::int64_t ldc);
  /// @shape c: size x size
  static cublasStatus_t triangle(const Call& x, std::int64_t size, T alpha, const T* a, const T* b, T beta, T* c);
  static cublasStatus_t triangular(const Call& x, std::int64_t m, std::int64_t n, T alpha, const T* a, const T* b,
                                   T* c);
};

}  // namespace kizami::dropin::cublas
