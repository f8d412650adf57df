// SPDX-License-Identifier: MIT
// What programs share that link cuBLAS as any user does, so that another library may be preloaded before it: errors as
// exceptions that say the names of CUDA and cuBLAS, which records keep.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace linked {

inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(error));
}
inline void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(std::string(what) + ": " + cublasGetStatusName(status));
}

}  // namespace linked
