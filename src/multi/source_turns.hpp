// SPDX-License-Identifier: MIT
// Devices that read from one another take turns at what they read: two that read from one device at the same time have half of its rate each, while nobody
// reads from another device.
#pragma once

#include <map>

struct CUstream_st;  // what cudaStream_t and cudaEvent_t point to
struct CUevent_st;

namespace kizami::multi {

/// The last copy out of each device that was asked for. Copies wait only for such as were asked for before them, so that no two wait for one another.
class SourceTurns {
 public:
  /// What a copy out of that device must wait for; null: for nothing, or for a copy of the same stream, which it follows anyway.
  [[nodiscard]] CUevent_st* before(int source, const CUstream_st* stream) const {
    const auto last = last_.find(source);
    return last == last_.end() || last->second.stream == stream ? nullptr : last->second.behind;
  }
  /// The copy is asked for. @param behind  marked behind it in its stream
  void follow(int source, const CUstream_st* stream, CUevent_st* behind) { last_[source] = {stream, behind}; }

 private:
  struct Last {
    const CUstream_st* stream = nullptr;
    CUevent_st* behind = nullptr;
  };
  std::map<int, Last> last_;
};

}  // namespace kizami::multi
