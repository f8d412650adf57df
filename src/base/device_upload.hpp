// SPDX-License-Identifier: MIT
// Constants that all calls on a device read, copied there once.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "base/cuda_status.hpp"
#include "kizami/status.hpp"

namespace kizami::base {

/// @brief  Copies to device memory, and returns when it is there for every stream. cudaMemcpy may return before, which
///         streams that do not block would not notice; and it takes the default stream, which another thread's capture
///         forbids.
/// @status kInternal, with `what` and CUDA's words
[[nodiscard]] inline Status upload(void* to, const void* from, std::size_t bytes, const char* what) {
  cudaStream_t stream = nullptr;
  KIZAMI_RETURN_IF_ERROR(cuda_status(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), what));
  cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  static_cast<void>(cudaStreamDestroy(stream));
  return cuda_status(error, what);
}

}  // namespace kizami::base
