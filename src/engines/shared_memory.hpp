// SPDX-License-Identifier: MIT
// A kernel that wants more shared memory than every device gives unasked must say so once on each device.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/cuda_status.hpp"
#include "kizami/status.hpp"

namespace kizami::engines {

/// The devices on which one kernel may have its shared memory. Of two threads that come at the same time both ask, each
/// before its own launch.
class SharedMemoryGrant {
 public:
  Status ask(const void* kernel, std::size_t bytes, int device) {
    const std::uint64_t bit = device < 64 ? std::uint64_t{1} << device : 0;
    if ((devices_.load(std::memory_order_acquire) & bit) != 0) return {};
    KIZAMI_RETURN_IF_ERROR(base::cuda_status(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "the shared memory of a product kernel"));
    devices_.fetch_or(bit, std::memory_order_release);
    return {};
  }

 private:
  std::atomic<std::uint64_t> devices_{0};
};

}  // namespace kizami::engines
