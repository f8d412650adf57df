// SPDX-License-Identifier: MIT
// What a call on several devices borrows while it runs: the current device, streams of the library on each device,
// events, page-locked memory for the states of blocks. Streams and page-locked memory are kept for later calls.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <vector>

#include "kizami/status.hpp"

namespace kizami::multi {

/// Leaves the thread's current device as it was.
class CurrentDevice {
 public:
  CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  ~CurrentDevice();

 private:
  int before_ = -1;
};
Status set_device(int device);

/// Streams of one share: panels come by `in`, C leaves by `out`.
struct Streams {
  cudaStream_t in = nullptr;
  cudaStream_t compute = nullptr;
  cudaStream_t out = nullptr;
};

/// Streams that are this call's alone. They are idle when the object goes.
class TakenStreams {
 public:
  TakenStreams() = default;
  TakenStreams(const TakenStreams&) = delete;
  TakenStreams& operator=(const TakenStreams&) = delete;
  ~TakenStreams();

  /// @range once; the device is the current one
  Status take(int device);
  [[nodiscard]] const Streams& get() const { return streams_; }
  /// Waits for all of them. @status of the first that failed; all are waited for
  Status wait() const;

 private:
  int device_ = -1;
  Streams streams_;
};

/// Events of the current device.
class Events {
 public:
  Events() = default;
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events();

  Status make(std::size_t count);  ///< as many more
  [[nodiscard]] cudaEvent_t at(std::size_t i) const { return events_[i]; }

 private:
  std::vector<cudaEvent_t> events_;
};

/// Page-locked memory of the host.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory();

  Status take(std::size_t bytes);
  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Lets each device of the first list copy from and to those of the second directly, where their links admit it.
Status let_devices_meet(std::span<const int> devices, std::span<const int> others);

}  // namespace kizami::multi
