// SPDX-License-Identifier: MIT
// How much a memory pool should keep for calls to come. Calls of one stream follow each other and take the same memory
// in turn, so what is needed is the largest workspace of each stream, summed over the streams; "lately" is this window
// of calls and the one before.
#pragma once

#include <cstddef>
#include <unordered_map>

namespace kizami::base {

/// Of one pool. Not safe from several threads at once.
class PoolDemand {
 public:
  static constexpr int kWindow = 256;                           ///< calls
  static constexpr std::size_t kSlack = std::size_t{64} << 20;  ///< bytes kept whatever is needed

  struct Advice {
    std::size_t keep_bytes = 0;   ///< twice what is needed, for gaps between workspaces of changing sizes, and kSlack
    bool has_changed = false;     ///< since the last advice; upwards at once, downwards at the end of a window
    bool is_window_over = false;  ///< what is held beyond keep_bytes may be given back now
  };

  /// A call on `stream` takes so many bytes.
  Advice note(const void* stream, std::size_t bytes);

  /// Streams that are told apart: those of the last two windows.
  [[nodiscard]] std::size_t num_streams() const { return streams_.size(); }

 private:
  struct Largest {
    std::size_t before = 0;  ///< in the last window
    std::size_t now = 0;     ///< in this one
  };
  void begin_window();

  std::unordered_map<const void*, Largest> streams_;
  std::size_t needed_ = 0;  ///< bytes
  std::size_t advised_ = 0;
  int calls_ = 0;  ///< of this window
};

}  // namespace kizami::base
