// SPDX-License-Identifier: MIT
// The CRT of one triangle of C: the kernels of device_crt.cuh, told that there is a part.
#pragma once

#include "schemes/ozaki2/device_crt.cuh"

namespace kizami::ozaki2::kernels {

template <class T>
__global__ void scale_part_kernel(MatrixView<T> c, Factor<T> beta, problem::Part part) {
  scale_part(c, beta.load(), part);
}

}  // namespace kizami::ozaki2::kernels

namespace kizami::ozaki2 {

template <class T>
Status reconstruct_part_by_numbers(const DeviceReconstruction<T>& task, int num_sms, product::Queue queue) {
  return launch_numbers<T, true>(task, num_sms, queue);
}

template <class T>
Status reconstruct_part_by_bytes(const DeviceReconstruction<T>& task, int num_sms, product::Queue queue,
                                 bool is_beside) {
  return launch_bytes<T, true>(task, num_sms, queue, is_beside);
}

template <class T>
Status scale_part_device(Factor<T> beta, MatrixView<T> c, const problem::Part& part, product::Queue queue) {
  const std::int64_t blocks = base::ceil_div(c.rows * c.cols, device::kThreads);
  if (blocks == 0) return {};
  kernels::
      scale_part_kernel<<<static_cast<unsigned>(std::min<std::int64_t>(blocks, 4096)), device::kThreads, 0, queue>>>(
          c, beta, part);
  return base::launch_status("scale_part_kernel");
}

}  // namespace kizami::ozaki2

/// In one file for each type, as the kernels of all of C.
#define KIZAMI_INSTANTIATE_DEVICE_CRT_PART(T)                                                                   \
  template ::kizami::Status kizami::ozaki2::reconstruct_part_by_numbers<T>(const DeviceReconstruction<T>&, int, \
                                                                           ::kizami::product::Queue);           \
  template ::kizami::Status kizami::ozaki2::reconstruct_part_by_bytes<T>(const DeviceReconstruction<T>&, int,   \
                                                                         ::kizami::product::Queue, bool);       \
  template ::kizami::Status kizami::ozaki2::scale_part_device<T>(                                               \
      ::kizami::Factor<T>, ::kizami::MatrixView<T>, const ::kizami::problem::Part&, ::kizami::product::Queue)
