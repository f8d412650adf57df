// SPDX-License-Identifier: MIT
// The call of a case, by the functions of cublas_v2.h and cublasLt.h.
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>

#include "gpu_soak/case.hpp"

namespace gpu_soak {

/// What a call is made with. Factors are of the type of the case (of herk real), by the handle's pointer mode, one of
/// each for every section; arrays hold the matrices of all sections, one section after the other.
struct Arguments {
  cublasHandle_t handle = nullptr;
  cublasLtHandle_t lt = nullptr;
  cudaStream_t stream = nullptr;  ///< of the handle
  void *a = nullptr, *b = nullptr, *c = nullptr;
  const void *alpha = nullptr, *beta = nullptr;
  void **as = nullptr, **bs = nullptr, **cs = nullptr;
};

/// @returns what cuBLAS does; cublasLtMatmul may not support a case
[[nodiscard]] cublasStatus_t call(const Case& x, const Arguments& arguments);

}  // namespace gpu_soak
