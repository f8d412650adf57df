// SPDX-License-Identifier: MIT
#include "api/stream_memory.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/cuda_status.hpp"
#include "base/fork_safe.hpp"
#include "base/pool_demand.hpp"
#include "base/relaxed_capture.hpp"

namespace kizami::api {
namespace {

/// Bytes of one device that its pool may hold; 0: as many as there are.
std::atomic<std::size_t> pool_limit{0};

[[nodiscard]] Result<std::size_t> attribute_of(cudaMemPool_t pool, cudaMemPoolAttr attribute) {
  std::uint64_t value = 0;
  KIZAMI_RETURN_IF_ERROR(
      base::cuda_status(cudaMemPoolGetAttribute(pool, attribute, &value), "cudaMemPoolGetAttribute"));
  return static_cast<std::size_t>(value);
}

/// Memory that the calls before have done with goes back to the device. Waits for nothing.
Status trim(cudaMemPool_t pool, std::size_t keep_bytes) {
  return base::cuda_status(cudaMemPoolTrimTo(pool, keep_bytes), "cudaMemPoolTrimTo");
}

/// The driver keeps to the limit from its version 12.2 on.
Status set_limit(cudaMemPoolProps& properties, std::size_t limit) {
  int version = 0;
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaDriverGetVersion(&version), "cudaDriverGetVersion"));
#if CUDART_VERSION >= 12020
  properties.maxSize = limit;
  if (version >= 12020) return {};
#else
  static_cast<void>(properties);
#endif
  return {StatusCode::kUnsupported, "a limit of " + std::to_string(limit) +
                                        " bytes for all workspaces needs CUDA 12.2 or newer, and a driver of that: "
                                        "the driver's is " +
                                        std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10)};
}

[[nodiscard]] Result<cudaMemPool_t> make_pool(int device) {
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, device};
  const std::size_t limit = pool_limit.load();
  if (limit != 0) KIZAMI_RETURN_IF_ERROR(set_limit(properties, limit));
  cudaMemPool_t pool = nullptr;
  const Status status = base::cuda_status(cudaMemPoolCreate(&pool, &properties), "cudaMemPoolCreate");
  if (status.ok()) return pool;
  if (limit == 0) return status;
  return Status(StatusCode::kUnsupported,
                "a limit of " + std::to_string(limit) + " bytes for all workspaces: " + status.reason());
}

/// Pools by device, never destroyed: a BLAS may be called by destructors of static objects.
class WorkspacePools {
 public:
  /// The pool for a call, told to keep what calls like this need.
  Result<cudaMemPool_t> for_call(int device, cuda::Stream stream, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    Result<Pool*> found = find_or_make(device);
    if (!found.ok()) return found.status();
    Pool& pool = *found.value();
    const base::PoolDemand::Advice advice = pool.demand.note(stream, bytes);
    if (advice.has_changed) {
      std::uint64_t threshold = advice.keep_bytes;
      KIZAMI_RETURN_IF_ERROR(
          base::cuda_status(cudaMemPoolSetAttribute(pool.handle, cudaMemPoolAttrReleaseThreshold, &threshold),
                            "cudaMemPoolSetAttribute"));
    }
    if (advice.is_window_over) KIZAMI_RETURN_IF_ERROR(trim(pool.handle, advice.keep_bytes));
    return pool.handle;
  }
  /// The pool, as it is.
  Result<cudaMemPool_t> of(int device) {
    const std::lock_guard lock(mutex_);
    const Result<Pool*> found = find_or_make(device);
    if (!found.ok()) return found.status();
    return found.value()->handle;
  }

 private:
  struct Pool {
    cudaMemPool_t handle = nullptr;
    base::PoolDemand demand;
  };
  /// @range the mutex is held
  Result<Pool*> find_or_make(int device) {
    const auto found = pools_.find(device);
    if (found != pools_.end()) return &found->second;
    const Result<cudaMemPool_t> made = make_pool(device);
    if (!made.ok()) return made.status();
    Pool& pool = pools_[device];
    pool.handle = made.value();
    return &pool;
  }

  std::mutex mutex_;
  std::map<int, Pool> pools_;
};

constinit base::PerProcess<WorkspacePools> workspace_pools;

