// SPDX-License-Identifier: MIT
#include "multi/resources.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "base/cuda_status.hpp"
#include "base/fork_safe.hpp"

namespace kizami::multi {
namespace {

struct PinnedPiece {
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// What no call has at the moment. Never given back: a BLAS may be called by destructors of static objects.
struct Idle {
  std::mutex mutex;
  std::map<int, std::vector<Streams>> streams;
  std::vector<PinnedPiece> pinned;
};
constinit base::PerProcess<Idle> idle;

Status make_streams(Streams& made) {
  for (cudaStream_t& stream : made.all)
    KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream"));
  return {};
}

}  // namespace

CurrentDevice::CurrentDevice() {
  if (cudaGetDevice(&before_) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    before_ = -1;
  }
}

CurrentDevice::~CurrentDevice() {
  if (before_ >= 0 && cudaSetDevice(before_) != cudaSuccess) static_cast<void>(cudaGetLastError());
}

Status set_device(int device) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    count = 0;
  }
  if (device < 0 || device >= count) {
    return {StatusCode::kUnsupported,
            "device " + std::to_string(device) + ": there are " + std::to_string(count) + " CUDA devices"};
  }
  return base::cuda_status(cudaSetDevice(device), ("device " + std::to_string(device)).c_str());
}

TakenStreams::~TakenStreams() {
  if (device_ < 0) return;
  Idle& all = idle.get();
  const std::lock_guard lock(all.mutex);
  all.streams[device_].push_back(streams_);
}

Status TakenStreams::take(int device) {
  Idle& all = idle.get();
  {
    const std::lock_guard lock(all.mutex);
    std::vector<Streams>& there = all.streams[device];
    if (!there.empty()) {
      streams_ = there.back();
      there.pop_back();
      device_ = device;
      return {};
    }
  }
  KIZAMI_RETURN_IF_ERROR(make_streams(streams_));
  device_ = device;
  return {};
}

Status TakenStreams::wait() const {
  cudaError_t first = cudaSuccess;
  for (const cudaStream_t stream : streams_.all) {
    const cudaError_t error = stream == nullptr ? cudaSuccess : cudaStreamSynchronize(stream);
    if (first == cudaSuccess) first = error;
  }
  return base::cuda_status(first, "waiting");
}

Events::~Events() {
  for (const cudaEvent_t event : events_) static_cast<void>(cudaEventDestroy(event));
}

Status Events::make(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    cudaEvent_t event = nullptr;
    KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event"));
    events_.push_back(event);
  }
  return {};
}

PinnedMemory::~PinnedMemory() {
  if (data_ == nullptr) return;
  Idle& all = idle.get();
  const std::lock_guard lock(all.mutex);
  all.pinned.push_back({data_, bytes_});
}

Status PinnedMemory::take(std::size_t bytes) {
  Idle& all = idle.get();
  {
    const std::lock_guard lock(all.mutex);
    const auto found = std::find_if(all.pinned.begin(), all.pinned.end(),
                                    [bytes](const PinnedPiece& piece) { return piece.bytes >= bytes; });
    if (found != all.pinned.end()) {
      data_ = found->data;
      bytes_ = found->bytes;
      all.pinned.erase(found);
      return {};
    }
  }
  KIZAMI_RETURN_IF_ERROR(
      base::cuda_status(cudaHostAlloc(&data_, bytes, cudaHostAllocPortable), "page-locked memory for states"));
  bytes_ = bytes;
  return {};
}

Status let_devices_meet(std::span<const int> devices, std::span<const int> others) {
  for (const int device : devices) {
    for (const int other : others) {
      int can = 0;
      if (device == other || cudaDeviceCanAccessPeer(&can, device, other) != cudaSuccess || can == 0) continue;
      KIZAMI_RETURN_IF_ERROR(set_device(device));
      const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
      static_cast<void>(cudaGetLastError());
      if (error != cudaSuccess && error != cudaErrorPeerAccessAlreadyEnabled)
        return base::cuda_status(error, "cudaDeviceEnablePeerAccess");
    }
  }
  static_cast<void>(cudaGetLastError());
  return {};
}

}  // namespace kizami::multi
