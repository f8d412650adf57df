// SPDX-License-Identifier: MIT
// An element of a convolution as one FP32 sum in the order of rows, columns, channels, for the host and the device: what
// format kF32 is, and what elements with NaN or Inf in their window or filter are in every format.
#pragma once

#include <cmath>
#include <cstdint>

#include "convolution/plan.hpp"
#include "kizami/host_device.hpp"
#include "product/ec_convolution.hpp"

namespace kizami::convolution {

/// Plain data for kernels.
struct DirectTask {
  product::ConvolutionAxis h;
  product::ConvolutionAxis w;
  std::int64_t images = 0;
  std::int32_t groups = 1;
  std::int32_t channels = 0;  ///< of a group
  std::int32_t filters = 0;   ///< of a group
  TensorStrides x_strides;
  TensorStrides w_strides;
  TensorStrides y_strides;
  const float* x = nullptr;
  const float* weights = nullptr;
  float* y = nullptr;
  float alpha = 1;
  float beta = 0;

  /// Calls take(c, weight, element) over the window of an output and a filter, zeros of the padding included. `take`
  /// returns whether to go on.
  template <class Take>
  KIZAMI_HOST_DEVICE void for_window(std::int64_t image, int p, int q, int filter, const Take& take) const {
    const std::int64_t group = filter / filters;
    const float* const from = x + image * x_strides.image + group * channels * x_strides.channel;
    const float* const of = weights + filter * w_strides.image;
    for (int r = 0; r < h.filter; ++r) {
      const std::int64_t row = std::int64_t{p} * h.stride + std::int64_t{r} * h.dilation - h.pad;
      for (int s = 0; s < w.filter; ++s) {
        const std::int64_t column = std::int64_t{q} * w.stride + std::int64_t{s} * w.dilation - w.pad;
        const bool is_there = row >= 0 && row < h.extent && column >= 0 && column < w.extent;
        const float* const pixel = from + row * x_strides.row + column * x_strides.column;
        const float* const tap = of + r * w_strides.row + s * w_strides.column;
        for (int c = 0; c < channels; ++c) {
          if (!take(tap[c * w_strides.channel], is_there ? pixel[c * x_strides.channel] : 0.0F)) return;
        }
      }
    }
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE float* output(std::int64_t image, int p, int q, int filter) const {
    return y + image * y_strides.image + filter * y_strides.channel + p * y_strides.row + q * y_strides.column;
  }
  /// Writes an output. @range alpha is not zero
  KIZAMI_HOST_DEVICE void write(std::int64_t image, int p, int q, int filter) const {
    float sum = 0;
    for_window(image, p, q, filter, [&](float weight, float element) {
      sum = fmaf(weight, element, sum);
      return true;
    });
    float* const to = output(image, p, q, filter);
    const float scaled = alpha * sum;
    *to = beta == 0 ? scaled : fmaf(beta, *to, scaled);
  }
};

[[nodiscard]] DirectTask direct_task(const Plan& plan, float alpha, const float* x, const float* weights, float beta,
                                     float* y);

}  // namespace kizami::convolution
