// SPDX-License-Identifier: MIT
// Functions of the CUDA driver, asked for by name: libcuda is not linked, so that programs start without one.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>

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

/// That, asked for at first use, and again as long as there is none. @range constinit
template <class Function>
class DriverFunction {
 public:
  constexpr DriverFunction(const char* name, unsigned version) : name_(name), version_(version) {}
  [[nodiscard]] Function get() {
    Function found = found_.load(std::memory_order_acquire);
    if (found == nullptr) {
      found = driver_function<Function>(name_, version_);
      found_.store(found, std::memory_order_release);
    }
    return found;
  }

 private:
  const char* name_;
  unsigned version_;
  std::atomic<Function> found_{nullptr};
};

}  // namespace kizami::base
