// SPDX-License-Identifier: MIT
#include "dropin/cublas/workspace_search.hpp"

#include <algorithm>
#include <bit>

namespace kizami::dropin::cublas {

bool WorkspaceSearch::may_ask(std::size_t bytes) {
  if (total_ != 0 && bytes > total_) return false;
  const std::size_t refused = shortage_.refused();
  if (refused == 0 || bytes < refused) return true;
  if (!is_counted_) {
    is_counted_ = true;
    is_retry_ = shortage_.calls_.fetch_add(1, std::memory_order_relaxed) % kRetryPeriod == kRetryPeriod - 1;
  }
  return is_retry_;
}

void WorkspaceSearch::refused(std::size_t bytes) {
  least_refused_ = least_refused_ == 0 ? bytes : std::min(least_refused_, bytes);
  const std::size_t known = shortage_.refused();
  if (known == 0 || bytes < known) shortage_.refused_.store(bytes, std::memory_order_relaxed);
}

void WorkspaceSearch::granted(std::size_t bytes) {
  const std::size_t known = shortage_.refused();
  if (known != 0 && bytes >= known) shortage_.refused_.store(least_refused_, std::memory_order_relaxed);
}

std::size_t WorkspaceSearch::next_limit(std::size_t bytes) const {
  if (total_ != 0 && bytes > total_) return total_;
  if (bytes <= kLeastWorkspace) return 0;
  return std::bit_floor(bytes - 1);
}

}  // namespace kizami::dropin::cublas
