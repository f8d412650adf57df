// SPDX-License-Identifier: MIT
// What the parts of bench_tile_conformance share: arrays in device memory, the kernels of one cubin, and the lines they
// print.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/cuda_module.hpp"
#include "harness/device.hpp"
#include "harness/records.hpp"

namespace tile_bench {

using bench::check;
using bench::Json;

inline void check(const kizami::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.reason());
}

/// Prints one line of JSON, at once: a kernel that brings the process down leaves the lines before it.
inline void print(const Json& line) { bench::Records().append(line); }

/// An array in device memory, filled with bytes 0xA5 where nothing was uploaded.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size) : size_(size) {
    check(cudaMalloc(&data_, bytes()), "cudaMalloc");
    check(cudaMemset(data_, 0xA5, bytes()), "cudaMemset");
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    check(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), "upload");
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { static_cast<void>(cudaFree(data_)); }

  [[nodiscard]] T* data() const { return static_cast<T*>(data_); }

  /// Waits for the device.
  [[nodiscard]] std::vector<T> download() const {
    check(cudaDeviceSynchronize(), "kernel");
    std::vector<T> values(size_);
    check(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost), "download");
    return values;
  }

 private:
  [[nodiscard]] std::size_t bytes() const { return size_ * sizeof(T); }

  std::size_t size_;
  void* data_ = nullptr;
};

/// A cubin of lab/bench/tile/kernels.
class Cubin {
 public:
  Cubin(const char* name, const unsigned long long* image) : name_(name) { status_ = module_.load(image, name); }

  [[nodiscard]] const char* name() const { return name_; }
  /// What the driver said to the cubin.
  [[nodiscard]] const kizami::Status& status() const { return status_; }

  /// Enqueues a kernel on the default stream. Throws what is wrong.
  template <class... Arguments>
  void run(const char* kernel, dim3 grid, Arguments... arguments) const {
    check(status_);
    kizami::base::CudaModuleKernel entry;
    check(module_.kernel(kernel, entry));
    check(entry.launch(grid, nullptr, arguments...));
  }

 private:
  const char* name_;
  kizami::base::CudaModule module_;
  kizami::Status status_;
};

}  // namespace tile_bench
