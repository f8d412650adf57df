// SPDX-License-Identifier: MIT
#include "engines/cublaslt/residue_kernel.hpp"

#include <algorithm>

#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "num/modular.hpp"

namespace kizami::engines {
namespace {

constexpr int kThreads = 256;

struct Task {
  const std::int32_t* acc;
  std::int64_t acc_col_stride;
  std::int64_t acc_plane_stride;
  std::int8_t* c;
  std::int64_t c_col_stride;
  std::int64_t c_plane_stride;
  std::int64_t m;
  std::int64_t n;
  bool adds;
  std::array<std::int16_t, product::kMaxProducts> moduli;
};

/// One plane a grid.z, four neighbouring elements of a column a thread, column after column.
template <bool kIsAligned>
__global__ void __launch_bounds__(kThreads) reduce_kernel(const __grid_constant__ Task task) {
  const int p = task.moduli[blockIdx.z];
  const bool has_fast_form = p > 64 && p != 128;
  const std::int32_t multiplier = has_fast_form ? num::reduce_i32_multiplier(p) : 0;
  const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) * 4;
  if (i >= task.m) return;
  const std::int64_t first = blockIdx.y * static_cast<std::int64_t>(blockDim.y) + threadIdx.y;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * blockDim.y;
  const std::int32_t* acc = task.acc + blockIdx.z * task.acc_plane_stride + first * task.acc_col_stride + i;
  std::int8_t* out = task.c + blockIdx.z * task.c_plane_stride + first * task.c_col_stride + i;
#pragma unroll 4
  for (std::int64_t j = first; j < task.n;
       j += step, acc += step * task.acc_col_stride, out += step * task.c_col_stride) {
    const int4 four = *reinterpret_cast<const int4*>(acc);
    const int values[4] = {four.x, four.y, four.z, four.w};
    char4 result;
    std::int8_t* const bytes = reinterpret_cast<std::int8_t*>(&result);
    if (task.adds && kIsAligned) result = *reinterpret_cast<const char4*>(out);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      int r = has_fast_form ? num::reduce_i32(values[e], p, multiplier) : num::symmetric_residue(values[e], p);
      if (task.adds) {
        r += kIsAligned ? bytes[e] : i + e < task.m ? out[e] : 0;
        if (r > num::residue_max(p)) r -= p;
        if (r < num::residue_min(p)) r += p;
      }
      bytes[e] = static_cast<std::int8_t>(r);
    }
    if (kIsAligned) {
      *reinterpret_cast<char4*>(out) = result;
    } else {
      for (int e = 0; e < 4 && i + e < task.m; ++e) out[e] = bytes[e];
    }
  }
}

}  // namespace

Status reduce_accumulators(const product::ProductDesc& desc, const std::int32_t* acc, std::int64_t acc_col_stride,
                           std::int64_t acc_plane_stride, int first_plane, int num_planes, std::int8_t* c,
                           product::Queue queue) {
  Task task{acc,
            acc_col_stride,
            acc_plane_stride,
            c + first_plane * desc.c_plane_stride,
            desc.c_col_stride,
            desc.c_plane_stride,
            desc.m,
            desc.n,
            desc.epilogue == product::Epilogue::kReduceAdd,
            {}};
  std::copy_n(desc.moduli.begin() + first_plane, num_planes, task.moduli.begin());
  const std::int64_t quads = base::ceil_div(desc.m, 4);
  const unsigned threads_x = quads >= 256 ? 256 : quads > 64 ? 128 : quads > 16 ? 64 : 16;
  const dim3 block(threads_x, kThreads / threads_x);
  const std::int64_t blocks_x = base::ceil_div(quads, threads_x);
  constexpr std::int64_t kEnoughBlocks = 4096;
  const std::int64_t blocks_y = std::clamp<std::int64_t>(
      kEnoughBlocks / blocks_x, 1, std::min<std::int64_t>(base::ceil_div(desc.n, block.y), 65535));
  const dim3 grid(static_cast<unsigned>(blocks_x), static_cast<unsigned>(blocks_y), static_cast<unsigned>(num_planes));
  // Whole words of four may be written where the columns have room for them.
  const bool is_aligned = desc.c_col_stride % 4 == 0 && desc.c_plane_stride % 4 == 0 &&
                          desc.c_col_stride >= base::round_up(desc.m, 4) &&
                          reinterpret_cast<std::uintptr_t>(c) % 4 == 0;
  if (is_aligned) {
    reduce_kernel<true><<<grid, block, 0, queue>>>(task);
  } else {
    reduce_kernel<false><<<grid, block, 0, queue>>>(task);
  }
  return base::launch_status("reduce_kernel");
}

}  // namespace kizami::engines
