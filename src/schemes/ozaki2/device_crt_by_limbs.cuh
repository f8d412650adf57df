// SPDX-License-Identifier: MIT
// The CRT of every count of moduli in limbs of integers, of all of C or of a triangle: for devices whose FP64
// instructions are a 32nd or a 64th of the others.
#pragma once

#include "schemes/ozaki2/device_crt.cuh"

namespace kizami::ozaki2::kernels {

template <class T, int... kLimbs>
__global__ void __launch_bounds__(device::kThreads, kBlocksPerSm)
    reconstruct_by_limbs_kernel(const __grid_constant__ DeviceReconstruction<T> task) {
  constexpr int kMostLimbs = std::max({kLimbs...});
  __shared__ __align__(16) unsigned char shared[kLimbBytes<T, kMostLimbs>];
  base::follow_previous_kernel();
  const DeviceCrtTable* const tables = tables_of_rung<T, /*kIsPart=*/true>(task);
  if (tables == nullptr) return;
  reconstruct_from_limbs<T, /*kIsPart=*/true, kLimbs...>(task, tables, reinterpret_cast<std::uint32_t*>(shared));
}

}  // namespace kizami::ozaki2::kernels

namespace kizami::ozaki2 {

template <class T>
Status reconstruct_by_limbs(const DeviceReconstruction<T>& task, int num_sms, product::Queue queue) {
  const int rounds = task.part.is_all() ? 1 : 8;  // as launch_numbers()
  const device::QuadGrid shape = device::quad_grid(task.c.rows, task.c.cols, rounds * kernels::kBlocksPerSm * num_sms);
  const auto launch = [&](const auto& kernel) {
    return base::launch_overlapped("reconstruct_by_limbs_kernel", kernel, shape.grid, shape.block, 0, queue, task);
  };
  // 4 limbs are 14 moduli, 5 are 18; device_tables_test.cpp checks it.
  if constexpr (!kIsComplex<T>) {
    if (task.ladder.rungs[task.ladder.num_rungs - 1].num_moduli > 27)
      return launch(kernels::reconstruct_by_limbs_kernel<T, 4, 5, 7, kDeviceLimbs>);
  }
  return launch(kernels::reconstruct_by_limbs_kernel<T, 4, 5, 7>);
}

}  // namespace kizami::ozaki2

/// In one file for each type, as the kernels of pieces.
#define KIZAMI_INSTANTIATE_DEVICE_CRT_BY_LIMBS(T)                                                        \
  template ::kizami::Status kizami::ozaki2::reconstruct_by_limbs<T>(const DeviceReconstruction<T>&, int, \
                                                                    ::kizami::product::Queue)
