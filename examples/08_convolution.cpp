// SPDX-License-Identifier: MIT
// A convolution of FP32 images whose error is bounded, on a software tensor core: what kizami::cuda::convolve() returns on
// a Hopper GPU, bit for bit.
//   y(n, k, p, q) = sum over c, r, s of w(k, c, r, s) x(n, c, p + r - 1, q + s - 1)
// Every output is compared with the same sum in FP64 and with the bound that the plan states for it.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "kizami/convolution.hpp"

namespace {

constexpr std::int64_t kSize = 12, kChannels = 48, kFilters = 16;

std::size_t pixel(std::int64_t row, std::int64_t column) {
  return static_cast<std::size_t>((row * kSize + column) * kChannels);
}

}  // namespace

int main() {
  kizami::ConvolutionShape shape;
  shape.images = 1;
  shape.channels = kChannels;
  shape.height = shape.width = kSize;
  shape.filters = kFilters;
  shape.filter_height = shape.filter_width = 3;
  shape.pad_h = shape.pad_w = 1;
  const kizami::Result<kizami::ConvolutionPlan> made = kizami::make_convolution_plan(shape);
  if (!made.ok()) {
    std::printf("refused: %s\n", made.status().reason().c_str());
    return 1;
  }
  const kizami::ConvolutionPlan& plan = made.value();
  std::printf("%s\n", plan.explain().c_str());

  std::vector<float> x(static_cast<std::size_t>(kSize * kSize * kChannels));
  std::vector<float> w(static_cast<std::size_t>(kFilters * 9 * kChannels));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7919) % 1009) / 1009 - 0.5F;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>((i * 104729) % 997) / 997 - 0.5F;
  std::vector<float> y(static_cast<std::size_t>(kSize * kSize * kFilters));
  const kizami::Status status = kizami::convolve(plan, 1.0F, x.data(), w.data(), 0.0F, y.data());
  if (!status.ok()) {
    std::printf("refused: %s\n", status.reason().c_str());
    return 1;
  }

  double largest = 0;  // error, in units of the bound
  for (std::int64_t p = 0; p < kSize; ++p) {
    for (std::int64_t q = 0; q < kSize; ++q) {
      for (std::int64_t k = 0; k < kFilters; ++k) {
        double sum = 0, magnitude = 0, sum_x = 0, sum_w = 0;
        for (std::int64_t tap = 0; tap < 9; ++tap) {
          const std::int64_t row = p + tap / 3 - 1, column = q + tap % 3 - 1;
          const bool is_inside = row >= 0 && row < kSize && column >= 0 && column < kSize;
          for (std::int64_t c = 0; c < kChannels; ++c) {
            const double weight = w[static_cast<std::size_t>((k * 9 + tap) * kChannels + c)];
            const double element = is_inside ? x[pixel(row, column) + static_cast<std::size_t>(c)] : 0.0F;
            sum += weight * element;
            magnitude += std::fabs(weight * element);
            sum_x += std::fabs(element);
            sum_w += std::fabs(weight);
          }
        }
        // No element here is larger than 0.5.
        const double bound = plan.bound() * magnitude + plan.floor() * 0.5 * (sum_x + sum_w);
        const double error = std::fabs(y[static_cast<std::size_t>((p * kSize + q) * kFilters + k)] - sum);
        largest = std::max(largest, error / bound);
      }
    }
  }
  std::printf("largest error: %.3f of its bound\n", largest);
  return largest <= 1 ? 0 : 1;
}
