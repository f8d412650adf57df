// SPDX-License-Identifier: MIT
// Device memory for tests: poisoned before use and guarded on both sides, so that a kernel that reads what nobody
// wrote, or writes where it must not, is found by comparing.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace kizami::gpu_test {

inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

[[nodiscard]] inline bool has_device() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

/// Skips a test where there is no CUDA device, or fails it if KIZAMI_REQUIRE_GPU is set (./kz gpu-test sets it).
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (has_device()) return;
    if (std::getenv("KIZAMI_REQUIRE_GPU") != nullptr)
      FAIL() << "KIZAMI_REQUIRE_GPU is set, but no CUDA device is found";
    GTEST_SKIP() << "no CUDA device";
  }
};

/// An array in device memory between two guards. Bytes are kPoison until written.
template <class T>
class DeviceArray {
 public:
  static constexpr std::uint8_t kPoison = 0xA5;  // as FP64: -1.1e-128; as bytes: outside what digits may be
  static constexpr std::size_t kGuardBytes = 4096;

  explicit DeviceArray(std::size_t size) : size_(size) {
    check(cudaMalloc(&memory_, bytes() + 2 * kGuardBytes), "cudaMalloc");
    check(cudaMemset(memory_, kPoison, bytes() + 2 * kGuardBytes), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaMemset");
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) { upload(values); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { static_cast<void>(cudaFree(memory_)); }

  [[nodiscard]] T* data() const { return reinterpret_cast<T*>(static_cast<std::byte*>(memory_) + kGuardBytes); }
  [[nodiscard]] std::size_t size() const { return size_; }

  void upload(const std::vector<T>& values) {
    if (values.size() != size_) throw std::logic_error("upload: wrong size");
    check(cudaMemcpy(data(), values.data(), bytes(), cudaMemcpyHostToDevice), "upload");
    // The copy from pageable memory may still be under way, and streams that do not block would not wait for it.
    check(cudaDeviceSynchronize(), "upload");
  }
  /// Waits for the device.
  [[nodiscard]] std::vector<T> download() const {
    check(cudaDeviceSynchronize(), "before download");
    std::vector<T> values(size_);
    check(cudaMemcpy(values.data(), data(), bytes(), cudaMemcpyDeviceToHost), "download");
    return values;
  }
  [[nodiscard]] bool guards_are_intact() const {
    check(cudaDeviceSynchronize(), "before guards");
    std::vector<std::uint8_t> guard(2 * kGuardBytes);
    check(cudaMemcpy(guard.data(), memory_, kGuardBytes, cudaMemcpyDeviceToHost), "guard");
    check(cudaMemcpy(guard.data() + kGuardBytes, static_cast<std::byte*>(memory_) + kGuardBytes + bytes(), kGuardBytes,
                     cudaMemcpyDeviceToHost),
          "guard");
    return std::all_of(guard.begin(), guard.end(), [](std::uint8_t byte) { return byte == kPoison; });
  }

 private:
  [[nodiscard]] std::size_t bytes() const { return size_ * sizeof(T); }

  std::size_t size_;
  void* memory_ = nullptr;
};

}  // namespace kizami::gpu_test
