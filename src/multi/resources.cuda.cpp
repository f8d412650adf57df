// SPDX-License-Identifier: MIT
#include "multi/resources.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

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
  std::map<int, std::vector<cudaEvent_t>> events;
  std::vector<PinnedPiece> pinned;
};
constinit base::PerProcess<Idle> idle;

/// Pairs of devices that have been let meet, or cannot.
struct Met {
  std::mutex mutex;
  std::set<std::pair<int, int>> pairs;
};
constinit base::PerProcess<Met> met;

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
  return return_to_device(device);
}

Status return_to_device(int device) {
  const cudaError_t error = cudaSetDevice(device);
  return error == cudaSuccess ? Status{} : base::cuda_status(error, ("device " + std::to_string(device)).c_str());
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
  if (events_.empty()) return;
  Idle& all = idle.get();
  const std::lock_guard lock(all.mutex);
  std::vector<cudaEvent_t>& there = all.events[device_];
  there.insert(there.end(), events_.begin(), events_.end());
}

Status Events::take(int device, std::size_t count) {
  device_ = device;
  const std::size_t wanted = events_.size() + count;
  events_.reserve(wanted);
  Idle& all = idle.get();
  {
    const std::lock_guard lock(all.mutex);
    std::vector<cudaEvent_t>& there = all.events[device];
    const std::size_t taken = std::min(count, there.size());
    events_.insert(events_.end(), there.end() - static_cast<std::ptrdiff_t>(taken), there.end());
    there.resize(there.size() - taken);
  }
  while (events_.size() < wanted) {
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
  Met& known = met.get();
  const std::lock_guard lock(known.mutex);
  for (const int device : devices) {
    for (const int other : others) {
      if (device == other || known.pairs.contains({device, other})) continue;
      int can = 0;
      if (cudaDeviceCanAccessPeer(&can, device, other) == cudaSuccess && can != 0) {
        KIZAMI_RETURN_IF_ERROR(set_device(device));
        const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
        static_cast<void>(cudaGetLastError());
        if (error != cudaSuccess && error != cudaErrorPeerAccessAlreadyEnabled)
          return base::cuda_status(error, "cudaDeviceEnablePeerAccess");
      }
      known.pairs.insert({device, other});
    }
  }
  static_cast<void>(cudaGetLastError());
  return {};
}

}  // namespace kizami::multi
