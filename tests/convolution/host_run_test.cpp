// SPDX-License-Identifier: MIT
// Convolutions on the host, which have the planes, cells and sums of the device, against the definition in FP64: every
// element within the bound of its plan.
#include "convolution/host_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "convolution/convolution_case.hpp"
#include "convolution/host_planes.hpp"
#include "kizami/convolution.hpp"
#include "tests/sanitized.hpp"

namespace kizami::convolution {
namespace {

using convolution_test::Elements;
using convolution_test::for_outputs;
using convolution_test::made;
using convolution_test::random_shape;
using convolution_test::Reference;
using convolution_test::reference_at;
using convolution_test::to_text;

double largest(const float* x, std::int64_t count) {
  double found = 0;
  for (std::int64_t i = 0; i < count; ++i) found = std::max(found, std::fabs(static_cast<double>(x[i])));
  return found;
}

/// The largest error of alpha = 1, beta = 0 in units of the bound.
double worst_of(const Plan& plan, const Elements& e, const std::vector<float>& y) {
  const ConvolutionShape& s = plan.shape;
  const std::int64_t of_image = s.channels * s.height * s.width;
  const std::int64_t of_filter = plan.group_channels() * s.filter_height * s.filter_width;
  double worst = 0;
  for_outputs(plan, [&](std::size_t at, std::int64_t n, std::int64_t k, std::int64_t p, std::int64_t q) {
    const Reference exact = reference_at(s, e, n, k, p, q);
    const double floor = plan.floor * (largest(e.x.data() + n * of_image, of_image) * exact.sum_w +
                                       largest(e.w.data() + k * of_filter, of_filter) * exact.sum_x);
    const double bound = plan.bound * exact.magnitude + floor;
    const double error = std::fabs(y[at] - exact.value);
    if (!(error <= bound)) {
      ADD_FAILURE() << to_text(s) << ": y(" << n << ", " << k << ", " << p << ", " << q << ") = " << y[at] << ", exact "
                    << exact.value << ", bound " << bound;
    }
    if (bound > 0) worst = std::max(worst, error / bound);
  });
  return worst;
}

TEST(ConvolutionHostTest, EveryElementIsWithinTheBound) {
  std::mt19937_64 rng(7);
  double worst = 0;
  for (int round = 0; round < (tests::kIsSanitized ? 12 : 60) && !HasFailure(); ++round) {
    const ConvolutionShape s = random_shape(rng);
    for (const ConvolutionFormat format :
         {ConvolutionFormat::kF16, ConvolutionFormat::kTf32, ConvolutionFormat::kF32}) {
      const Plan plan = made(s, format);
      Elements e(plan, rng, round % 4 == 0 ? 30 : 6);
      const Status status = run_on_host(plan, 1, e.x.data(), e.w.data(), 0, e.y.data());
      ASSERT_TRUE(status.ok()) << status.reason();
      worst = std::max(worst, worst_of(plan, e, e.y));
    }
  }
  EXPECT_GT(worst, 0) << "nothing was rounded";
}

TEST(ConvolutionHostTest, FormsDifferInOrderOnly) {
  ConvolutionShape s;
  s.images = 2;
  s.channels = 40;
  s.filters = 10;
  s.height = 7;
  s.width = 9;
  s.filter_height = s.filter_width = 3;
  s.pad_h = s.pad_w = 1;
  std::mt19937_64 rng(8);
  std::vector<std::vector<float>> found;
  for (const product::EcConvolutionFormTraits& traits : product::kEcConvolutionForms) {
    Result<Plan> plan = make_plan(s, ConvolutionFormat::kF16, traits.form);
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    rng.seed(9);
    Elements e(plan.value(), rng);
    ASSERT_TRUE(run_on_host(plan.value(), 1, e.x.data(), e.w.data(), 0, e.y.data()).ok());
    worst_of(plan.value(), e, e.y);
    found.push_back(e.y);
  }
  std::vector<float> of_columns[2];
  for (const product::EcConvolutionFormTraits& traits : product::kEcConvolutionForms) {
    std::vector<float>& first = of_columns[traits.columns == 1 ? 0 : 1];
    const std::vector<float>& y = found[static_cast<std::size_t>(traits.form)];
    if (first.empty()) first = y;
    EXPECT_EQ(first, y) << traits.name;
  }
  EXPECT_NE(of_columns[0], of_columns[1]) << "64 and 96 elements in the tensor core";
}

TEST(ConvolutionHostTest, LayoutAndBatchChangeNoBit) {
  ConvolutionShape s;
  s.images = 3;
  s.channels = 36;
  s.filters = 8;
  s.height = 6;
  s.width = 5;
  s.filter_height = s.filter_width = 3;
  s.pad_h = s.pad_w = 1;
  s.groups = 2;
  std::mt19937_64 rng(14);
  const Plan nhwc = made(s, ConvolutionFormat::kF16);
  s.layout = ImageLayout::kNchw;
  const Plan nchw = made(s, ConvolutionFormat::kF16);
  s.images = 1;
  const Plan single = made(s, ConvolutionFormat::kF16);
  const Elements e(nhwc, rng);
  const auto moved = [](const std::vector<float>& from, std::int64_t outer, std::int64_t channels,
                        std::int64_t pixels) {
    std::vector<float> to(from.size());
    for (std::int64_t n = 0; n < outer; ++n) {
      for (std::int64_t i = 0; i < pixels; ++i) {
        for (std::int64_t c = 0; c < channels; ++c)
          to[static_cast<std::size_t>((n * channels + c) * pixels + i)] =
              from[static_cast<std::size_t>((n * pixels + i) * channels + c)];
      }
    }
    return to;
  };
  const std::vector<float> x = moved(e.x, 3, 36, 30);
  const std::vector<float> w = moved(e.w, 8, 18, 9);
  std::vector<float> of_nhwc = e.y;
  std::vector<float> of_nchw = e.y;
  std::vector<float> of_last(8 * 30);
  ASSERT_TRUE(run_on_host(nhwc, 1, e.x.data(), e.w.data(), 0, of_nhwc.data()).ok());
  ASSERT_TRUE(run_on_host(nchw, 1, x.data(), w.data(), 0, of_nchw.data()).ok());
  ASSERT_TRUE(run_on_host(single, 1, x.data() + 2 * 36 * 30, w.data(), 0, of_last.data()).ok());
  EXPECT_EQ(moved(of_nhwc, 3, 8, 30), of_nchw);
  EXPECT_TRUE(std::equal(of_last.begin(), of_last.end(), of_nchw.end() - 8 * 30));
}

TEST(ConvolutionHostTest, AlphaAndBetaAreThoseOfBlas) {
  ConvolutionShape s;
  s.images = 1;
  s.channels = 33;
  s.filters = 5;
  s.height = s.width = 6;
  s.filter_height = s.filter_width = 3;
  std::mt19937_64 rng(10);
  for (const ConvolutionFormat format : {ConvolutionFormat::kF16, ConvolutionFormat::kF32}) {
    const Plan plan = made(s, format);
    const Elements e(plan, rng);
    std::vector<float> one = e.y;
    ASSERT_TRUE(run_on_host(plan, 1, e.x.data(), e.w.data(), 0, one.data()).ok());
    std::vector<float> y = e.y;
    ASSERT_TRUE(run_on_host(plan, -3, e.x.data(), e.w.data(), 0.5F, y.data()).ok());
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], std::fma(0.5F, e.y[i], -3.0F * one[i])) << i;
    std::vector<float> unread(e.y.size(), std::numeric_limits<float>::quiet_NaN());
    ASSERT_TRUE(run_on_host(plan, 1, e.x.data(), e.w.data(), 0, unread.data()).ok());
    EXPECT_EQ(unread, one);
    y = e.y;
    ASSERT_TRUE(run_on_host(plan, 0, nullptr, nullptr, 2, y.data()).ok());
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], 2 * e.y[i]);
  }
}

