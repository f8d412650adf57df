// SPDX-License-Identifier: MIT
// Allocations of this program that fail on demand: operator new and aligned_alloc() are its own.
#pragma once

#include <cstdint>

namespace kizami::out_of_memory {

enum class Failing {
  kOne,          ///< the system has memory again at once
  kAllFrom,      ///< it has none any more
  kOneElsewhere  ///< kOne, of those of other threads than the one that asked for it
};

/// While it lives, the allocation of that number from now on fails, counted from 0. One at a time.
class FailingAllocations {
 public:
  FailingAllocations(std::int64_t number, Failing which);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  /// Whether there were as many allocations.
  [[nodiscard]] static bool has_failed();
};

}  // namespace kizami::out_of_memory
