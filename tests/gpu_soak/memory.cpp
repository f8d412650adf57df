// SPDX-License-Identifier: MIT
#include "gpu_soak/memory.hpp"

#include <algorithm>
#include <shared_mutex>

namespace gpu_soak {

void Pressure::take(std::int64_t left) {
  constexpr std::int64_t kBlock = std::int64_t{4} << 30;
  const std::unique_lock captures(surroundings_.captures);
  const std::lock_guard lock(mutex_);
  surroundings_.has_pressure = true;
  ++num_times_;
  for (std::int64_t size = kBlock; size >= 1 << 20;) {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    const std::int64_t wanted = static_cast<std::int64_t>(free) - std::max(left, least_left_);
    if (wanted < size) {
      size /= 2;
      continue;
    }
    void* block = nullptr;
    const cudaError_t error = cudaMalloc(&block, static_cast<std::size_t>(size));
    if (error == cudaErrorMemoryAllocation) {
      static_cast<void>(cudaGetLastError());
      size /= 2;
      continue;
    }
    check(error, "cudaMalloc of what is taken away");
    blocks_.push_back(block);
    bytes_ += size;
  }
}

void Pressure::give_back() {
  const std::unique_lock captures(surroundings_.captures);
  const std::lock_guard lock(mutex_);
  for (void* block : blocks_) static_cast<void>(cudaFree(block));
  blocks_.clear();
  bytes_ = 0;
  surroundings_.has_pressure = false;
}

Parts Pressure::parts_of_others(const DeviceMemory& memory) {
  const std::lock_guard lock(mutex_);
  Parts parts = memory.parts();
  if (memory.is_counted_by_driver()) parts.whole -= bytes_;
  return parts;
}

}  // namespace gpu_soak
