// SPDX-License-Identifier: MIT
#include "base/pool_demand.hpp"

#include <algorithm>

namespace kizami::base {

PoolDemand::Advice PoolDemand::note(const void* stream, std::size_t bytes) {
  Advice advice;
  advice.is_window_over = calls_ == kWindow;
  if (advice.is_window_over) begin_window();
  ++calls_;
  Largest& largest = streams_[stream];
  const std::size_t known = std::max(largest.before, largest.now);
  largest.now = std::max(largest.now, bytes);
  needed_ += std::max(known, bytes) - known;
  advice.keep_bytes = 2 * needed_ + kSlack;
  advice.has_changed = advice.keep_bytes != advised_;
  advised_ = advice.keep_bytes;
  return advice;
}

void PoolDemand::begin_window() {
  calls_ = 0;
  needed_ = 0;
  std::erase_if(streams_, [](const auto& stream) { return stream.second.now == 0; });
  for (auto& [stream, largest] : streams_) {
    largest = {largest.now, 0};
    needed_ += largest.before;
  }
}

}  // namespace kizami::base
