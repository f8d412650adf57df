// SPDX-License-Identifier: MIT
// Streams of the library beside a caller's: what a call enqueues there begins after all that the caller's stream has,
// and what the caller's stream gets next begins after it.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "kizami/status.hpp"
#include "product/product.hpp"

namespace kizami::device {

/// A stream, and an event that marks what it has.
struct SideStream {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
};

/// The side streams of one call. They are the call's alone until join(); then another call may have them.
class SideStreams {
 public:
  SideStreams() = default;
  SideStreams(const SideStreams&) = delete;
  SideStreams& operator=(const SideStreams&) = delete;
  /// Joins, if join() has not: whatever was enqueued, the caller's stream waits for it.
  ~SideStreams() { static_cast<void>(join()); }

  /// Takes `count` streams of the current device. None of one, and none of a caller's stream that is captured, whose
  /// graph would keep them: work goes to the caller's then.
  /// @status kInternal with CUDA's words   @queue enqueues
  Status fork(product::Queue main, int count);
  /// @range 0 <= s < count of fork()
  [[nodiscard]] product::Queue at(int s) const {
    return streams_.empty() ? main_ : streams_[static_cast<std::size_t>(s)].stream;
  }
  Status join();

 private:
  product::Queue main_ = nullptr;
  int device_ = 0;
  std::vector<SideStream> streams_;
};

/// Streams of a device that calls have had and given back: as many as the call that had most.
[[nodiscard]] int num_idle_side_streams(int device);

}  // namespace kizami::device