TEST(ConvolutionHostTest, ScalesReachAllOfFp32) {
  ConvolutionShape s;
  s.images = 1;
  s.channels = 8;
  s.filters = 8;
  s.height = s.width = 4;
  s.filter_height = s.filter_width = 2;
  std::mt19937_64 rng(11);
  const Plan plan = made(s, ConvolutionFormat::kF16);
  for (const auto& [of_x, of_w] : {std::pair{-140, 120}, {-100, 100}, {60, -60}, {126, -126}}) {
    Elements e(plan, rng);
    for (float& x : e.x) x = std::ldexp(x, of_x);
    for (float& w : e.w) w = std::ldexp(w, of_w);
    ASSERT_TRUE(run_on_host(plan, 1, e.x.data(), e.w.data(), 0, e.y.data()).ok());
    EXPECT_LE(worst_of(plan, e, e.y), 1) << of_x;
  }
}

TEST(ConvolutionHostTest, ImagesHaveTheScaleOfTheirSampleUnlessItOverflows) {
  ConvolutionShape s;
  s.images = 5;
  s.channels = 512;
  s.filters = 4;
  s.height = s.width = 6;
  s.filter_height = s.filter_width = 3;
  const Plan plan = made(s, ConvolutionFormat::kF16);
  ASSERT_EQ(sample_pixels(plan), 8);
  std::mt19937_64 rng(15);
  Elements e(plan, rng, 1);  // magnitudes of 0.5 to 1
  float* const x = e.x.data();
  const std::int64_t of_image = 36 * 512;
  const auto pixel = [&](std::int64_t image, std::int64_t i) { return x + image * of_image + i * 512; };
  bool is_sampled[36] = {};
  for (std::int64_t i = 0; i < 8; ++i) is_sampled[sampled_pixel(i, 8, 36)] = true;
  const std::int64_t other = std::find(is_sampled, is_sampled + 36, false) - is_sampled;
  *pixel(1, other) = 7.5F;  // three binades above: what the sample leaves room for
  *pixel(2, other) = 8.0F;
  for (std::int64_t i = 0; i < 36; ++i) {
    if (is_sampled[i]) std::fill_n(pixel(3, i), 512, 0.0F);
  }
  std::fill_n(pixel(4, 0), of_image, 0.0F);
  // The largest element of a sample is in the binade of 2^11, of an image in that of 2^14.
  EXPECT_EQ(split_images_on_host(plan, x).scales, (std::vector<std::int32_t>{12, 12, 11, 15, 0}));
  ASSERT_TRUE(run_on_host(plan, 1, x, e.w.data(), 0, e.y.data()).ok());
  EXPECT_LE(worst_of(plan, e, e.y), 1);
}

