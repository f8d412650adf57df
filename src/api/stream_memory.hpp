// SPDX-License-Identifier: MIT
// Device memory in the order of a stream, from a pool of the library for each device. The pool keeps what recent calls
// need (base/pool_demand.hpp): the rest goes back to the device when the program next waits for a stream, and after
// each window of calls.
#pragma once

#include <cstddef>
#include <span>

#include "kizami/cuda.hpp"

namespace kizami::api {

/// Given back, in the order of the stream, when the object is destroyed.
class StreamMemory {
 public:
  explicit StreamMemory(cuda::Stream stream) : stream_(stream) {}
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  ~StreamMemory();

  /// @status kOutOfMemory: the device, or the limit of the process (cuda::limit_workspaces), has not so much left; of a
  ///         captured stream, whose memory is taken when the graph runs: has not so much left now. kInternal with
  ///         CUDA's words. No error of CUDA is left.
  /// @queue  asynchronous, capturable: a graph owns what it allocates
  Status allocate(int device, std::size_t bytes);
  [[nodiscard]] std::span<std::byte> span() const { return {static_cast<std::byte*>(data_), size_}; }

 private:
  cuda::Stream stream_;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kizami::api
