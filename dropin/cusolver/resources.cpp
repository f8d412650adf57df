// SPDX-License-Identifier: MIT
#include "dropin/cusolver/resources.hpp"

#include <mutex>
#include <vector>

#include "base/fork_safe.hpp"
#include "dropin/cublas/choice.hpp"
#include "dropin/cublas/native.hpp"

namespace kizami::dropin::cusolver {
namespace {

using cublas::find_in;
using cublas::Library;
using cublas::NativeFunction;

constinit NativeFunction create(find_in<Library::kCublas>, "cublasCreate_v2");
constinit NativeFunction destroy(find_in<Library::kCublas>, "cublasDestroy_v2");
constinit NativeFunction set_stream(find_in<Library::kCublas>, "cublasSetStream_v2");

/// Of a device, beyond which calls share what others have not done with.
constexpr int kMostLanes = 8;

/// Lanes that nobody has. They live as long as the process: cuBLAS may be unloaded before the library is.
struct IdleLanes {
  std::mutex mutex;
  std::vector<Lane> lanes;
};
constinit base::PerProcess<IdleLanes> idle;

bool set(cublasHandle_t handle, cudaStream_t stream) {
  auto* const function = set_stream.as<cublasStatus_t(cublasHandle_t, cudaStream_t)>();
  return function != nullptr && function(handle, stream) == CUBLAS_STATUS_SUCCESS;
}

/// Of a lane that is not complete, or no longer good.
void give_up(const Lane& lane) {
  auto* const function = destroy.as<cublasStatus_t(cublasHandle_t)>();
  for (int i = 0; i < 2; ++i) {
    if (lane.blas[i] != nullptr && function != nullptr) static_cast<void>(function(lane.blas[i]));
    if (lane.events[i] != nullptr) static_cast<void>(is_done(cudaEventDestroy(lane.events[i])));
  }
  if (lane.beside != nullptr) static_cast<void>(is_done(cudaStreamDestroy(lane.beside)));
}

/// @return whether all of it is there
bool make(Lane& lane) {
  auto* const function = create.as<cublasStatus_t(cublasHandle_t*)>();
  if (function == nullptr) return false;
  int least = 0;
  int greatest = 0;
  if (!is_done(cudaDeviceGetStreamPriorityRange(&least, &greatest)) ||
      !is_done(cudaStreamCreateWithPriority(&lane.beside, cudaStreamNonBlocking, greatest)))
    return false;
  for (int i = 0; i < 2; ++i) {
    if (!is_done(cudaEventCreateWithFlags(&lane.events[i], cudaEventDisableTiming)) ||
        function(&lane.blas[i]) != CUBLAS_STATUS_SUCCESS)
      return false;
  }
  return set(lane.blas[1], lane.beside);
}

/// One of the device that nobody has: whose stream is idle, for what waits there may wait for what this call is to do, or
/// any if there are many. @return false: there is none
bool take(Lane& lane, int device) {
  IdleLanes& all = idle.get();
  const std::lock_guard lock(all.mutex);
  Lane* found = nullptr;
  int count = 0;
  for (Lane& known : all.lanes) {
    if (known.device != device) continue;
    ++count;
    if (!is_done(cudaStreamQuery(known.beside)) && count < kMostLanes) continue;
    found = &known;
    break;
  }
  if (found == nullptr) return false;
  lane = *found;
  *found = all.lanes.back();
  all.lanes.pop_back();
  return true;
}

}  // namespace

LentLane::LentLane(cudaStream_t stream) noexcept {
  try {
    const int device = cublas::current_device();
    if (device < 0) return;
    Lane lane;
    const bool is_there = take(lane, device) || make(lane);
    // An event of another device, or of a device that was reset, is refused here, before anything is enqueued.
    if (is_there && is_done(cudaEventRecord(lane.events[0], stream)) && set(lane.blas[0], stream)) {
      lane_ = lane;
      lane_.device = device;
    } else {
      give_up(lane);
    }
  } catch (...) {  // no memory: none is lent
  }
}

LentLane::~LentLane() {
  if (!is_lent()) return;
  try {
    IdleLanes& all = idle.get();
    const std::lock_guard lock(all.mutex);
    all.lanes.push_back(lane_);
  } catch (...) {  // no memory: it is forgotten
  }
}

StreamMemory::StreamMemory(std::size_t bytes, cudaStream_t stream) : stream_(stream) {
  if (!is_done(cudaMallocAsync(&memory_, bytes, stream))) memory_ = nullptr;
}

StreamMemory::~StreamMemory() {
  if (memory_ != nullptr) static_cast<void>(is_done(cudaFreeAsync(memory_, stream_)));
}

}  // namespace kizami::dropin::cusolver
