// SPDX-License-Identifier: MIT
#include "kizami/cuda_convolution.hpp"

#include "base/relaxed_capture.hpp"
#include "convolution/device_run.hpp"

namespace kizami::cuda {

Status convolve(const ConvolutionPlan& plan, float alpha, const float* x, const float* w, float beta, float* y,
                std::span<std::byte> workspace, Stream stream) {
  const base::RelaxedCapture relaxed;
  return convolution::run_on_device(plan.impl(), alpha, x, w, {}, beta, y, workspace, stream);
}

Status prepare_filters(const ConvolutionPlan& plan, const float* w, std::span<std::byte> prepared, Stream stream) {
  const base::RelaxedCapture relaxed;
  return convolution::prepare_on_device(plan.impl(), w, prepared, stream);
}

Status convolve_prepared(const ConvolutionPlan& plan, float alpha, const float* x, const float* w,
                         std::span<const std::byte> prepared, float beta, float* y, std::span<std::byte> workspace,
                         Stream stream) {
  if (prepared.size() < plan.filter_bytes()) {
    return {StatusCode::kInvalidArgument, "prepared has " + std::to_string(prepared.size()) +
                                              " bytes, must be at least " + std::to_string(plan.filter_bytes())};
  }
  const base::RelaxedCapture relaxed;
  return convolution::run_on_device(plan.impl(), alpha, x, w, prepared, beta, y, workspace, stream);
}

}  // namespace kizami::cuda
