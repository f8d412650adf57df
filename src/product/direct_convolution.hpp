// SPDX-License-Identifier: MIT
// An output of a convolution as one FP32 sum in the order of rows, columns, channels, for the host and the device: what
// format kF32 is, and what outputs with NaN or Inf in their window or filter are in every format.
#pragma once

#include <cmath>
#include <cstdint>

#include "kizami/host_device.hpp"
#include "product/convolution_axis.hpp"

namespace kizami::product {

/// Strides of images and filters in elements.
struct TensorStrides {
  std::int64_t image = 0;  ///< or filter
  std::int64_t channel = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
};

/// A convolution whose operands are as they came. Plain data for kernels.
struct DirectConvolution {
  ConvolutionAxis h;
  ConvolutionAxis w;
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
  /// Whether a window has NaN or Inf in the channels of a group.
  [[nodiscard]] KIZAMI_HOST_DEVICE bool has_nonfinite_window(std::int64_t image, int p, int q, int group) const {
    bool found = false;
    for_window(image, p, q, group * filters, [&](float, float element) {
      found = (kizami::bit_cast<std::uint32_t>(element) & 0x7FFFFFFFU) >= 0x7F800000U;
      return !found;
    });
    return found;
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

}  // namespace kizami::product
