// SPDX-License-Identifier: MIT
// overlapped_launch.hpp for grids of two dimensions.
#pragma once

#include "base/overlapped_launch.hpp"

namespace kizami::base {

/// launch_overlapped_clusters() of blocks.x * blocks.y CTAs in clusters along x. @range blocks.x a multiple of cluster
[[nodiscard]] inline Status launch_overlapped_grid(const char* what, const void* kernel, dim3 blocks, unsigned threads,
                                                   int cluster, cudaStream_t queue, void* parameter) {
  cudaLaunchAttribute attributes[2] = {overlapped_start(), {}};
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = dim3(threads);
  config.stream = queue;
  config.attrs = attributes;
  config.numAttrs = 2;
  return cuda_status(cudaLaunchKernelExC(&config, kernel, &parameter), what);
}

}  // namespace kizami::base
