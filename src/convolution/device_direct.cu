// SPDX-License-Identifier: MIT
#include "convolution/device_direct.hpp"

#include <algorithm>

#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"

namespace kizami::convolution {
namespace {

constexpr int kDirectThreads = 256;

/// Where an output is, by its place in memory, which has no gaps.
struct Output {
  std::int64_t image;
  int p;
  int q;
  int filter;
};
__device__ Output output_at(const product::DirectConvolution& task, std::int64_t index) {
  const std::int64_t image = index / task.y_strides.image;
  std::int64_t rest = index - image * task.y_strides.image;
  Output out{};
  out.image = image;
  if (task.y_strides.channel == 1 && task.y_strides.column > 1) {
    out.p = static_cast<int>(rest / task.y_strides.row);
    rest -= out.p * task.y_strides.row;
    out.q = static_cast<int>(rest / task.y_strides.column);
    out.filter = static_cast<int>(rest - out.q * task.y_strides.column);
  } else {
    out.filter = static_cast<int>(rest / task.y_strides.channel);
    rest -= out.filter * task.y_strides.channel;
    out.p = static_cast<int>(rest / task.y_strides.row);
    out.q = static_cast<int>(rest - out.p * task.y_strides.row);
  }
  return out;
}

__global__ void __launch_bounds__(kDirectThreads)
    direct_convolution_smxx(const __grid_constant__ product::DirectConvolution task, std::int64_t num_outputs) {
  base::follow_previous_kernel();
  for (std::int64_t i = std::int64_t{blockIdx.x} * kDirectThreads + threadIdx.x; i < num_outputs;
       i += std::int64_t{gridDim.x} * kDirectThreads) {
    if (task.alpha == 0) {
      task.y[i] = task.beta == 0 ? 0.0F : task.beta * task.y[i];
      continue;
    }
    const Output out = output_at(task, i);
    task.write(out.image, out.p, out.q, out.filter);
  }
}

constexpr std::int64_t kMostCtas = 1056;  // 8 of each multiprocessor of an H200

}  // namespace

Status device_direct(const product::DirectConvolution& task, product::Queue queue) {
  const std::int64_t outputs = task.images * task.groups * task.filters * task.h.outputs * std::int64_t{task.w.outputs};
  if (outputs == 0) return {};
  const std::int64_t ctas = std::min(base::ceil_div(outputs, std::int64_t{kDirectThreads}), 16 * kMostCtas);
  return base::launch_overlapped("a convolution in FP32", direct_convolution_smxx, dim3(static_cast<unsigned>(ctas)),
                                 dim3(kDirectThreads), 0, queue, task, outputs);
}

}  // namespace kizami::convolution
