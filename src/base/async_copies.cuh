// SPDX-License-Identifier: MIT
// Copies from global to shared memory that hold no registers while they are under way (cp.async, since sm_80), in groups of each
// thread. One function per instruction; no policy.
#pragma once

#include <cstdint>

namespace kizami::base {

/// Copies kBytes to shared memory: num_bytes from memory, then zeros. @param kIsAhead  what follows in memory comes to the L2 cache too
template <int kBytes, bool kIsAhead = false>
__device__ __forceinline__ void copy_to_shared(std::uint32_t to, const void* from, int num_bytes) {
  if constexpr (kIsAhead && kBytes == 16) {
    asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(num_bytes)
                 : "memory");
  } else if constexpr (kIsAhead) {
    asm volatile("cp.async.ca.shared.global.L2::256B [%0], [%1], %3, %2;" ::"r"(to), "l"(from), "r"(num_bytes),
                 "n"(kBytes)
                 : "memory");
  } else if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(num_bytes) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"(from), "r"(num_bytes), "n"(kBytes)
                 : "memory");
  }
}
/// Ends a group of copies, which may be empty.
__device__ __forceinline__ void close_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits for all copies of this thread but those of the last kGroups groups.
template <int kGroups>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
}

}  // namespace kizami::base
