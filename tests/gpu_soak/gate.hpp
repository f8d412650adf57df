// SPDX-License-Identifier: MIT
// Holds the device back: what streams are given while the gate is closed begins when it is opened. Whoever waits for
// the device meanwhile waits for a moment, after which the gate opens by itself.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "gpu_soak/device.hpp"

namespace gpu_soak {

/// For one thread at a time, but for event().
class Gate {
 public:
  Gate() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate");
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() {
    static_cast<void>(cudaEventDestroy(event_));
    static_cast<void>(cudaStreamDestroy(stream_));
  }

  /// What streams wait for.
  [[nodiscard]] cudaEvent_t event() const { return event_; }
  /// @range open @throws CudaError
  void close() {
    {
      const std::lock_guard lock(mutex_);
      is_open_ = was_forced_ = false;
    }
    check(cudaLaunchHostFunc(stream_, wait, this), "cudaLaunchHostFunc");
    check(cudaEventRecord(event_, stream_), "cudaEventRecord");
  }
  /// @return false: it has opened by itself @range closed @throws CudaError
  bool open() {
    {
      const std::lock_guard lock(mutex_);
      is_open_ = true;
    }
    is_opened_.notify_all();
    check(cudaStreamSynchronize(stream_), "the gate");
    return !was_forced_;
  }

 private:
  static constexpr std::chrono::milliseconds kLongest{500};

  static void CUDART_CB wait(void* self) {
    Gate& gate = *static_cast<Gate*>(self);
    std::unique_lock lock(gate.mutex_);
    gate.was_forced_ = !gate.is_opened_.wait_for(lock, kLongest, [&] { return gate.is_open_; });
  }

  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
  std::mutex mutex_;
  std::condition_variable is_opened_;
  bool is_open_ = true, was_forced_ = false;
};

}  // namespace gpu_soak