[[nodiscard]] Status out_of_memory(std::size_t bytes, const std::string& why) {
  return {StatusCode::kOutOfMemory, "workspace of " + std::to_string(bytes) + " bytes: " + why};
}

[[nodiscard]] bool is_captured(cuda::Stream stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) == cudaSuccess) return status == cudaStreamCaptureStatusActive;
  static_cast<void>(cudaGetLastError());  // the legacy stream beside a captured one: what the call launches says so
  return false;
}

/// What graphs can have of a device: its free memory, and what the graphs of this process hold and do not use. All of
/// it where CUDA does not say.
[[nodiscard]] std::size_t bytes_for_graphs(int device) {
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  std::uint64_t held = 0;
  std::uint64_t used = 0;
  if (cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess &&
      cudaDeviceGetGraphMemAttribute(device, cudaGraphMemAttrReservedMemCurrent, &held) == cudaSuccess &&
      cudaDeviceGetGraphMemAttribute(device, cudaGraphMemAttrUsedMemCurrent, &used) == cudaSuccess)
    return free_bytes + static_cast<std::size_t>(held - std::min(held, used));
  static_cast<void>(cudaGetLastError());
  return ~std::size_t{0};
}

/// A graph takes its memory when it runs, where nobody can take a smaller plan: what is not there now is refused now.
Status check_graph_memory(int device, cudaMemPool_t pool, std::size_t bytes) {
  const std::size_t limit = pool_limit.load();
  if (limit != 0 && bytes > limit)
    return out_of_memory(bytes, "more than the limit of the process = " + std::to_string(limit));
  if (bytes <= bytes_for_graphs(device)) return {};
  KIZAMI_RETURN_IF_ERROR(trim(pool, 0));
  const std::size_t left = bytes_for_graphs(device);
  if (bytes <= left) return {};
  return out_of_memory(bytes, "the device has " + std::to_string(left) + " left for a graph");
}

}  // namespace

StreamMemory::~StreamMemory() {
  if (data_ != nullptr && cudaFreeAsync(data_, stream_) != cudaSuccess) static_cast<void>(cudaGetLastError());
}

Status StreamMemory::allocate(int device, std::size_t bytes) {
  const bool is_for_graph = is_captured(stream_);
  WorkspacePools& pools = workspace_pools.get();
  const Result<cudaMemPool_t> pool = is_for_graph ? pools.of(device) : pools.for_call(device, stream_, bytes);
  if (!pool.ok()) return pool.status();
  if (is_for_graph) KIZAMI_RETURN_IF_ERROR(check_graph_memory(device, pool.value(), bytes));
  cudaError_t error = cudaMallocFromPoolAsync(&data_, bytes, pool.value(), stream_);
  if (error == cudaErrorMemoryAllocation &&
      !is_for_graph) {  // idle memory in pieces that are too small may be in the way
    static_cast<void>(cudaGetLastError());
    KIZAMI_RETURN_IF_ERROR(trim(pool.value(), 0));
    error = cudaMallocFromPoolAsync(&data_, bytes, pool.value(), stream_);
  }
  if (error == cudaSuccess) {
    size_ = bytes;
    return {};
  }
  data_ = nullptr;
  return base::cuda_status(error, ("workspace of " + std::to_string(bytes) + " bytes").c_str());
}

}  // namespace kizami::api

namespace kizami::cuda {

void limit_workspaces(std::size_t bytes) { api::pool_limit.store(bytes); }

Result<WorkspacePool> workspace_pool() {
  const base::RelaxedCapture relaxed;
  int device = 0;
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaGetDevice(&device), "cudaGetDevice"));
  const Result<cudaMemPool_t> pool = api::workspace_pools.get().of(device);
  if (!pool.ok()) return pool.status();
  WorkspacePool out;
  for (const auto& [attribute, value] : {std::pair(cudaMemPoolAttrReservedMemCurrent, &out.held_bytes),
                                         {cudaMemPoolAttrReservedMemHigh, &out.most_held_bytes},
                                         {cudaMemPoolAttrUsedMemCurrent, &out.used_bytes}}) {
    const Result<std::size_t> read = api::attribute_of(pool.value(), attribute);
    if (!read.ok()) return read.status();
    *value = read.value();
  }
  return out;
}

}  // namespace kizami::cuda
