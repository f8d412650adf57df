// SPDX-License-Identifier: MIT
#include "convolution/plan.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/int_math.hpp"
#include "product/ec_planes.hpp"

namespace kizami::convolution {
namespace {

using base::ceil_div;
using product::EcFormat;

constexpr std::int64_t kExtentLimit = std::int64_t{1} << 31;
constexpr std::int64_t kElementLimit = std::int64_t{1} << 48;  // of one tensor, so that offsets cannot wrap
constexpr std::int64_t kMapLimit = std::int64_t{1} << 30;      // of what a coordinate of a tensor map counts

std::string wrong(const std::string& name, std::int64_t value, const std::string& limit) {
  return name + " = " + std::to_string(value) + ", must be " + limit;
}

/// The product of extents, or nothing where it reaches kElementLimit. @range extents >= 0
template <class... Extents>
std::optional<std::int64_t> elements(Extents... extents) {
  std::int64_t product = 1;
  bool fits = true;
  const bool is_empty = ((extents == 0) || ...);
  if (is_empty) return 0;
  ((fits = fits && product <= kElementLimit / extents, product = fits ? product * extents : 1), ...);
  return fits ? std::optional(product) : std::nullopt;
}

std::optional<std::string> why_refused(const ConvolutionShape& s) {
  const struct {
    const char* name;
    std::int64_t value;
    std::int64_t least;
  } fields[] = {{"images", s.images, 0},
                {"channels", s.channels, 0},
                {"height", s.height, 0},
                {"width", s.width, 0},
                {"filters", s.filters, 0},
                {"filter_height", s.filter_height, 1},
                {"filter_width", s.filter_width, 1},
                {"stride_h", s.stride_h, 1},
                {"stride_w", s.stride_w, 1},
                {"pad_h", s.pad_h, 0},
                {"pad_w", s.pad_w, 0},
                {"dilation_h", s.dilation_h, 1},
                {"dilation_w", s.dilation_w, 1},
                {"groups", s.groups, 1}};
  for (const auto& field : fields) {
    if (field.value < field.least || field.value >= kExtentLimit)
      return wrong(field.name, field.value, "at least " + std::to_string(field.least) + " and below 2^31");
  }
  if (s.channels % s.groups != 0)
    return wrong("groups", s.groups, "a divisor of channels = " + std::to_string(s.channels));
  if (s.filters % s.groups != 0)
    return wrong("groups", s.groups, "a divisor of filters = " + std::to_string(s.filters));
  const auto reach = [](std::int64_t extent, std::int64_t pad, std::int64_t filter, std::int64_t dilation) {
    return extent + 2 * pad + filter * dilation;  // below 2^33 + 2^62
  };
  if (reach(s.height, s.pad_h, s.filter_height, s.dilation_h) >= kExtentLimit)
    return "height, pads and the dilated filter_height together = " +
           std::to_string(reach(s.height, s.pad_h, s.filter_height, s.dilation_h)) + ", must be below 2^31";
  if (reach(s.width, s.pad_w, s.filter_width, s.dilation_w) >= kExtentLimit)
    return "width, pads and the dilated filter_width together = " +
           std::to_string(reach(s.width, s.pad_w, s.filter_width, s.dilation_w)) + ", must be below 2^31";
  const std::int64_t out_h = product::convolution_outputs(s.height, s.filter_height, s.stride_h, s.pad_h, s.dilation_h);
  const std::int64_t out_w = product::convolution_outputs(s.width, s.filter_width, s.stride_w, s.pad_w, s.dilation_w);
  if (!elements(s.images, s.channels, s.height, s.width).has_value()) return "x has 2^48 elements or more";
  if (!elements(s.filters, s.channels / s.groups, s.filter_height, s.filter_width).has_value())
    return "w has 2^48 elements or more";
  if (!elements(s.images, s.filters, out_h, out_w).has_value()) return "y has 2^48 elements or more";
  return std::nullopt;
}

product::ConvolutionAxis axis(std::int64_t extent, std::int64_t filter, std::int64_t stride, std::int64_t pad,
                              std::int64_t dilation, std::int64_t outputs) {
  const auto i32 = [](std::int64_t x) { return static_cast<std::int32_t>(x); };
  return {i32(extent), i32(filter), i32(stride), i32(pad), i32(dilation), i32(outputs)};
}

/// Why tensor cores cannot take a shape.
std::optional<std::string> why_not_split(const Plan& plan) {
  const ConvolutionShape& s = plan.shape;
  if (plan.num_outputs() == 0 || s.channels == 0) return "nothing is summed";
  const auto cells = elements(s.images, plan.product.h.cells(), plan.product.w.cells());
  if (!cells.has_value() || *cells >= kMapLimit) return "the cells of all images are 2^30 or more";
  if (plan.product.pixel_bytes() >= kMapLimit) return "a split pixel has 2^30 bytes or more";
  const auto blocks = elements(s.filter_height, s.filter_width, std::int64_t{plan.product.blocks});
  if (!blocks.has_value() || *blocks * product::kEcBlockBytes >= kMapLimit)
    return "a split filter has 2^30 bytes or more";
  const std::int64_t planes = std::int64_t{plan.product.h.num_planes()} * plan.product.w.num_planes();
  if (!elements(planes, plan.product.cells(), plan.product.pixel_bytes()).has_value() ||
      planes * plan.product.cells() >= kMapLimit * 256 / plan.product.pixel_bytes())
    return "a split image has 2^38 bytes or more";
  const std::int64_t tiles = ceil_div(*cells, 128) * ceil_div(plan.group_filters(), 64);
  if (tiles >= kMapLimit / s.groups) return "there are 2^30 tiles or more";
  return std::nullopt;
}

/// Groups so small that a tile of tensor cores would be a 32nd full, or less.
bool is_too_thin(const Plan& plan) { return plan.group_channels() * plan.group_filters() < 64; }

/// k u / (1 - k u) of FP32 sums of k products, rounded to nearest.
double fp32_bound(double k) {
  const double ku = k * 0x1p-24;
  return ku < 1 ? ku / (1 - ku) * (1.0 + 0x1p-40) : 1e300;
}

void set_split(Plan& plan, ConvolutionFormat format) {
  const ConvolutionShape& s = plan.shape;
  plan.product.format = format == ConvolutionFormat::kTf32 ? EcFormat::kTf32 : EcFormat::kF16;
  plan.product.h = axis(s.height, s.filter_height, s.stride_h, s.pad_h, s.dilation_h, plan.out_height);
  plan.product.w = axis(s.width, s.filter_width, s.stride_w, s.pad_w, s.dilation_w, plan.out_width);
  plan.product.images = static_cast<std::int32_t>(s.images);
  plan.product.groups = static_cast<std::int32_t>(s.groups);
  plan.product.filters = static_cast<std::int32_t>(plan.group_filters());
  plan.product.blocks =
      static_cast<std::int32_t>(ceil_div(plan.group_channels(), product::ec_block_length(plan.product.format)));
}

/// What follows from format and form.
void finish(Plan& plan) {
  if (!plan.is_split()) {
    plan.bound = fp32_bound(static_cast<double>(plan.group_channels()) * static_cast<double>(plan.shape.filter_height) *
                            static_cast<double>(plan.shape.filter_width));
    return;
  }
  const EcFormat format = plan.product.format;
  const std::int64_t blocks = plan.product.filter_bytes() / product::kEcBlockBytes;
  product::FloatProductDesc desc = product::ec_arithmetic(format, product::EcPromotion::kShort);
  desc.k_interval = product::ec_convolution_sums(format, blocks, plan.form).interval;
  plan.bound = num::ec_bound(product::error_terms(desc, 2), blocks * product::ec_block_length(format));
  plan.floor = product::ec_floor(format) * (1 << kSampleMargin);
  base::Carver filters;
  static_cast<void>(carve_filters(plan, filters));
  plan.filter_bytes = filters.bytes();
  base::Carver all;
  static_cast<void>(carve_filters(plan, all));
  static_cast<void>(carve_images(plan, all));
  plan.workspace_bytes = all.bytes();
}

Result<Plan> start(const ConvolutionShape& s) {
  if (auto reason = why_refused(s)) return Status{StatusCode::kInvalidArgument, *std::move(reason)};
  Plan plan;
  plan.shape = s;
  plan.out_height = product::convolution_outputs(s.height, s.filter_height, s.stride_h, s.pad_h, s.dilation_h);
  plan.out_width = product::convolution_outputs(s.width, s.filter_width, s.stride_w, s.pad_w, s.dilation_w);
  return plan;
}

TensorStrides strides(ImageLayout layout, std::int64_t channels, std::int64_t height, std::int64_t width) {
  if (layout == ImageLayout::kNhwc) return {height * width * channels, 1, width * channels, channels};
  return {channels * height * width, height * width, width, 1};
}

}  // namespace

TensorStrides Plan::x_strides() const { return strides(shape.layout, shape.channels, shape.height, shape.width); }
TensorStrides Plan::w_strides() const {
  return strides(shape.layout, group_channels(), shape.filter_height, shape.filter_width);
}
TensorStrides Plan::y_strides() const { return strides(shape.layout, shape.filters, out_height, out_width); }

Result<Plan> make_plan(const ConvolutionShape& shape, ConvolutionFormat format) {
  Result<Plan> started = start(shape);
  if (!started.ok()) return started;
  Plan plan = std::move(started).value();
  if (format != ConvolutionFormat::kF32) {
    set_split(plan, format);
    std::optional<std::string> reason = why_not_split(plan);
    if (reason.has_value() && format != ConvolutionFormat::kAuto && plan.num_outputs() > 0 && shape.channels > 0) {
      return Status{StatusCode::kUnsupported, "format " + std::string(to_string(format)) + ": " + *reason};
    }
    if (!reason.has_value() && format == ConvolutionFormat::kAuto && is_too_thin(plan)) {
      reason = "a group has " + std::to_string(plan.group_channels()) + " channels and " +
               std::to_string(plan.group_filters()) + " filters: too few for tensor cores";
    }
    if (reason.has_value()) {
      plan.reason = *std::move(reason);
    } else {
      plan.format = format == ConvolutionFormat::kAuto ? ConvolutionFormat::kF16 : format;
      plan.form = product::ec_convolution_form_for(plan.product, shape.layout == ImageLayout::kNhwc);
    }
  }
  finish(plan);
  return plan;
}

Result<Plan> make_plan(const ConvolutionShape& shape, ConvolutionFormat format, product::EcConvolutionForm form) {
  Result<Plan> made = make_plan(shape, format);
  if (!made.ok()) return made;
  Plan plan = std::move(made).value();
  const product::EcConvolutionFormTraits& traits = product::traits_of(form);
  if (!plan.is_split() || (traits.columns == 3 && !product::takes_three_columns(plan.product.w))) {
    return Status{StatusCode::kUnsupported, "the form " + std::string(traits.name) + " does not take this shape"};
  }
  plan.form = form;
  finish(plan);
  return plan;
}

std::int64_t sample_pixels(const Plan& plan) {
  constexpr std::int64_t kElements = 4096;
  if (plan.product.h.has_plane_a_tap() || plan.product.w.has_plane_a_tap()) return 0;
  const std::int64_t pixels = plan.shape.height * plan.shape.width;
  return std::min(pixels, std::max<std::int64_t>(kElements / plan.shape.channels, 1));
}

FilterBuffers carve_filters(const Plan& plan, base::Carver& carver) {
  FilterBuffers buffers;
  buffers.planes = carver.take<std::int8_t>(plan.shape.filters, plan.product.filter_bytes());
  buffers.scales = carver.take<std::int32_t>(base::round_up(plan.shape.filters, std::int64_t{32}));
  return buffers;
}

ImageBuffers carve_images(const Plan& plan, base::Carver& carver) {
  const std::int64_t planes = std::int64_t{plan.product.h.num_planes()} * plan.product.w.num_planes();
  const std::int64_t words = base::round_up(plan.shape.images, std::int64_t{32});
  ImageBuffers buffers;
  buffers.planes =
      carver.take<std::int8_t>(planes * plan.shape.images, plan.product.cells(), plan.product.pixel_bytes());
  buffers.scales = carver.take<std::int32_t>(words);
  buffers.has_nonfinite = carver.take<std::int32_t>(words);
  return buffers;
}

std::string explain(const Plan& plan) {
  const ConvolutionShape& s = plan.shape;
  const auto text = [](std::int64_t x) { return std::to_string(x); };
  const auto real = [](double x) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.3g", x);
    return std::string(buffer);
  };
  std::string words = "images:    " + text(s.images) + " of " + text(s.height) + " x " + text(s.width) + ", " +
                      text(s.channels) + " channels, " + std::string(to_string(s.layout)) + "\n";
  words += "filters:   " + text(s.filters) + " of " + text(s.filter_height) + " x " + text(s.filter_width) +
           ", stride " + text(s.stride_h) + " x " + text(s.stride_w) + ", pad " + text(s.pad_h) + " x " +
           text(s.pad_w) + ", dilation " + text(s.dilation_h) + " x " + text(s.dilation_w) + ", groups " +
           text(s.groups) + "\n";
  words += "outputs:   " + text(plan.out_height) + " x " + text(plan.out_width) + "\n";
  words += "format:    " + std::string(to_string(plan.format)) +
           (plan.reason.empty() ? std::string() : ", for " + plan.reason) + "\n";
  if (plan.is_split()) {
    const product::EcConvolutionSums sums = product::ec_convolution_sums(
        plan.product.format, plan.product.filter_bytes() / product::kEcBlockBytes, plan.form);
    words += "form:      " + std::string(product::traits_of(plan.form).name) + ", " + text(sums.interval) +
             " elements of k inside the tensor core\n";
    words += "cells:     " + text(plan.product.h.cells()) + " x " + text(plan.product.w.cells()) + " of an image, " +
             text(std::int64_t{plan.product.h.num_planes()} * plan.product.w.num_planes()) + " planes\n";
  }
  words += "bound:     " + real(plan.bound) + " conv(|x|, |w|)";
  if (plan.floor > 0) words += " + " + real(plan.floor) + " (max|x| sum|w| + max|w| sum|x|)";
  words += "\nworkspace: " + std::to_string(plan.workspace_bytes) + " bytes\n";
  return words;
}

}  // namespace kizami::convolution
