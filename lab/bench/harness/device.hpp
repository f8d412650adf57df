// SPDX-License-Identifier: MIT
// The CUDA device that is measured, and errors of CUDA and of the library as exceptions.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "kizami/status.hpp"

namespace bench {

/// @throws std::runtime_error names `what` and the reason
inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}
inline void check(const kizami::Status& status, const char* what) {
  if (!status.ok()) throw std::runtime_error(std::string(what) + ": " + status.reason());
}

/// Of the first device. @throws std::runtime_error there is none
[[nodiscard]] inline cudaDeviceProp device_properties() {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "the properties of the device");
  return properties;
}
/// As records name it.
[[nodiscard]] inline std::string device_name() { return device_properties().name; }

}  // namespace bench
