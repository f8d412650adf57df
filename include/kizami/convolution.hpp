// SPDX-License-Identifier: MIT
// A two-dimensional convolution of FP32 images, as data:
//   y(n, k, p, q) = alpha sum over c, r, s of w(k, c, r, s) x(n, c', p stride_h + r dilation_h - pad_h,
//                                                                   q stride_w + s dilation_w - pad_w) + beta y(n, k, p, q)
// with c' = c + (k / (filters / groups)) (channels / groups), and x zero outside the image: zeros that are multiplied, so
// an infinite weight beside the edge makes NaN. (What the field calls a convolution does not mirror its filters.)
// kizami/cuda_convolution.hpp runs it on a CUDA device, convolve() below on the host, to the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kizami/export.h"
#include "kizami/names.hpp"
#include "kizami/status.hpp"

namespace kizami {

namespace convolution {
struct Plan;  // src/convolution: geometry, form, bound, workspace
}

/// How images and filters lie in memory, without gaps.
enum class ImageLayout : std::uint8_t {
  kNhwc,  ///< x: [image][row][column][channel], w: [filter][row][column][channel]: PyTorch's channels_last
  kNchw,  ///< x: [image][channel][row][column], w: [filter][channel][row][column]
};
template <>
struct Names<ImageLayout> {
  static constexpr std::string_view kAll[] = {"nhwc", "nchw"};
};

/// @range extents >= 0, below 2^31; filter_height, filter_width, strides, dilations and groups >= 1; pads >= 0; groups
///        divides channels and filters
struct ConvolutionShape {
  std::int64_t images = 0;
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t filters = 0;
  std::int64_t filter_height = 1;
  std::int64_t filter_width = 1;
  std::int64_t stride_h = 1;
  std::int64_t stride_w = 1;
  std::int64_t pad_h = 0;  ///< rows of zeros above and below
  std::int64_t pad_w = 0;
  std::int64_t dilation_h = 1;
  std::int64_t dilation_w = 1;
  std::int64_t groups = 1;
  ImageLayout layout = ImageLayout::kNhwc;
  friend bool operator==(const ConvolutionShape&, const ConvolutionShape&) = default;
};

/// What products are made of.
enum class ConvolutionFormat : std::uint8_t {
  kAuto,  ///< kF16, or kF32 where a group has so few channels that tensor cores have nothing to do
  kF16,   ///< two FP16 numbers for each FP32 one: 22 bits of what is within 2^14 of the largest of its image or filter
  kTf32,  ///< two TF32 numbers, half as fast: 22 bits of what is within 2^100 of the largest
  kF32,   ///< FP32 sums, without tensor cores
};
template <>
struct Names<ConvolutionFormat> {
  static constexpr std::string_view kAll[] = {"auto", "f16", "tf32", "f32"};
};

/// An immutable decision how to convolve. It depends on the shape and the format only, so a host and a device have the
/// same. Cheap to copy, safe to share among threads.
class KIZAMI_API ConvolutionPlan {
 public:
  [[nodiscard]] const ConvolutionShape& shape() const;
  [[nodiscard]] std::int64_t out_height() const;  ///< 0 if the dilated filter is larger than the padded image
  [[nodiscard]] std::int64_t out_width() const;
  [[nodiscard]] ConvolutionFormat format() const;     ///< never kAuto
  [[nodiscard]] std::string_view form() const;        ///< the kernel
  [[nodiscard]] std::size_t workspace_bytes() const;  ///< of kizami::cuda::convolve()
  [[nodiscard]] std::size_t filter_bytes() const;     ///< of prepared filters; 0 for kF32
  /// |y - conv(x, w)| <= bound() conv(|x|, |w|) + floor() (max|x| sum|w| + max|w| sum|x|) for alpha = 1, beta = 0, barring
  /// underflow and overflow of FP32: max|x| over the finite elements of the image, max|w| over those of the filter, sums
  /// over the window and the filter.
  [[nodiscard]] double bound() const;
  [[nodiscard]] double floor() const;
  /// The plan in words, one fact a line.
  [[nodiscard]] std::string explain() const;

  [[nodiscard]] const convolution::Plan& impl() const { return *impl_; }
  explicit ConvolutionPlan(std::shared_ptr<const convolution::Plan> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const convolution::Plan> impl_;
};

/// @status kInvalidArgument: names the field that breaks its range; kUnsupported: the shape is too large for the format
KIZAMI_API Result<ConvolutionPlan> make_convolution_plan(const ConvolutionShape& shape,
                                                         ConvolutionFormat format = ConvolutionFormat::kAuto);

/// Convolves on the host, on a software tensor core: slow, and to the bit what a device returns.
/// @shape  x, w, y as the shape says, in host memory; y overlaps neither
/// @status kInvalidArgument: a pointer is null whose array is not empty; kOutOfMemory
KIZAMI_API Status convolve(const ConvolutionPlan& plan, float alpha, const float* x, const float* w, float beta,
                           float* y);

}  // namespace kizami
