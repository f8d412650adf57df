// SPDX-License-Identifier: MIT
// What a handle of the fake cuBLAS points to.
#pragma once

#include <cublas_v2.h>

namespace kizami::dropin_test {

struct FakeHandle {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
};

inline FakeHandle& of(cublasHandle_t handle) { return *reinterpret_cast<FakeHandle*>(handle); }

}  // namespace kizami::dropin_test
