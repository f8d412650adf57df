// SPDX-License-Identifier: MIT
// Launching tile kernels with NVIDIA's compiler: KIZAMI_TILE_LAUNCH is <<<grid, 1, 0, stream>>>, and gives a Status.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <cuda_tf32.h>
#include <cuda_tile.h>

#include <string>

#include "kizami/status.hpp"

#define KIZAMI_TILE_BACKEND gpu_tile

namespace kizami::tile {

/// Where a kernel runs; the default is the default stream.
using Stream = cudaStream_t;

/// @status kUnsupported(kernel, grid and CUDA's words)
inline Status launch_status(const char* kernel, dim3 grid, cudaError_t error) {
  if (error == cudaSuccess) return {};
  return {StatusCode::kUnsupported, "tile kernel " + std::string(kernel) + ", grid (" + std::to_string(grid.x) + ", " +
                                        std::to_string(grid.y) + ", " + std::to_string(grid.z) +
                                        "): " + cudaGetErrorString(error)};
}

}  // namespace kizami::tile

/// Enqueues a kernel, in parentheses if its name has commas, and gives a kizami::Status.
#define KIZAMI_TILE_LAUNCH(kernel, grid, stream, ...) \
  (kernel<<<(grid), 1, 0, (stream)>>>(__VA_ARGS__), ::kizami::tile::launch_status(#kernel, (grid), cudaGetLastError()))
