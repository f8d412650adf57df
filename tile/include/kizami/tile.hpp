// SPDX-License-Identifier: MIT
// The one header of a kernel file: the tile programming model cuda::tiles (CUDA Tile C++) and what launches its
// kernels.
//   nvcc --enable-tile    NVIDIA's <cuda_tile.h>; kernels run on the GPU
//   g++, clang            the host implementation in kizami/tile/; kernels run on the threads of the CPU
// Write kernels in `inline namespace KIZAMI_TILE_BACKEND`: one program may hold kernels of several kinds (GPU, CPU, CPU
// with checks), and the linker would keep one of two functions of equal name.
// What is supported: tile/docs/supported.md. Compile with -DKIZAMI_TILE_DEBUG for checks of everything
// (tile/docs/debug.md).
#pragma once

#if defined(__CUDACC_TILE__)
#include "kizami/tile/device_launch.cuh"
#elif defined(__CUDACC__)
#error \
    "kizami/tile.hpp: compile kernel files with --enable-tile -gencode arch=compute_90,code=sm_90 (CUDA 13.4 or newer)"
#else
#include "kizami/tile/annotations.hpp"
#include "kizami/tile/arithmetic.hpp"
#include "kizami/tile/assume.hpp"
#include "kizami/tile/atomics.hpp"
#include "kizami/tile/casts.hpp"
#include "kizami/tile/create.hpp"
#include "kizami/tile/irange.hpp"
#include "kizami/tile/launch.hpp"
#include "kizami/tile/math.hpp"
#include "kizami/tile/mma.hpp"
#include "kizami/tile/operators.hpp"
#include "kizami/tile/reductions.hpp"
#include "kizami/tile/shape_operations.hpp"
#include "kizami/tile/views.hpp"

namespace cuda {
namespace tiles = ::kizami::tile::host;
}  // namespace cuda
#endif
