// SPDX-License-Identifier: MIT
// What CUDA refuses, where something else is done in its place.
#pragma once

#include <cuda_runtime_api.h>

namespace kizami::dropin::cublas {

/// Whether CUDA has done it. No error is left for the next check of the program's or Kizami's.
[[nodiscard]] inline bool is_done(cudaError_t error) {
  if (error == cudaSuccess) return true;
  static_cast<void>(cudaGetLastError());
  return false;
}

}  // namespace kizami::dropin::cublas
