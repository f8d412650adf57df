// SPDX-License-Identifier: MIT
// Convolutions for tests: elements, and a reference in FP64 that knows nothing of planes.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "convolution/plan.hpp"
#include "kizami/convolution.hpp"

namespace kizami::convolution_test {

[[nodiscard]] inline std::string to_text(const ConvolutionShape& s) {
  const auto pair = [](std::int64_t h, std::int64_t w) { return std::to_string(h) + "x" + std::to_string(w); };
  return std::to_string(s.images) + " of " + pair(s.height, s.width) + "x" + std::to_string(s.channels) + ", " +
         std::to_string(s.filters) + " of " + pair(s.filter_height, s.filter_width) + ", stride " +
         pair(s.stride_h, s.stride_w) + ", pad " + pair(s.pad_h, s.pad_w) + ", dilation " +
         pair(s.dilation_h, s.dilation_w) + ", groups " + std::to_string(s.groups) + ", " +
         std::string(to_string(s.layout));
}

/// The plan of a convolution that has one.
[[nodiscard]] inline convolution::Plan made(const ConvolutionShape& s,
                                            ConvolutionFormat format = ConvolutionFormat::kAuto) {
  Result<convolution::Plan> plan = convolution::make_plan(s, format);
  EXPECT_TRUE(plan.ok()) << plan.status().reason();
  return std::move(plan).value();
}

/// Small extents that meet every edge: padding beyond the filter, strides beyond it, groups, one pixel.
[[nodiscard]] inline ConvolutionShape random_shape(std::mt19937_64& rng) {
  const auto in = [&rng](int least, int most) {
    return static_cast<std::int64_t>(least + static_cast<int>(rng() % static_cast<unsigned>(most - least + 1)));
  };
  ConvolutionShape s;
  s.images = in(1, 3);
  s.groups = rng() % 3 == 0 ? in(1, 3) : 1;
  s.channels = s.groups * in(1, rng() % 2 == 0 ? 70 : 9);
  s.filters = s.groups * in(1, rng() % 3 == 0 ? 140 : 20);
  s.height = in(1, 17);
  s.width = in(1, 17);
  s.filter_height = in(1, 5);
  s.filter_width = rng() % 2 == 0 ? 3 : in(1, 5);
  s.stride_h = rng() % 2 == 0 ? 1 : in(1, 4);
  s.stride_w = rng() % 2 == 0 ? 1 : in(1, 4);
  s.pad_h = in(0, 4);
  s.pad_w = in(0, 4);
  s.dilation_h = rng() % 2 == 0 ? 1 : in(1, 3);
  s.dilation_w = rng() % 2 == 0 ? 1 : in(1, 5);
  s.layout = rng() % 2 == 0 ? ImageLayout::kNhwc : ImageLayout::kNchw;
  return s;
}

/// Random signs and bits, exponents over `spread` binades below 2^top.
[[nodiscard]] inline std::vector<float> random_elements(std::int64_t count, std::mt19937_64& rng, int spread = 6,
                                                        int top = 0) {
  std::vector<float> x(static_cast<std::size_t>(count));
  for (float& element : x) {
    const int exponent = top - 1 - static_cast<int>(rng() % static_cast<unsigned>(spread));
    element = std::ldexp(1.0F + static_cast<float>(rng() & 0x7FFFFFU) * 0x1p-23F, exponent);
    if (rng() % 2 == 0) element = -element;
  }
  return x;
}

/// x, w and what y holds before.
struct Elements {
  std::vector<float> x;
  std::vector<float> w;
  std::vector<float> y;

  Elements(const convolution::Plan& plan, std::mt19937_64& rng, int spread = 6)
      : x(random_elements(plan.shape.images * plan.shape.channels * plan.shape.height * plan.shape.width, rng, spread)),
        w(random_elements(
            plan.shape.filters * plan.group_channels() * plan.shape.filter_height * plan.shape.filter_width, rng,
            spread)),
        y(random_elements(plan.num_outputs(), rng, spread)) {}
};

/// An output in FP64, and what its bound is made of.
struct Reference {
  double value = 0;
  double magnitude = 0;  ///< of conv(|x|, |w|)
  double sum_x = 0;      ///< |x| over the window
  double sum_w = 0;
};

/// Of output (image, k, p, q), straight from the definition; products of two FP32 numbers are exact in FP64, and some
/// thousand sums of them leave an error of 2^-41 of the magnitude.
[[nodiscard]] inline Reference reference_at(const ConvolutionShape& s, const Elements& e, std::int64_t image,
                                            std::int64_t k, std::int64_t p, std::int64_t q) {
  const std::int64_t channels = s.channels / s.groups;
  const std::int64_t group = k / (s.filters / s.groups);
  const bool is_nhwc = s.layout == ImageLayout::kNhwc;
  Reference found;
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t r = 0; r < s.filter_height; ++r) {
      for (std::int64_t t = 0; t < s.filter_width; ++t) {
        const std::int64_t row = p * s.stride_h + r * s.dilation_h - s.pad_h;
        const std::int64_t column = q * s.stride_w + t * s.dilation_w - s.pad_w;
        const std::int64_t of_w = is_nhwc ? ((k * s.filter_height + r) * s.filter_width + t) * channels + c
                                          : ((k * channels + c) * s.filter_height + r) * s.filter_width + t;
        const double weight = e.w[static_cast<std::size_t>(of_w)];
        double element = 0;
        if (row >= 0 && row < s.height && column >= 0 && column < s.width) {
          const std::int64_t channel = group * channels + c;
          const std::int64_t of_x = is_nhwc ? ((image * s.height + row) * s.width + column) * s.channels + channel
                                            : ((image * s.channels + channel) * s.height + row) * s.width + column;
          element = e.x[static_cast<std::size_t>(of_x)];
        }
        found.value += weight * element;
        found.magnitude += std::fabs(weight * element);
        found.sum_x += std::fabs(element);
        found.sum_w += std::fabs(weight);
      }
    }
  }
  return found;
}

/// Calls take(place in y, image, k, p, q) for every output.
template <class Take>
void for_outputs(const convolution::Plan& plan, const Take& take) {
  const convolution::TensorStrides at = plan.y_strides();
  for (std::int64_t n = 0; n < plan.shape.images; ++n) {
    for (std::int64_t k = 0; k < plan.shape.filters; ++k) {
      for (std::int64_t p = 0; p < plan.out_height; ++p) {
        for (std::int64_t q = 0; q < plan.out_width; ++q) {
          take(static_cast<std::size_t>(n * at.image + k * at.channel + p * at.row + q * at.column), n, k, p, q);
        }
      }
    }
  }
}

}  // namespace kizami::convolution_test
