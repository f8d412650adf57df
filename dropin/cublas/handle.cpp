// SPDX-License-Identifier: MIT
#include "dropin/cublas/handle.hpp"

#include "dropin/cublas/native.hpp"

namespace kizami::dropin::cublas {
namespace {

constinit NativeFunction get_stream(find_in<Library::kCublas>, "cublasGetStream_v2");
constinit NativeFunction get_pointer_mode(find_in<Library::kCublas>, "cublasGetPointerMode_v2");
constinit NativeFunction get_math_mode(find_in<Library::kCublas>, "cublasGetMathMode");

/// False: there is no such function, or it refuses the handle.
template <class Value>
bool read(NativeFunction& getter, cublasHandle_t handle, Value& out) {
  auto* function = getter.as<cublasStatus_t(cublasHandle_t, Value*)>();
  return function != nullptr && function(handle, &out) == CUBLAS_STATUS_SUCCESS;
}

bool leaves_arithmetic_open(cublasMath_t mode, Scalar scalar) {
  switch (static_cast<int>(mode) & ~static_cast<int>(CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)) {
    case 0:  // CUBLAS_DEFAULT_MATH
      return true;
    case 1:  // CUBLAS_TENSOR_OP_MATH
    case 3:  // CUBLAS_TF32_TENSOR_OP_MATH
    case 4:  // CUBLAS_FP32_EMULATED_BF16X9_MATH, which older headers do not have
      return real_of(scalar) == Scalar::kF64;
    default:
      return false;
  }
}

}  // namespace

const char* read_handle(cublasHandle_t handle, Scalar scalar, Context& out) {
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  if (!read(get_math_mode, handle, math_mode) || !read(get_pointer_mode, handle, pointer_mode) ||
      !read(get_stream, handle, out.stream))
    return kUnreadableHandle;
  out.has_device_factors = pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
  return leaves_arithmetic_open(math_mode, scalar) ? nullptr : kMathMode;
}

}  // namespace kizami::dropin::cublas
