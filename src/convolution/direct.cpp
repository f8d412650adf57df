// SPDX-License-Identifier: MIT
#include "convolution/direct.hpp"

namespace kizami::convolution {

product::DirectConvolution direct_convolution(const Plan& plan, float alpha, const float* x, const float* weights,
                                              float beta, float* y) {
  const ConvolutionShape& s = plan.shape;
  const auto i32 = [](std::int64_t n) { return static_cast<std::int32_t>(n); };
  product::DirectConvolution task;
  task.h = {i32(s.height), i32(s.filter_height), i32(s.stride_h),
            i32(s.pad_h),  i32(s.dilation_h),    i32(plan.out_height)};
  task.w = {i32(s.width), i32(s.filter_width), i32(s.stride_w), i32(s.pad_w), i32(s.dilation_w), i32(plan.out_width)};
  task.images = s.images;
  task.groups = i32(s.groups);
  task.channels = i32(plan.group_channels());
  task.filters = i32(plan.group_filters());
  task.x_strides = plan.x_strides();
  task.w_strides = plan.w_strides();
  task.y_strides = plan.y_strides();
  task.x = x;
  task.weights = weights;
  task.y = y;
  task.alpha = alpha;
  task.beta = beta;
  return task;
}

}  // namespace kizami::convolution
