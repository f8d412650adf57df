// SPDX-License-Identifier: MIT
// What a call on several devices borrows while it runs: the current device, streams of the library on each device,
// events, page-locked memory for the states of blocks. All of that is kept for later calls.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
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
/// @status kUnsupported: there is no such device
Status set_device(int device);
/// The same again, of a device that set_device() has accepted.
Status return_to_device(int device);

/// Streams of one share that copy one way: over links, and what is on the device already.
struct WayStreams {
  cudaStream_t links = nullptr;
  cudaStream_t near = nullptr;
};
/// Streams of one share.
struct Streams {
  std::array<cudaStream_t, 5> all = {};

  [[nodiscard]] WayStreams in() const { return {all[0], all[1]}; }
  [[nodiscard]] cudaStream_t compute() const { return all[2]; }
  [[nodiscard]] WayStreams out() const { return {all[3], all[4]}; }
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

/// Events of a device that are this call's alone. What is recorded by them is behind the call when the object goes.
class Events {
 public:
  Events() = default;
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events();

  /// As many more. @range always the same device, the current one
  Status take(int device, std::size_t count);
  [[nodiscard]] cudaEvent_t at(std::size_t i) const { return events_[i]; }

 private:
  int device_ = -1;
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

/// Lets each device of the first list copy from and to those of the second directly, where their links admit it. Each pair
/// is asked about once.
Status let_devices_meet(std::span<const int> devices, std::span<const int> others);

}  // namespace kizami::multi
