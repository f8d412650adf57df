// SPDX-License-Identifier: MIT
#include "engines/cublaslt/sums_kernel.hpp"

#include <algorithm>

#include "base/cuda_status.hpp"
#include "base/int_math.hpp"

namespace kizami::engines {
namespace {

constexpr int kSumThreads = 256;

/// One plane a grid.z, four neighbouring elements of a column a thread, column after column.
__global__ void __launch_bounds__(kSumThreads)
    sums_kernel(std::int32_t* c, std::int64_t plane_stride, std::int64_t col_stride, std::int64_t m, std::int64_t n) {
  const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) * 4;
  if (i >= m) return;
  const std::int64_t first = blockIdx.y * static_cast<std::int64_t>(blockDim.y) + threadIdx.y;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * blockDim.y;
  std::int32_t* four = c + blockIdx.z * plane_stride + first * col_stride + i;
#pragma unroll 4
  for (std::int64_t j = first; j < n; j += step, four += step * col_stride) {
    const float4 sums = *reinterpret_cast<const float4*>(four);
    *reinterpret_cast<int4*>(four) = {__float2int_rn(sums.x), __float2int_rn(sums.y), __float2int_rn(sums.z),
                                      __float2int_rn(sums.w)};
  }
}

}  // namespace

Status sums_to_int32(const product::ProductDesc& desc, void* c, product::Queue queue) {
  const std::int64_t quads = base::ceil_div(desc.m, 4);
  const unsigned threads_x = quads >= 256 ? 256 : quads > 64 ? 128 : quads > 16 ? 64 : 16;
  const dim3 block(threads_x, kSumThreads / threads_x);
  const std::int64_t blocks_x = base::ceil_div(quads, threads_x);
  constexpr std::int64_t kEnoughBlocks = 4096;
  const std::int64_t blocks_y = std::clamp<std::int64_t>(
      kEnoughBlocks / blocks_x, 1, std::min<std::int64_t>(base::ceil_div(desc.n, block.y), 65535));
  const dim3 grid(static_cast<unsigned>(blocks_x), static_cast<unsigned>(blocks_y),
                  static_cast<unsigned>(desc.num_windows));
  sums_kernel<<<grid, block, 0, queue>>>(static_cast<std::int32_t*>(c), desc.c_plane_stride, desc.c_col_stride, desc.m,
                                         desc.n);
  return base::launch_status("sums_kernel");
}

}  // namespace kizami::engines
