// SPDX-License-Identifier: MIT
#include "convolution/device_direct.hpp"

#include <algorithm>

#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "num/line_stats.hpp"

namespace kizami::convolution {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr unsigned kWholeWarp = 0xFFFFFFFFU;

/// Where an output is, by its place in memory, which has no gaps.
struct Output {
  std::int64_t image;
  int p;
  int q;
  int filter;
};
__device__ Output output_at(const DirectTask& task, std::int64_t index) {
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

__global__ void __launch_bounds__(kThreads)
    direct_convolution_smxx(const __grid_constant__ DirectTask task, std::int64_t num_outputs) {
  base::follow_previous_kernel();
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < num_outputs;
       i += std::int64_t{gridDim.x} * kThreads) {
    if (task.alpha == 0) {
      task.y[i] = task.beta == 0 ? 0.0F : task.beta * task.y[i];
      continue;
    }
    const Output out = output_at(task, i);
    task.write(out.image, out.p, out.q, out.filter);
  }
}

[[nodiscard]] __device__ bool is_finite(float x) { return (__float_as_uint(x) & 0x7FFFFFFFU) < 0x7F800000U; }

/// Whether the window of an output has NaN or Inf in the channels of a group, by a warp.
[[nodiscard]] __device__ bool has_nonfinite_window(const DirectTask& task, std::int64_t image, int p, int q,
                                                   int group) {
  const float* const from =
      task.x + image * task.x_strides.image + static_cast<std::int64_t>(group) * task.channels * task.x_strides.channel;
  bool found = false;
  for (int r = 0; r < task.h.filter; ++r) {
    const std::int64_t row = std::int64_t{p} * task.h.stride + std::int64_t{r} * task.h.dilation - task.h.pad;
    if (row < 0 || row >= task.h.extent) continue;
    for (int s = 0; s < task.w.filter; ++s) {
      const std::int64_t column = std::int64_t{q} * task.w.stride + std::int64_t{s} * task.w.dilation - task.w.pad;
      if (column < 0 || column >= task.w.extent) continue;
      const float* const pixel = from + row * task.x_strides.row + column * task.x_strides.column;
      for (int c = static_cast<int>(threadIdx.x % 32); c < task.channels; c += 32)
        found = found || !is_finite(pixel[c * task.x_strides.channel]);
    }
  }
  return __any_sync(kWholeWarp, found) != 0;
}

/// A warp takes an output pixel of a group.
__global__ void __launch_bounds__(kThreads)
    settle_nonfinite_smxx(const __grid_constant__ DirectTask task, const std::int32_t* has_nonfinite,
                          const std::int32_t* filter_scales, std::int8_t* marks) {
  base::follow_previous_kernel();
  bool has_image = false;
  bool has_filter = false;
  for (std::int64_t i = threadIdx.x; i < task.images; i += kThreads) has_image = has_image || has_nonfinite[i] != 0;
  for (std::int64_t i = threadIdx.x; i < std::int64_t{task.groups} * task.filters; i += kThreads)
    has_filter = has_filter || filter_scales[i] == num::kSkipLine;
  has_filter = __syncthreads_or(has_filter ? 1 : 0) != 0;
  has_image = __syncthreads_or(has_image ? 1 : 0) != 0;
  if (!has_image && !has_filter) return;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t pixels = std::int64_t{task.h.outputs} * task.w.outputs;
  const std::int64_t units = task.images * pixels * task.groups;
#pragma unroll 1
  for (std::int64_t u = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / 32; u < units;
       u += std::int64_t{gridDim.x} * kWarps) {
    const std::int64_t pixel = u / task.groups;
    const auto group = static_cast<int>(u - pixel * task.groups);
    const std::int64_t image = pixel / pixels;
    const auto in_image = static_cast<std::int32_t>(pixel - image * pixels);
    const int p = in_image / task.w.outputs;
    const int q = in_image - p * task.w.outputs;
    const bool is_flagged = has_nonfinite[image] != 0;
    if (!is_flagged && !has_filter) continue;
    const bool is_marked = is_flagged && has_nonfinite_window(task, image, p, q, group);
    if (is_flagged && lane == 0) marks[u] = is_marked ? 1 : 0;
    for (int i = lane; i < task.filters; i += 32) {
      const int filter = group * task.filters + i;
      if (is_marked || filter_scales[filter] == num::kSkipLine) task.write(image, p, q, filter);
    }
  }
}

constexpr std::int64_t kMostCtas = 1056;  // 8 of each multiprocessor of an H200

}  // namespace

Status device_direct(const DirectTask& task, product::Queue queue) {
  const std::int64_t outputs = task.images * task.groups * task.filters * task.h.outputs * std::int64_t{task.w.outputs};
  if (outputs == 0) return {};
  const std::int64_t ctas = std::min(base::ceil_div(outputs, std::int64_t{kThreads}), 16 * kMostCtas);
  return base::launch_overlapped("a convolution in FP32", direct_convolution_smxx, dim3(static_cast<unsigned>(ctas)),
                                 dim3(kThreads), 0, queue, task, outputs);
}

Status device_settle_nonfinite(const DirectTask& task, const std::int32_t* has_nonfinite,
                               const std::int32_t* filter_scales, std::int8_t* marks, product::Queue queue) {
  const std::int64_t units = task.images * task.groups * task.h.outputs * std::int64_t{task.w.outputs};
  const std::int64_t ctas = std::min(base::ceil_div(units, std::int64_t{kWarps}), kMostCtas / 8);
  return base::launch_overlapped("the outputs with NaN and Inf", settle_nonfinite_smxx,
                                 dim3(static_cast<unsigned>(ctas)), dim3(kThreads), 0, queue, task, has_nonfinite,
                                 filter_scales, marks);
}

}  // namespace kizami::convolution
