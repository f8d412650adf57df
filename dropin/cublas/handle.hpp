// SPDX-License-Identifier: MIT
// What a handle of cuBLAS says of its calls. It is only read.
#pragma once

#include "dropin/cublas/call.hpp"

namespace kizami::dropin::cublas {

inline constexpr const char* kUnreadableHandle = "the handle cannot be read";
inline constexpr const char* kMathMode = "the math mode asks for an arithmetic";

/// Reads stream and pointer mode, and whether the math mode leaves the arithmetic of this type to the library: tensor
/// operations, TF32 and BF16x9 are wishes for FP32 only; the pedantic mode and emulated FP64 are wishes for a certain
/// arithmetic.
/// @return why the handle's calls are native, or null; unless the handle cannot be read, `out` is filled
[[nodiscard]] const char* read_handle(cublasHandle_t handle, Scalar scalar, Context& out);

}  // namespace kizami::dropin::cublas