TEST(ConvolutionHostTest, NanAndInfReachTheirWindowsAlone) {
  ConvolutionShape s;
  s.images = 2;
  s.channels = 40;
  s.filters = 6;
  s.height = s.width = 8;
  s.filter_height = s.filter_width = 3;
  s.pad_h = s.pad_w = 1;
  std::mt19937_64 rng(12);
  const Plan plan = made(s, ConvolutionFormat::kF16);
  Elements e(plan, rng);
  std::vector<float> clean = e.y;
  ASSERT_TRUE(run_on_host(plan, 1, e.x.data(), e.w.data(), 0, clean.data()).ok());
  // Image 1, row 4, column 5, channel 3; weight (filter 2, 0, 0, 7).
  e.x[static_cast<std::size_t>(((8 + 4) * 8 + 5) * 40 + 3)] = std::numeric_limits<float>::infinity();
  e.w[static_cast<std::size_t>(2 * 9 * 40 + 7)] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> y = e.y;
  ASSERT_TRUE(run_on_host(plan, 1, e.x.data(), e.w.data(), 0, y.data()).ok());
  for_outputs(plan, [&](std::size_t at, std::int64_t n, std::int64_t k, std::int64_t p, std::int64_t q) {
    const double exact = reference_at(s, e, n, k, p, q).value;
    const bool is_reached = n == 1 && std::abs(p - 4) <= 1 && std::abs(q - 5) <= 1;
    if (k == 2) {
      EXPECT_TRUE(std::isnan(y[at]));  // the padding is multiplied, too
    } else if (is_reached) {
      EXPECT_EQ(y[at], static_cast<float>(exact)) << "an infinity of that sign";
      EXPECT_TRUE(std::isinf(y[at]));
    } else if (n == 0) {
      EXPECT_EQ(y[at], clean[at]);
    } else {
      EXPECT_TRUE(std::isfinite(y[at]));
    }
  });
}

TEST(ConvolutionHostTest, PublicFunctionsAreThese) {
  ConvolutionShape s;
  s.images = 1;
  s.channels = 16;
  s.filters = 4;
  s.height = s.width = 5;
  s.filter_height = s.filter_width = 3;
  const Result<ConvolutionPlan> plan = make_convolution_plan(s);
  ASSERT_TRUE(plan.ok()) << plan.status().reason();
  EXPECT_EQ(plan.value().out_height(), 3);
  EXPECT_EQ(plan.value().form().substr(0, 16), "three_columns_64");
  EXPECT_EQ(plan.value().format(), ConvolutionFormat::kF16);
  std::mt19937_64 rng(13);
  Elements e(plan.value().impl(), rng);
  EXPECT_EQ(convolve(plan.value(), 1, nullptr, e.w.data(), 0, e.y.data()).reason(), "x is null");
  EXPECT_EQ(convolve(plan.value(), 1, e.x.data(), nullptr, 0, e.y.data()).reason(), "w is null");
  EXPECT_EQ(convolve(plan.value(), 1, e.x.data(), e.w.data(), 0, nullptr).reason(), "y is null");
  ASSERT_TRUE(convolve(plan.value(), 1, e.x.data(), e.w.data(), 0, e.y.data()).ok());
  worst_of(plan.value().impl(), e, e.y);
}

}  // namespace
}  // namespace kizami::convolution
