// SPDX-License-Identifier: MIT
// The functions of the program's own cuBLAS, found at run time: this library is linked to none.
#pragma once

#include <cublas_v2.h>

#include <cstdint>
#include <tuple>

namespace kizami::dropin {

/// cublas<t>gemm_v2 (Int = int) and cublas<t>gemm_v2_64 (Int = int64_t) with elements E, as cuBLAS calls them.
template <class E, class Int>
using GemmFunction = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, Int m, Int n, Int k,
                                        const E* alpha, const E* A, Int lda, const E* B, Int ldb, const E* beta, E* C,
                                        Int ldc);

/// Null is what this cuBLAS does not have.
struct CublasFunctions {
  std::tuple<GemmFunction<float, int>, GemmFunction<double, int>, GemmFunction<cuComplex, int>,
             GemmFunction<cuDoubleComplex, int>, GemmFunction<float, std::int64_t>, GemmFunction<double, std::int64_t>,
             GemmFunction<cuComplex, std::int64_t>, GemmFunction<cuDoubleComplex, std::int64_t>>
      gemms;
  decltype(&cublasGetStream_v2) get_stream = nullptr;
  decltype(&cublasGetPointerMode_v2) get_pointer_mode = nullptr;
  decltype(&cublasGetMathMode) get_math_mode = nullptr;

  template <class E, class Int>
  [[nodiscard]] GemmFunction<E, Int> gemm() const {
    return std::get<GemmFunction<E, Int>>(gemms);
  }
};

/// The cuBLAS that would be called without this library: the next one in the program's order of loading; else one that is
/// loaded out of that order (by a Python extension, say); else one that the system finds. Null: there is none yet.
/// Safe to call from any thread.
[[nodiscard]] const CublasFunctions* find_cublas();

}  // namespace kizami::dropin
