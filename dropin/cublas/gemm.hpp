// SPDX-License-Identifier: MIT
// One call of cublas<t>gemm: by kizami where it can be and the settings want it, else by the program's cuBLAS.
#pragma once

#include "cublas_functions.hpp"
#include "settings.hpp"

namespace kizami::dropin {

/// The arguments as the program gave them.
template <class E, class Int>
struct GemmCall {
  const char* name;  ///< of the function that was called
  cublasHandle_t handle;
  cublasOperation_t op_a, op_b;
  Int m, n, k;
  const E* alpha;
  const E* a;
  Int lda;
  const E* b;
  Int ldb;
  const E* beta;
  E* c;
  Int ldc;
};

/// C <- alpha op(A) op(B) + beta C with the contract of cuBLAS: in the order of the handle's stream, alpha and beta by its
/// pointer mode; the handle is left as it was found.
/// @status what cuBLAS would give: whatever is wrong with the arguments is left to it. CUBLAS_STATUS_NOT_INITIALIZED: this
///         cuBLAS has no such function
/// @queue  asynchronous and capturable, as kizami::cuda::gemm()
template <class E, class Int>
[[nodiscard]] cublasStatus_t gemm(const CublasFunctions& cublas, const Settings& settings,
                                  const GemmCall<E, Int>& call) noexcept;

}  // namespace kizami::dropin
