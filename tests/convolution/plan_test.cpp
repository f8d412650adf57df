// SPDX-License-Identifier: MIT
#include "convolution/plan.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "convolution/convolution_case.hpp"
#include "product/ec_convolution.hpp"

namespace kizami::convolution {
namespace {

using convolution_test::made;
using convolution_test::random_shape;
using convolution_test::to_text;
using product::ConvolutionAxis;

ConvolutionShape resnet(std::int64_t channels, std::int64_t size, std::int64_t stride = 1) {
  ConvolutionShape s;
  s.images = 64;
  s.channels = s.filters = channels;
  s.height = s.width = size;
  s.filter_height = s.filter_width = 3;
  s.stride_h = s.stride_w = stride;
  s.pad_h = s.pad_w = 1;
  return s;
}

TEST(ConvolutionPlanTest, OutputsAreThoseOfTheDefinition) {
  EXPECT_EQ(product::convolution_outputs(56, 3, 1, 1, 1), 56);
  EXPECT_EQ(product::convolution_outputs(56, 3, 2, 1, 1), 28);
  EXPECT_EQ(product::convolution_outputs(224, 7, 2, 3, 1), 112);
  EXPECT_EQ(product::convolution_outputs(5, 3, 1, 0, 2), 1);
  EXPECT_EQ(product::convolution_outputs(4, 3, 1, 0, 2), 0);
  EXPECT_EQ(product::convolution_outputs(0, 3, 1, 1, 1), 0);
  EXPECT_EQ(product::convolution_outputs(0, 1, 1, 1, 1), 2);
}

TEST(ConvolutionPlanTest, CellsOfAResnetLayerHaveOneZeroARow) {
  const Plan plan = made(resnet(64, 56));
  EXPECT_EQ(plan.product.h.cells(), 57);
  EXPECT_EQ(plan.product.w.cells(), 57);
  EXPECT_EQ(plan.product.h.num_planes(), 1);
  EXPECT_EQ(product::traits_of(plan.form).columns, 3);
  EXPECT_EQ(product::traits_of(plan.form).tile_i, 64);
  const Plan strided = made(resnet(128, 56, 2));
  EXPECT_EQ(strided.product.h.num_planes(), 2);
  EXPECT_EQ(strided.product.w.cells(), 29);
  EXPECT_EQ(product::traits_of(strided.form).columns, 1);
  EXPECT_EQ(product::traits_of(strided.form).tile_i, 128);
}

TEST(ConvolutionPlanTest, EveryTapOfEveryOutputMeetsItsPixelOrAZero) {
  std::mt19937_64 rng(3);
  for (int round = 0; round < 20000; ++round) {
    const ConvolutionShape s = random_shape(rng);
    const std::int64_t outputs =
        product::convolution_outputs(s.width, s.filter_width, s.stride_w, s.pad_w, s.dilation_w);
    if (outputs == 0) continue;
    const auto i32 = [](std::int64_t x) { return static_cast<std::int32_t>(x); };
    const ConvolutionAxis axis{i32(s.width), i32(s.filter_width), i32(s.stride_w),
                               i32(s.pad_w), i32(s.dilation_w),   i32(outputs)};
    const auto cells = i32(axis.cells());
    for (std::int32_t tap = 0; tap < axis.filter; ++tap) {
      const std::int32_t plane = axis.plane_of(tap);
      ASSERT_GE(plane, 0) << to_text(s);
      ASSERT_LT(plane, axis.num_planes()) << to_text(s);
      for (std::int32_t q = 0; q < axis.outputs; ++q) {
        const std::int32_t wanted = q * axis.stride + tap * axis.dilation - axis.pad;
        const std::int32_t cell = q + axis.offset_of(tap);
        const bool is_pixel = wanted >= 0 && wanted < axis.extent;
        ASSERT_LT(cell, cells) << to_text(s);
        // A shift to the left of a row is a cell at the end of the row before, or of ours where rows are alike.
        ASSERT_GE(cell, -cells) << to_text(s);
        const std::int32_t found = axis.input_of(plane, cell < 0 ? cell + cells : cell);
        if (is_pixel) {
          ASSERT_GE(cell, 0) << to_text(s);
          ASSERT_EQ(found, wanted) << to_text(s);
        } else {
          ASSERT_TRUE(found < 0 || found >= axis.extent) << to_text(s) << ": tap " << tap << " of output " << q;
        }
      }
    }
  }
}

TEST(ConvolutionPlanTest, PlansSayWhichKernelAndWhy) {
  ConvolutionShape depthwise = resnet(64, 56);
  depthwise.groups = 64;
  const Plan thin = made(depthwise);
  EXPECT_EQ(thin.format, ConvolutionFormat::kF32);
  EXPECT_NE(explain(thin).find("1 channels and 1 filters"), std::string::npos) << explain(thin);
  EXPECT_EQ(thin.workspace_bytes, 0U);
  EXPECT_EQ(made(depthwise, ConvolutionFormat::kF16).format, ConvolutionFormat::kF16);
  const Plan f16 = made(resnet(256, 14));
  EXPECT_EQ(f16.format, ConvolutionFormat::kF16);
  EXPECT_NE(explain(f16).find(product::traits_of(f16.form).name), std::string::npos) << explain(f16);
  ConvolutionShape far = resnet(256, 14);
  far.dilation_w = 5;
  far.pad_w = 5;
  EXPECT_EQ(product::traits_of(made(far).form).columns, 1);
  EXPECT_FALSE(make_plan(far, ConvolutionFormat::kF16, product::EcConvolutionForm::kThreeColumns128x128).ok());
}

TEST(ConvolutionPlanTest, FormsAreThoseThatWereMeasuredToBeFastest) {
  // lab/results/h200/convolution.jsonl, who = product, commit 0855c14 (NCHW: 08c3ef8).
  using Form = product::EcConvolutionForm;
  const struct {
    std::int64_t channels, size, stride;
    Form form;
  } layers[] = {{64, 56, 1, Form::kThreeColumns64x208},   {128, 28, 1, Form::kThreeColumns128x104},
                {256, 14, 1, Form::kThreeColumns128x112}, {512, 7, 1, Form::kThreeColumns64x256},
                {128, 56, 2, Form::kOneColumn128x104},    {256, 28, 2, Form::kOneColumn128x112},
                {512, 14, 2, Form::kOneColumn128x128}};
  for (const auto& layer : layers) {
    EXPECT_EQ(product::traits_of(made(resnet(layer.channels, layer.size, layer.stride)).form).name,
              product::traits_of(layer.form).name)
        << layer.channels;
  }
  ConvolutionShape apart = resnet(64, 56);
  apart.layout = ImageLayout::kNchw;
  EXPECT_EQ(product::traits_of(made(apart).form).name, "three_columns_64x128");
}

TEST(ConvolutionPlanTest, BoundsAreBetterThanThoseOfFp32) {
  for (const auto& [channels, size] : {std::pair{64, 56}, {128, 28}, {256, 14}, {512, 7}}) {
    const ConvolutionShape s = resnet(channels, size);
    const double fp32 = made(s, ConvolutionFormat::kF32).bound;
    EXPECT_LT(made(s, ConvolutionFormat::kF16).bound, fp32 / 4) << channels;
    EXPECT_LT(made(s, ConvolutionFormat::kTf32).bound, fp32 / 4) << channels;
    EXPECT_GT(made(s, ConvolutionFormat::kF16).bound, 0x1p-24) << channels;
  }
}

TEST(ConvolutionPlanTest, EmptyShapesArePlanned) {
  ConvolutionShape none = resnet(64, 56);
  none.images = 0;
  EXPECT_EQ(made(none, ConvolutionFormat::kF16).format, ConvolutionFormat::kF32);
  ConvolutionShape small = resnet(64, 1);
  small.pad_h = small.pad_w = 0;
  EXPECT_EQ(made(small).out_height, 0);
  ConvolutionShape deaf = resnet(64, 5);
  deaf.channels = 0;
  EXPECT_EQ(made(deaf).bound, 0);
}

TEST(ConvolutionPlanTest, RefusalsNameFieldValueAndLimit) {
  const auto reason = [](ConvolutionShape s) {
    const Result<Plan> plan = make_plan(s, ConvolutionFormat::kAuto);
    EXPECT_FALSE(plan.ok());
    EXPECT_EQ(plan.status().code(), StatusCode::kInvalidArgument);
    return plan.ok() ? std::string() : plan.status().reason();
  };
  ConvolutionShape s = resnet(64, 56);
  s.stride_w = 0;
  EXPECT_EQ(reason(s), "stride_w = 0, must be at least 1 and below 2^31");
  s = resnet(64, 56);
  s.pad_h = -1;
  EXPECT_EQ(reason(s), "pad_h = -1, must be at least 0 and below 2^31");
  s = resnet(64, 56);
  s.groups = 3;
  EXPECT_EQ(reason(s), "groups = 3, must be a divisor of channels = 64");
  s = resnet(64, 56);
  s.filters = 66;
  s.groups = 4;
  EXPECT_EQ(reason(s), "groups = 4, must be a divisor of filters = 66");
  s = resnet(64, 56);
  s.dilation_h = std::int64_t{1} << 30;
  EXPECT_NE(reason(s).find("dilated filter_height"), std::string::npos);
  s = resnet(64, 56);
  s.images = s.height = s.width = (std::int64_t{1} << 31) - 1000;
  EXPECT_EQ(reason(s), "x has 2^48 elements or more");
}

TEST(ConvolutionPlanTest, LargeShapesAreRefusedOrAnsweredInFp32) {
  ConvolutionShape s = resnet(64, 56);
  s.images = 1 << 20;  // 2^20 57^2 cells
  const Result<Plan> split = make_plan(s, ConvolutionFormat::kF16);
  ASSERT_FALSE(split.ok());
  EXPECT_EQ(split.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(split.status().reason().find("2^30"), std::string::npos);
  EXPECT_EQ(made(s).format, ConvolutionFormat::kF32);
}

}  // namespace
}  // namespace kizami::convolution
