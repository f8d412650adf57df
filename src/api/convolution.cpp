// SPDX-License-Identifier: MIT
#include "kizami/convolution.hpp"

#include <utility>

#include "convolution/host_run.hpp"
#include "convolution/plan.hpp"
#include "product/ec_convolution.hpp"

namespace kizami {

const ConvolutionShape& ConvolutionPlan::shape() const { return impl_->shape; }
std::int64_t ConvolutionPlan::out_height() const { return impl_->out_height; }
std::int64_t ConvolutionPlan::out_width() const { return impl_->out_width; }
ConvolutionFormat ConvolutionPlan::format() const { return impl_->format; }
std::string_view ConvolutionPlan::form() const {
  return impl_->is_split() ? product::traits_of(impl_->form).name : std::string_view("direct");
}
std::size_t ConvolutionPlan::workspace_bytes() const { return impl_->workspace_bytes; }
std::size_t ConvolutionPlan::filter_bytes() const { return impl_->filter_bytes; }
double ConvolutionPlan::bound() const { return impl_->bound; }
double ConvolutionPlan::floor() const { return impl_->floor; }
std::string ConvolutionPlan::explain() const { return convolution::explain(*impl_); }

Result<ConvolutionPlan> make_convolution_plan(const ConvolutionShape& shape, ConvolutionFormat format) {
  Result<convolution::Plan> made = convolution::make_plan(shape, format);
  if (!made.ok()) return made.status();
  return ConvolutionPlan(std::make_shared<const convolution::Plan>(std::move(made).value()));
}

Status convolve(const ConvolutionPlan& plan, float alpha, const float* x, const float* w, float beta, float* y) {
  return convolution::run_on_host(plan.impl(), alpha, x, w, beta, y);
}

}  // namespace kizami
