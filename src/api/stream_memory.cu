// SPDX-License-Identifier: MIT
#include "api/stream_memory.hpp"

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <string>

#include "base/cuda_status.hpp"
#include "base/fork_safe.hpp"

namespace kizami::api {
namespace {

/// A pool for each device that keeps what it has once got: calls of the same size then allocate nothing new.
class WorkspacePools {
 public:
  Result<cudaMemPool_t> of(int device) {
    const std::lock_guard lock(mutex_);
    const auto found = pools_.find(device);
    if (found != pools_.end()) return found->second;
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, device};
    cudaMemPool_t pool = nullptr;
    KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaMemPoolCreate(&pool, &properties), "cudaMemPoolCreate"));
    std::uint64_t threshold = ~std::uint64_t{0};
    KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
                                             "cudaMemPoolSetAttribute"));
    pools_.emplace(device, pool);
    return pool;
  }

 private:
  std::mutex mutex_;
  std::map<int, cudaMemPool_t> pools_;
};

constinit base::PerProcess<WorkspacePools> workspace_pools;

}  // namespace

StreamMemory::~StreamMemory() {
  if (data_ != nullptr) static_cast<void>(cudaFreeAsync(data_, stream_));
}

Status StreamMemory::allocate(int device, std::size_t bytes) {
  const Result<cudaMemPool_t> pool = workspace_pools.get().of(device);
  if (!pool.ok()) return pool.status();
  const cudaError_t error = cudaMallocFromPoolAsync(&data_, bytes, pool.value(), stream_);
  if (error == cudaSuccess) {
    size_ = bytes;
    return {};
  }
  data_ = nullptr;
  return base::cuda_status(error, ("workspace of " + std::to_string(bytes) + " bytes").c_str());
}

}  // namespace kizami::api
