// SPDX-License-Identifier: MIT
// Errors of the CUDA runtime as a Status. Only files that are compiled with CUDA include this.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "kizami/status.hpp"

namespace kizami::base {

/// Clears the runtime's last error, which is not left for the caller's next check.
/// @status kOutOfMemory for a refused allocation, else kInternal with the runtime's own words
[[nodiscard]] inline Status cuda_status(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return {};
  static_cast<void>(cudaGetLastError());
  const StatusCode code = error == cudaErrorMemoryAllocation ? StatusCode::kOutOfMemory : StatusCode::kInternal;
  return {code, std::string(what) + ": " + cudaGetErrorString(error)};
}

/// What the launch just made was refused with, if it was.
[[nodiscard]] inline Status launch_status(const char* kernel) { return cuda_status(cudaGetLastError(), kernel); }

}  // namespace kizami::base
