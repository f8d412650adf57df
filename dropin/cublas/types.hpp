// SPDX-License-Identifier: MIT
// Types of matrices and of arithmetic, as the functions with Ex in their names and cuBLASLt have them.
#pragma once

#include "dropin/cublas/call.hpp"

namespace kizami::dropin::cublas {

inline constexpr const char* kOtherTypes = "its types are not those of a product of FP32, FP64 or complex matrices";
inline constexpr const char* kCertainArithmetic = "the compute type asks for an arithmetic";

struct Types {
  cudaDataType a;
  cudaDataType b;
  cudaDataType c;
  cublasComputeType_t compute;
};

/// Whether matrices of this type may be emulated.
[[nodiscard]] constexpr bool is_scalar(cudaDataType type) {
  return type == CUDA_R_32F || type == CUDA_R_64F || type == CUDA_C_32F || type == CUDA_C_64F;
}

/// Sets the scalar, or why the call is native.
inline void set_types(Call& call, const Types& types) {
  const bool is_f64 = types.c == CUDA_R_64F || types.c == CUDA_C_64F;
  const bool is_complex = types.c == CUDA_C_32F || types.c == CUDA_C_64F;
  if (types.a != types.c || types.b != types.c || !is_scalar(types.c)) {
    call.why_native = kOtherTypes;
  } else if (types.compute != (is_f64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F)) {
    call.why_native = kCertainArithmetic;
  }
  call.scalar = is_f64 ? (is_complex ? Scalar::kC128 : Scalar::kF64) : (is_complex ? Scalar::kC64 : Scalar::kF32);
}

}  // namespace kizami::dropin::cublas
