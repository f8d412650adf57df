// SPDX-License-Identifier: MIT
// For programs that watch what they hold of a device, as gpu_soak does.
#include <cstddef>

#include "kizami/cuda.hpp"

/// What the pool of the current device holds for workspaces, in bytes: now, at most so far, and now for calls that are
/// not done. Graphs own theirs, which are not counted.
/// @return 0, or -1: CUDA does not say; the numbers are as they were
extern "C" KIZAMI_API int kizami_workspaces(std::size_t* held, std::size_t* most_held, std::size_t* used) noexcept {
  try {
    const auto pool = kizami::cuda::workspace_pool();
    if (!pool.ok()) return -1;
    *held = pool.value().held_bytes;
    *most_held = pool.value().most_held_bytes;
    *used = pool.value().used_bytes;
    return 0;
  } catch (...) {  // no memory for CUDA's words
    return -1;
  }
}
