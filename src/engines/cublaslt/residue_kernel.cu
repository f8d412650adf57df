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

/// One plane a block row (grid.y), four neighbouring elements of a column a thread.
template <bool kIsAligned>
__global__ void __launch_bounds__(kThreads) reduce_kernel(const __grid_constant__ Task task) {
  const int p = task.moduli[blockIdx.y];
  const bool has_fast_form = p > 64 && p != 128;
  const std::int32_t multiplier = has_fast_form ? num::reduce_i32_multiplier(p) : 0;
  const std::int32_t* const acc = task.acc + blockIdx.y * task.acc_plane_stride;
  std::int8_t* const c = task.c + blockIdx.y * task.c_plane_stride;
  const std::int64_t quads = (task.m + 3) / 4;
  const std::int64_t total = quads * task.n;
  for (std::int64_t at = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x; at < total;
       at += static_cast<std::int64_t>(gridDim.x) * kThreads) {
    const std::int64_t j = at / quads;
    const std::int64_t i = (at - j * quads) * 4;
    const int4 four = *reinterpret_cast<const int4*>(acc + j * task.acc_col_stride + i);
    const int values[4] = {four.x, four.y, four.z, four.w};
    std::int8_t* const out = c + j * task.c_col_stride + i;
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
  const std::int64_t blocks = base::ceil_div(base::ceil_div(desc.m, 4) * desc.n, kThreads);
  const dim3 grid(static_cast<unsigned>(std::min<std::int64_t>(blocks, 4096)), static_cast<unsigned>(num_planes));
  // Whole words of four may be written where the columns have room for them.
  const bool is_aligned = desc.c_col_stride % 4 == 0 && desc.c_plane_stride % 4 == 0 &&
                          desc.c_col_stride >= base::round_up(desc.m, 4) &&
                          reinterpret_cast<std::uintptr_t>(c) % 4 == 0;
  if (is_aligned) {
    reduce_kernel<true><<<grid, kThreads, 0, queue>>>(task);
  } else {
    reduce_kernel<false><<<grid, kThreads, 0, queue>>>(task);
  }
  return base::launch_status("reduce_kernel");
}

}  // namespace kizami::engines
