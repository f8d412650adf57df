// SPDX-License-Identifier: MIT
// A cubin in memory, loaded through the driver, and its kernels. Tile kernels come this way: their compiler is another
// nvcc than the one that compiles the rest (docs/adr/0014-tile-kernels-are-cubins.md).
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <string>
#include <utility>

#include "base/cuda_driver.hpp"
#include "kizami/status.hpp"

namespace kizami::base {

namespace detail {
inline constinit DriverFunction<PFN_cuLaunchKernel_v4000> launch_function("cuLaunchKernel", 4000);
}

/// A kernel of a CudaModule, valid as long as that is.
class CudaModuleKernel {
 public:
  CudaModuleKernel() = default;
  CudaModuleKernel(CUfunction function, std::string name) : function_(function), name_(std::move(name)) {}

  /// @brief  Enqueues a tile kernel: a grid of tile blocks, each of one logical thread.
  /// @range  each dimension of the grid: 1 .. 2^24 - 1, which Tile IR allows. arguments: of the types of the kernel's parameters exactly
  /// @status kInternal, with kernel, grid and the driver's words.   @queue asynchronous, capturable
  template <class... Arguments>
  [[nodiscard]] Status launch(dim3 grid, cudaStream_t stream, Arguments... arguments) const {
    const auto launch_kernel = detail::launch_function.get();
    if (launch_kernel == nullptr) return {StatusCode::kUnsupported, "no CUDA driver"};
    void* pointers[] = {&arguments..., nullptr};
    const CUresult result = launch_kernel(function_, grid.x, grid.y, grid.z, 1, 1, 1, 0, stream, pointers, nullptr);
    if (result == CUDA_SUCCESS) return {};
    return driver_status(result, "launch of " + name_ + ", grid " + std::to_string(grid.x) + " x " +
                                     std::to_string(grid.y) + " x " + std::to_string(grid.z));
  }

  /// @status {} for CUDA_SUCCESS, else kInternal: "WHAT: CUDA_ERROR_NAME (its description)"
  [[nodiscard]] static Status driver_status(CUresult result, const std::string& what) {
    if (result == CUDA_SUCCESS) return {};
    const auto name_of = driver_function<PFN_cuGetErrorName_v6000>("cuGetErrorName", 6000);
    const auto words_of = driver_function<PFN_cuGetErrorString_v6000>("cuGetErrorString", 6000);
    const char* name = nullptr;
    const char* words = nullptr;
    if (name_of != nullptr) name_of(result, &name);
    if (words_of != nullptr) words_of(result, &words);
    return {StatusCode::kInternal,
            what + ": " + (name != nullptr ? name : "CUresult " + std::to_string(static_cast<int>(result))) +
                (words != nullptr ? std::string(" (") + words + ")" : "")};
  }

 private:
  CUfunction function_ = nullptr;
  std::string name_;
};

/// Owns a loaded module. It belongs to the device that is current when it is loaded.
class CudaModule {
 public:
  CudaModule() = default;
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;
  ~CudaModule() { unload(); }

  /// @brief  Loads a cubin, or a fatbin with one for the current device, in place of what was loaded.
  /// @status kUnsupported without a driver; kInternal, with `name` and the driver's words, for a file that it refuses
  [[nodiscard]] Status load(const void* image, const char* name) {
    unload();
    if (const cudaError_t error = cudaFree(nullptr); error != cudaSuccess) {  // makes the device's context current
      static_cast<void>(cudaGetLastError());
      return {StatusCode::kUnsupported, std::string("no CUDA device for ") + name + ": " + cudaGetErrorString(error)};
    }
    const auto load_data = driver_function<PFN_cuModuleLoadData_v2000>("cuModuleLoadData", 2000);
    if (load_data == nullptr) return {StatusCode::kUnsupported, "no CUDA driver"};
    return CudaModuleKernel::driver_status(load_data(&module_, image), std::string("loading ") + name);
  }

  /// @status kInternal when the module has no such kernel
  [[nodiscard]] Status kernel(const char* name, CudaModuleKernel& out) const {
    const auto get_function = driver_function<PFN_cuModuleGetFunction_v2000>("cuModuleGetFunction", 2000);
    if (get_function == nullptr || module_ == nullptr) return {StatusCode::kInternal, "no module is loaded"};
    CUfunction function = nullptr;
    if (const CUresult result = get_function(&function, module_, name); result != CUDA_SUCCESS)
      return CudaModuleKernel::driver_status(result, std::string("kernel ") + name);
    out = CudaModuleKernel(function, name);
    return {};
  }

 private:
  void unload() {
    if (module_ == nullptr) return;
    if (const auto unload_module = driver_function<PFN_cuModuleUnload_v2000>("cuModuleUnload", 2000))
      static_cast<void>(unload_module(module_));
    module_ = nullptr;
  }

  CUmodule module_ = nullptr;
};

}  // namespace kizami::base
