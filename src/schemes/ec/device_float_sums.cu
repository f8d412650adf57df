// SPDX-License-Identifier: MIT
#include "schemes/ec/device_float_sums.hpp"

#include <complex>

#include "base/overlapped_launch.hpp"
#include "device/quads.cuh"
#include "num/line_stats.hpp"
#include "num/scaled.hpp"

namespace kizami::ec {
namespace {

constexpr int kBlocksPerSm = 4;

template <class T>
__global__ void __launch_bounds__(device::kThreads, kBlocksPerSm)
    finish_sums(const __grid_constant__ DeviceFloatSums<T> task) {
  base::follow_previous_kernel();
  const T beta = task.beta.load();
  if (task.state->is_scaling_only != 0) {
    device::scale_all(task.c, beta);
    return;
  }
  if (task.state->takes_signs != 0) return;
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
  if (i >= task.c.rows) return;
  const std::int32_t row_scale = task.row_scales[i];
  if (row_scale == num::kSkipLine) return;
  const T alpha = task.alpha.load();
  for (std::int64_t j = device::first_column_of_thread(); j < task.c.cols; j += device::column_step()) {
    const std::int32_t col_scale = task.col_scales[j];
    if (col_scale == num::kSkipLine) continue;
    const int exponent = -(row_scale + col_scale);
    const float* const sum = task.sums.data + j * task.sums.col_stride + i;
    T& out = task.c(i, j);
    const T old = beta == T{0} ? T{0} : out;
    const num::Scaled re = num::make_scaled(static_cast<double>(sum[0]), exponent);
    if constexpr (kIsComplex<T>) {
      const num::Scaled im = num::make_scaled(static_cast<double>(sum[task.sums.form_stride]), exponent);
      out = num::finish(num::ScaledComplex{re, im}, alpha, beta, old);
    } else {
      out = num::finish(re, alpha, beta, old);
    }
  }
}

}  // namespace

template <class T>
Status device_float_sums(const DeviceFloatSums<T>& task, int num_sms, product::Queue queue) {
  const device::QuadGrid shape = device::quad_grid(task.c.rows, task.c.cols, kBlocksPerSm * num_sms, 1, 32);
  return base::launch_overlapped("FP32 sums to C", finish_sums<T>, shape.grid, shape.block, 0, queue, task);
}

template Status device_float_sums<float>(const DeviceFloatSums<float>&, int, product::Queue);
template Status device_float_sums<std::complex<float>>(const DeviceFloatSums<std::complex<float>>&, int,
                                                       product::Queue);

}  // namespace kizami::ec
