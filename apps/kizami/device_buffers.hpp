// SPDX-License-Identifier: MIT
// What all that uses a CUDA device shares: errors as exceptions, and memory for case after case, which grows and is
// kept, since allocating costs more than a small product.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <string>

#include "failure.hpp"

namespace kizami::cli {

/// Throws Failure kInternal, but std::bad_alloc where memory is short.
inline void check_cuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  if (error == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());  // a later call must not report it again
    throw std::bad_alloc();
  }
  throw Failure(ExitCode::kInternal, std::string("the CUDA device failed, ") + what + ": " + cudaGetErrorString(error));
}

/// Throws Failure kRefused where there is none.
void require_device();

/// Bytes in device memory (kIsPinned: in host memory that the device copies from). Growing loses what they hold.
template <bool kIsPinned>
class GrowingBuffer {
 public:
  GrowingBuffer() = default;
  GrowingBuffer(const GrowingBuffer&) = delete;
  GrowingBuffer& operator=(const GrowingBuffer&) = delete;
  ~GrowingBuffer() { release(); }

  /// At least so many bytes, aligned to 256. Nothing may be using the old ones.
  std::byte* reserve(std::size_t bytes) {
    return bytes <= capacity_ ? data_ : reserve_exactly(std::max<std::size_t>(2 * bytes, std::size_t{1} << 20));
  }
  /// The same without room for more.
  std::byte* reserve_exactly(std::size_t bytes) {
    if (bytes <= capacity_) return data_;
    release();
    void* memory = nullptr;
    check_cuda(kIsPinned ? cudaMallocHost(&memory, bytes) : cudaMalloc(&memory, bytes), "allocating buffers");
    data_ = static_cast<std::byte*>(memory);
    capacity_ = bytes;
    return data_;
  }

 private:
  void release() noexcept {
    static_cast<void>(kIsPinned ? cudaFreeHost(data_) : cudaFree(data_));
    data_ = nullptr;
    capacity_ = 0;
  }

  std::byte* data_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace kizami::cli
