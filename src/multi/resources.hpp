// SPDX-License-Identifier: MIT
// What a call on several devices borrows while it runs: the current device, streams of the library on each device,
// events, page-locked memory for the states of blocks. Streams and page-locked memory are kept for later calls.
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
Status set_device(int device);

/// Streams of one share. Each source's panels come by one of `in()`, so that all links are busy whoever else reads there;
/// what of them is on the device already comes and goes by near().
struct Streams {
  static constexpr std::size_t kSources = 3;
  std::array<cudaStream_t, kSources + 4> all = {};

  [[nodiscard]] std::span<const cudaStream_t> in() const { return std::span(all).first(kSources); }
  [[nodiscard]] cudaStream_t near() const { return all[kSources]; }
  [[nodiscard]] cudaStream_t here() const { return all[kSources + 1]; }  ///< copies nothing: behind all that comes
  [[nodiscard]] cudaStream_t compute() const { return all[kSources + 2]; }
  [[nodiscard]] const cudaStream_t& out() const { return all[kSources + 3]; }  ///< C leaves
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
