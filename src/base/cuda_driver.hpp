// SPDX-License-Identifier: MIT
// Functions of the CUDA driver, asked for by name: libcuda is not linked, so that programs start without one.
#pragma once

#include <cuda_runtime_api.h>

namespace kizami::base {

/// @brief  Looks up a function of the driver, as it was in CUDA version `version` (12000 is 12.0).
/// @status null where there is no driver, or an older one
template <class Function>
[[nodiscard]] Function driver_function(const char* name, unsigned version) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &entry, version, cudaEnableDefault, &result);
#else
  static_cast<void>(version);
  const cudaError_t error = cudaGetDriverEntryPoint(name, &entry, cudaEnableDefault, &result);
#endif
  if (error == cudaSuccess && result == cudaDriverEntryPointSuccess) return reinterpret_cast<Function>(entry);
  static_cast<void>(cudaGetLastError());
  return nullptr;
}

}  // namespace kizami::base
