// SPDX-License-Identifier: MIT
// Judges of row softmax and layer norm: rows of results against long double, by bounds of first order.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "num/bounds.hpp"

namespace kizami::tile_kernels_test {

inline constexpr double kU = num::unit_roundoff(Scalar::kF32);
/// What bounds of first order leave out: terms of u times those kept, which stay below 2^-10.
inline constexpr double kHigherOrder = 1 + 0x1p-10;

struct RowShape {
  int rows, cols;
};

inline std::vector<float> random_rows(const RowShape& s, int stride, double scale, double shift) {
  std::mt19937 random(static_cast<unsigned>(s.rows * 1000 + s.cols));
  std::normal_distribution<double> normal;
  std::vector<float> x(static_cast<std::size_t>(s.rows * stride));
  for (float& v : x) v = static_cast<float>(shift + scale * normal(random));
  return x;
}

/// y = softmax of the rows of x; elements of y between the rows are -1. exp_units: the error of exp in units of u
inline void expect_softmax(const std::vector<float>& x, const std::vector<float>& y, int stride, const RowShape& s,
                           double exp_units) {
  for (int i = 0; i < s.rows; ++i) {
    const float* const row = x.data() + i * stride;
    long double highest = row[0];
    for (int j = 1; j < s.cols; ++j) highest = std::max<long double>(highest, row[j]);
    long double total = 0;
    double deepest = 0;
    for (int j = 0; j < s.cols; ++j) {
      total += std::exp(row[j] - highest);
      deepest = std::max(deepest, static_cast<double>(highest - row[j]));
    }
    for (int j = 0; j < s.cols; ++j) {
      const long double exact = std::exp(row[j] - highest) / total;
      const double units = static_cast<double>(highest - row[j]) + deepest + 2 * exp_units + s.cols + 2;
      const double bound =
          units * kU * static_cast<double>(exact) * kHigherOrder + std::numeric_limits<float>::denorm_min();
      const double error = std::fabs(static_cast<double>(y[static_cast<std::size_t>(i * stride + j)] - exact));
      ASSERT_TRUE(error <= bound) << s.rows << " x " << s.cols << " at " << i << ", " << j << ": " << error << " > "
                                  << bound;
    }
    for (int j = s.cols; j < stride; ++j) ASSERT_EQ(y[static_cast<std::size_t>(i * stride + j)], -1.0F) << "padding";
  }
}

/// y = layer norm of the rows of x; elements of y between the rows are -1.
inline void expect_layer_norm(const std::vector<float>& x, const std::vector<float>& weight,
                              const std::vector<float>& bias, const std::vector<float>& y, int stride,
                              const RowShape& s, float epsilon) {
  for (int i = 0; i < s.rows; ++i) {
    const float* const row = x.data() + i * stride;
    long double mean = 0;
    long double magnitude = 0;
    for (int j = 0; j < s.cols; ++j) {
      mean += row[j];
      magnitude += std::fabs(row[j]);
    }
    mean /= s.cols;
    magnitude /= s.cols;
    long double variance = 0;
    for (int j = 0; j < s.cols; ++j) variance += (row[j] - mean) * (row[j] - mean);
    variance /= s.cols;
    // The mean errs by d <= (n + 1) u mean|x|; the mean square of x - mean - d is variance + d^2, and n + 5 roundings
    // of u follow in it; the root errs by half of that, relative.
    const double d = (s.cols + 1) * kU * static_cast<double>(magnitude);
    const double sum = static_cast<double>(variance) + epsilon;
    const double of_variance = (d * d + (s.cols + 5) * kU * (static_cast<double>(variance) + d * d)) / sum;
    const double root = std::sqrt(sum);
    for (int j = 0; j < s.cols; ++j) {
      const double w = weight[static_cast<std::size_t>(j)];
      const double b = bias[static_cast<std::size_t>(j)];
      const double difference = static_cast<double>(row[j] - mean);
      const double exact = difference / root * w + b;
      const double bound = ((std::fabs(difference) * (of_variance / 2 + 5 * kU) + d) / root * std::fabs(w) +
                            kU * (std::fabs(exact) + std::fabs(b))) *
                           kHigherOrder;
      const double error = std::fabs(y[static_cast<std::size_t>(i * stride + j)] - exact);
      ASSERT_TRUE(error <= bound) << s.rows << " x " << s.cols << " at " << i << ", " << j << ": " << error << " > "
                                  << bound;
    }
    for (int j = s.cols; j < stride; ++j) ASSERT_EQ(y[static_cast<std::size_t>(i * stride + j)], -1.0F) << "padding";
  }
}

}  // namespace kizami::tile_kernels_test
