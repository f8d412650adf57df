// SPDX-License-Identifier: MIT
// A planned convolution: geometry, form, bound, and where things lie in its workspace. It depends on no element and on no
// device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/carver.hpp"
#include "kizami/convolution.hpp"
#include "kizami/host_device.hpp"
#include "kizami/status.hpp"
#include "product/direct_convolution.hpp"
#include "product/ec_convolution.hpp"

namespace kizami::convolution {

using product::TensorStrides;

struct Plan {
  ConvolutionShape shape;
  std::int64_t out_height = 0;
  std::int64_t out_width = 0;
  ConvolutionFormat format = ConvolutionFormat::kF32;
  std::string reason;  ///< why tensor cores are not taken, where the format was kAuto
  double bound = 0;
  double floor = 0;
  std::size_t workspace_bytes = 0;
  std::size_t filter_bytes = 0;

  // kF16 and kTf32
  product::EcConvolution product;  ///< without pointers
  product::EcConvolutionForm form = product::EcConvolutionForm::kOneColumn128x128;

  [[nodiscard]] bool is_split() const { return format != ConvolutionFormat::kF32; }
  [[nodiscard]] std::int64_t group_channels() const { return shape.channels / shape.groups; }
  [[nodiscard]] std::int64_t group_filters() const { return shape.filters / shape.groups; }
  [[nodiscard]] std::int64_t num_outputs() const { return shape.images * shape.filters * out_height * out_width; }
  [[nodiscard]] TensorStrides x_strides() const;
  [[nodiscard]] TensorStrides w_strides() const;
  [[nodiscard]] TensorStrides y_strides() const;
};

/// What kizami::make_convolution_plan() says.
[[nodiscard]] Result<Plan> make_plan(const ConvolutionShape& shape, ConvolutionFormat format);
/// The same with a form of the caller's, for tests and benchmarks. @status kUnsupported: the form does not take the shape
[[nodiscard]] Result<Plan> make_plan(const ConvolutionShape& shape, ConvolutionFormat format,
                                     product::EcConvolutionForm form);

/// The scale of an image, from exact ones (ec::ec_scale()) of all its elements and of a sample of them. A split that
/// begins with the scale of the sample, less kSampleMargin, reads the image once, and again only where that overflows.
inline constexpr int kSampleMargin = 3;  ///< binades: what is lost below, and by what an image may exceed its sample
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::int32_t image_scale(std::int32_t of_all, bool has_sample,
                                                                    std::int32_t of_sample) {
  return has_sample && of_sample - kSampleMargin <= of_all ? of_sample - kSampleMargin : of_all;
}
/// Pixels of the sample: about 4096 elements, spread over the image, of all channels. None of an image of which planes do
/// not hold every pixel.
[[nodiscard]] std::int64_t sample_pixels(const Plan& plan);
/// Pixel i of a sample. @range 0 <= i < num_sampled <= num_pixels
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::int64_t sampled_pixel(std::int64_t i, std::int64_t num_sampled,
                                                                      std::int64_t num_pixels) {
  return (2 * i + 1) * num_pixels / (2 * num_sampled);
}

/// Split filters. @shape as product::EcConvolution
struct FilterBuffers {
  std::int8_t* planes = nullptr;
  std::int32_t* scales = nullptr;
};
/// Split images.
struct ImageBuffers {
  std::int8_t* planes = nullptr;
  std::int32_t* scales = nullptr;
  std::int32_t* has_nonfinite = nullptr;  ///< [images]: 1 if an element is NaN or Inf
};
/// @range carver's memory begins on 128 bytes, and all that it gave before was a multiple of that
[[nodiscard]] FilterBuffers carve_filters(const Plan& plan, base::Carver& carver);
[[nodiscard]] ImageBuffers carve_images(const Plan& plan, base::Carver& carver);

[[nodiscard]] std::string explain(const Plan& plan);

}  // namespace kizami::convolution
