// SPDX-License-Identifier: MIT
#include "device/side_streams.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/cuda_status.hpp"
#include "base/fork_safe.hpp"

namespace kizami::device {
namespace {

/// Streams that no call has at the moment, by device. Never destroyed.
struct IdleStreams {
  std::mutex mutex;
  std::map<int, std::vector<SideStream>> by_device;
};
constinit base::PerProcess<IdleStreams> idle_streams;

Status make_stream(SideStream& made) {
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaStreamCreateWithFlags(&made.stream, cudaStreamNonBlocking), "a stream"));
  const cudaError_t error = cudaEventCreateWithFlags(&made.event, cudaEventDisableTiming);
  if (error != cudaSuccess) static_cast<void>(cudaStreamDestroy(made.stream));
  return base::cuda_status(error, "an event");
}

/// What `main` gets next begins after what the side stream has.
Status wait_for(const SideStream& side, cudaStream_t main) {
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaEventRecord(side.event, side.stream), "cudaEventRecord"));
  return base::cuda_status(cudaStreamWaitEvent(main, side.event), "cudaStreamWaitEvent");
}

/// An idle stream of the device, or a new one.
Status take_stream(int device, SideStream& taken) {
  IdleStreams& idle = idle_streams.get();
  {
    const std::lock_guard lock(idle.mutex);
    std::vector<SideStream>& there = idle.by_device[device];
    if (!there.empty()) {
      taken = there.back();
      there.pop_back();
      return {};
    }
  }
  return make_stream(taken);
}

}  // namespace

int num_idle_side_streams(int device) {
  IdleStreams& idle = idle_streams.get();
  const std::lock_guard lock(idle.mutex);
  const auto there = idle.by_device.find(device);
  return there == idle.by_device.end() ? 0 : static_cast<int>(there->second.size());
}

Status SideStreams::fork(product::Queue main, int count) {
  main_ = main;
  if (count < 2) return {};
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaStreamIsCapturing(main, &capture), "cudaStreamIsCapturing"));
  if (capture != cudaStreamCaptureStatusNone) return {};
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaGetDevice(&device_), "cudaGetDevice"));
  for (int s = 0; s < count; ++s) {
    SideStream taken;
    KIZAMI_RETURN_IF_ERROR(take_stream(device_, taken));
    streams_.push_back(taken);
  }
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaEventRecord(streams_[0].event, main), "cudaEventRecord"));
  for (const SideStream& side : streams_) {
    KIZAMI_RETURN_IF_ERROR(
        base::cuda_status(cudaStreamWaitEvent(side.stream, streams_[0].event), "cudaStreamWaitEvent"));
  }
  return {};
}

Status SideStreams::join() {
  std::optional<Status> refused;  // the first; the others are joined all the same
  for (const SideStream& side : streams_) {
    if (Status status = wait_for(side, main_); !status.ok() && !refused) {
      static_cast<void>(refused.emplace(std::move(status)));  // nvcc: even of a reference nothing may be discarded
    }
  }
  if (!streams_.empty()) {
    IdleStreams& idle = idle_streams.get();
    const std::lock_guard lock(idle.mutex);
    std::vector<SideStream>& there = idle.by_device[device_];
    there.insert(there.end(), streams_.begin(), streams_.end());
    streams_.clear();
  }
  return refused ? *std::move(refused) : Status{};
}

}  // namespace kizami::device
