// SPDX-License-Identifier: MIT
// The CRT in limbs of integers (device_crt_limbs.cuh), of all of C or of a triangle: of the counts of moduli that do not fit
// in pieces, and of every count on devices whose FP64 instructions are a 32nd or a 64th of the others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "schemes/ozaki2/device_crt.cuh"
#include "schemes/ozaki2/device_crt_limbs.cuh"

namespace kizami::ozaki2::kernels {

/// By the first of kLimbs that are enough; the last of them are.
template <class T, int... kLimbs>
__device__ __forceinline__ void reconstruct_from_limbs(const DeviceReconstruction<T>& task,
                                                       const DeviceCrtTable* tables, std::uint32_t* shared) {
  constexpr int kParts = kIsComplex<T> ? 2 : 1;
  const int limbs = tables->num_limbs;
  const int thread = static_cast<int>(threadIdx.x + threadIdx.y * blockDim.x);
  const auto for_limbs = [&](const auto& visit) {
    const auto visit_if_enough = [&](auto num_limbs) {
      if (limbs > num_limbs.value) return false;
      visit(num_limbs);
      return true;
    };
    static_cast<void>((visit_if_enough(std::integral_constant<int, kLimbs>{}) || ...));
  };
  for_limbs([&](auto num_limbs) {
    constexpr int kWords = device_words(kIsComplex<T>, num_limbs.value);
    using Layout = SharedLayout<num_limbs.value, kWords>;
    for (int at = thread; at < kParts * Layout::kSize; at += device::kThreads) {
      const DeviceCrtTable& table = tables[at / Layout::kSize];
      const int i = at % Layout::kSize;
      shared[at] = i < Layout::kBias      ? table.weight[i / kWords][i % kWords]
                   : i < Layout::kProduct ? table.bias[i - Layout::kBias]
                                          : table.product[i - Layout::kProduct];
    }
  });
  __syncthreads();
  const std::int64_t i = device::first_row_of_thread();
  if (i >= task.c.rows) return;
  const Epilogue<T> epilogue(task);
  std::int32_t row_scale[4];
  load_row_scales(task, i, row_scale);
  const bool is_fast = epilogue.is_product && !epilogue.has_repairs && row_scale[0] != num::kSkipLine &&
                       row_scale[1] != num::kSkipLine && row_scale[2] != num::kSkipLine &&
                       row_scale[3] != num::kSkipLine;
  for_columns</*kIsPart=*/true>(task, i, [&](std::int64_t j, int col_scale) {
    num::Scaled p[kParts][4];
    const std::int8_t* const residues = task.planes.data + j * task.planes.col_stride + i;
    for_limbs([&](auto num_limbs) {
      rebuild_quad<kParts, num_limbs.value>(residues, task.planes.plane_stride, tables, shared, p);
    });
    if (is_fast && task.part.surrounds(i, 4, j)) {
      bool are_plain = true;
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        for (int part = 0; part < kParts; ++part) {
          p[part][e].exponent -= row_scale[e] + col_scale;
          are_plain = are_plain && device::is_plain(p[part][e]);
        }
      }
      if (are_plain) {
        T value[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) value[e] = device::plain_element<T, kParts>(p[0][e], p[kParts - 1][e]);
        device::store(task.c, i, j, value, 15u);
        return;
      }
      for (int e = 0; e < 4; ++e) {  // as they were, for the general way
        for (int part = 0; part < kParts; ++part) p[part][e].exponent += row_scale[e] + col_scale;
      }
    }
    finish_quad<T, kParts, /*kIsPart=*/true>(task, epilogue, i, j, row_scale, col_scale, p);
  });
}

/// Words of shared memory that reconstruct_from_limbs() wants.
template <class T, int kMostLimbs>
inline constexpr int kLimbWords =
    (kIsComplex<T> ? 2 : 1) * SharedLayout<kMostLimbs, device_words(kIsComplex<T>, kMostLimbs)>::kSize;

/// @param takes_pieces  the rungs too that reconstruct_kernel() has  @param scales  as rung_of_call()
template <class T, int... kLimbs>
__global__ void __launch_bounds__(device::kThreads, kBlocksPerSm)
    reconstruct_by_limbs_kernel(const __grid_constant__ DeviceReconstruction<T> task, bool takes_pieces, bool scales) {
  __shared__ __align__(16) std::uint32_t shared[kLimbWords<T, std::max({kLimbs...})>];
  base::follow_previous_kernel();
  const int rung = rung_of_call<T, /*kIsPart=*/true>(task, scales);
  if (rung < 0) return;
  const int num_moduli = task.ladder.rungs[rung].num_moduli;
  if (!takes_pieces && num_pieces(kIsComplex<T>, num_moduli) != 0) return;
  const DeviceCrtTable* const tables = tables_of(task, num_moduli);
  reconstruct_from_limbs<T, kLimbs...>(task, tables, shared);
}

}  // namespace kizami::ozaki2::kernels

namespace kizami::ozaki2 {

template <class T>
Status reconstruct_by_limbs(const DeviceReconstruction<T>& task, int num_sms, product::Queue queue) {
  const CrtKernels kernels = crt_kernels(task);
  const bool scales = !kernels.has_numbers && !kernels.has_bytes;
  const int rounds = task.part.is_all() ? 1 : 8;  // as launch_numbers()
  const device::QuadGrid shape = device::quad_grid(task.c.rows, task.c.cols, rounds * kernels::kBlocksPerSm * num_sms);
  const auto launch = [&](const auto& kernel) {
    return base::launch_overlapped("reconstruct_by_limbs_kernel", kernel, shape.grid, shape.block, 0, queue, task,
                                   task.by_limbs, scales);
  };
  // What so many limbs are enough for; device_tables_test.cpp checks it.
  const bool has_many = task.ladder.rungs[task.ladder.num_rungs - 1].num_moduli > 27;
  if constexpr (kIsComplex<T>) {
    return launch(kernels::reconstruct_by_limbs_kernel<T, 4, 5, 7>);
  } else {
    return has_many ? launch(kernels::reconstruct_by_limbs_kernel<T, 4, 5, 7, kDeviceLimbs>)
                    : launch(kernels::reconstruct_by_limbs_kernel<T, 4, 5, 7>);
  }
}

}  // namespace kizami::ozaki2

/// In one file for each type, as the kernels of pieces.
#define KIZAMI_INSTANTIATE_DEVICE_CRT_BY_LIMBS(T)                                                        \
  template ::kizami::Status kizami::ozaki2::reconstruct_by_limbs<T>(const DeviceReconstruction<T>&, int, \
                                                                    ::kizami::product::Queue)
