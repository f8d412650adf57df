// SPDX-License-Identifier: MIT
// The launch of clusters of base/overlapped_launch.hpp, by another policy of the driver: load balancing.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kizami/status.hpp"

namespace kizami::base {

/// As launch_overlapped_clusters(), but where the driver's default leaves multiprocessors without a block, fewer are left: of
/// the 132 of an H200, kernels of three blocks each had no block on 8 with clusters of 4 and on 16 with clusters of 16; so
/// launched, on none and on 8. Clusters of 8 leave 8 either way, of 1 and 2 none (docs/perf/h200_call.md). For kernels of
/// many more blocks than run at once.
[[nodiscard]] Status launch_balanced_clusters(const char* what, const void* kernel, unsigned blocks, unsigned threads,
                                              int cluster, std::size_t shared_bytes, cudaStream_t queue,
                                              void* parameter);

}  // namespace kizami::base
