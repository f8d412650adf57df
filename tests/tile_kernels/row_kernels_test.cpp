// SPDX-License-Identifier: MIT
// Row softmax, layer norm and prefix sums on the host, by their bounds.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "num/bounds.hpp"
#include "tile_kernels/layer_norm.hpp"
#include "tile_kernels/prefix_sum.hpp"
#include "tile_kernels/row_cases.hpp"
#include "tile_kernels/softmax.hpp"

namespace kizami::tile_kernels_test {
namespace {

/// Of exp of the C library, in units of u: less than one unit in the last place.
constexpr double kExpUnits = 2;

constexpr RowShape kRowShapes[] = {{1, 1}, {3, 31}, {8, 32}, {9, 33}, {2, 300}, {17, 5}};

TEST(SoftmaxRows, WithinItsBound) {
  for (const RowShape& s : kRowShapes) {
    const int stride = s.cols + 3;
    const std::vector<float> x = random_rows(s, stride, 5, 80);  // exp of the elements themselves would overflow
    std::vector<float> y(x.size(), -1.0F);
    ASSERT_TRUE(KIZAMI_TILE_LAUNCH((tile_kernels::softmax_rows_block<4, 32, false>),
                                   static_cast<unsigned>((s.rows + 3) / 4), nullptr, x.data(), stride, y.data(), stride,
                                   s.rows, s.cols)
                    .ok());
    expect_softmax(x, y, stride, s, kExpUnits);
  }
}

TEST(SoftmaxRows, SpecialValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {-kInf, 0, 0, -kInf, -kInf, -kInf, 1, std::nanf(""), 1, kInf, 1, 1};
  std::vector<float> y(12);
  ASSERT_TRUE(
      KIZAMI_TILE_LAUNCH((tile_kernels::softmax_rows_block<4, 32, false>), 1, nullptr, x.data(), 3, y.data(), 3, 4, 3)
          .ok());
  EXPECT_EQ(y[0], 0.0F);
  EXPECT_EQ(y[1], 0.5F);
  EXPECT_EQ(y[2], 0.5F);
  for (std::size_t i = 3; i < 12; ++i) {
    EXPECT_TRUE(std::isnan(y[i])) << i;
  }
}

TEST(LayerNormRows, WithinItsBound) {
  for (const RowShape& s : kRowShapes) {
    const int stride = s.cols + 1;
    const std::vector<float> x = random_rows(s, stride, 2, 1);
    const std::vector<float> weight = random_rows({1, s.cols}, s.cols, 1, 0);
    const std::vector<float> bias = random_rows({2, s.cols}, s.cols, 1, 0);
    constexpr float kEpsilon = 0x1p-10F;
    std::vector<float> y(x.size(), -1.0F);
    ASSERT_TRUE(KIZAMI_TILE_LAUNCH((tile_kernels::layer_norm_rows_block<4, 32, false>),
                                   static_cast<unsigned>((s.rows + 3) / 4), nullptr, x.data(), stride, weight.data(),
                                   bias.data(), y.data(), stride, s.rows, s.cols, kEpsilon)
                    .ok());
    expect_layer_norm(x, weight, bias, y, stride, s, kEpsilon);
  }
}

template <class T>
std::vector<T> prefix_sums(const std::vector<T>& x, int chunk) {
  const auto n = static_cast<int>(x.size());
  const auto num_chunks = static_cast<unsigned>((n + chunk - 1) / chunk);
  std::vector<T> totals(num_chunks);
  std::vector<T> y(x.size());
  const T* const none = nullptr;
  EXPECT_TRUE(KIZAMI_TILE_LAUNCH((tile_kernels::sum_chunks_block<T, 16>), num_chunks, nullptr, x.data(), totals.data(),
                                 n, chunk)
                  .ok());
  const int whole = static_cast<int>((num_chunks + 15) / 16 * 16);
  EXPECT_TRUE(KIZAMI_TILE_LAUNCH((tile_kernels::prefix_sum_chunks_block<T, 16, false>), 1, nullptr, totals.data(), none,
                                 totals.data(), static_cast<int>(num_chunks), whole)
                  .ok());
  EXPECT_TRUE(KIZAMI_TILE_LAUNCH((tile_kernels::prefix_sum_chunks_block<T, 16, true>), num_chunks, nullptr, x.data(),
                                 totals.data(), y.data(), n, chunk)
                  .ok());
  return y;
}

TEST(PrefixSum, IntegersExactly) {
  for (const int n : {1, 15, 16, 17, 64, 65, 1000}) {
    std::vector<std::int32_t> x(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = i * 7919 % 1001 - 500;
    const std::vector<std::int32_t> y = prefix_sums(x, 64);
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], sum += x[i]) << n << " at " << i;
  }
}

TEST(PrefixSum, FloatingPointWithinTheBoundOfAnyOrder) {
  const std::vector<float> x = random_rows({1, 777}, 777, 1, 0);
  const std::vector<float> y = prefix_sums(x, 48);
  long double sum = 0;
  long double magnitude = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += x[i];
    magnitude += std::fabs(x[i]);
    ASSERT_TRUE(std::fabs(static_cast<double>(y[i] - sum)) <=
                num::dot_bound(static_cast<std::int64_t>(i) + 1, kU) * static_cast<double>(magnitude) * num::kSlackUp)
        << i;
  }
}

}  // namespace
}  // namespace kizami::tile_kernels_test
