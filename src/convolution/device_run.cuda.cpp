// SPDX-License-Identifier: MIT
#include "convolution/device_run.hpp"

#include <cstdint>
#include <string>

#include "base/carver.hpp"
#include "base/device_limits.hpp"
#include "convolution/device_direct.hpp"
#include "convolution/device_split.hpp"
#include "convolution/direct.hpp"
#include "engines/hopper/ec_convolution.hpp"

namespace kizami::convolution {
namespace {

Status check_device() {
  base::DeviceLimits limits;
  KIZAMI_RETURN_IF_ERROR(base::find_device_limits(limits));
  if (limits.has_wgmma()) return {};
  return {StatusCode::kUnsupported, "convolutions: " + base::why_no_wgmma(limits)};
}

Status check_pointer(const char* name, const float* data, bool is_needed) {
  if (data != nullptr || !is_needed) {
    if (reinterpret_cast<std::uintptr_t>(data) % sizeof(float) == 0) return {};
    return {StatusCode::kInvalidArgument, std::string(name) + " does not begin on 4 bytes"};
  }
  return {StatusCode::kInvalidArgument, std::string(name) + " is null"};
}

Status check_memory(const char* name, const std::byte* data, std::size_t size, std::size_t needed) {
  if (size < needed) {
    return {StatusCode::kInvalidArgument,
            std::string(name) + " has " + std::to_string(size) + " bytes, must be at least " + std::to_string(needed)};
  }
  if (needed > 0 && (data == nullptr || reinterpret_cast<std::uintptr_t>(data) % 256 != 0))
    return {StatusCode::kInvalidArgument, std::string(name) + " does not begin on 256 bytes"};
  return {};
}

/// Filters at the begin of memory, ours or prepared.
FilterBuffers filters_in(const Plan& plan, std::byte* memory) {
  base::Carver carver(memory);
  return carve_filters(plan, carver);
}

}  // namespace

Status prepare_on_device(const Plan& plan, const float* w, std::span<std::byte> prepared, product::Queue queue) {
  KIZAMI_RETURN_IF_ERROR(check_pointer("w", w, plan.is_split()));
  KIZAMI_RETURN_IF_ERROR(check_memory("prepared", prepared.data(), prepared.size(), plan.filter_bytes));
  KIZAMI_RETURN_IF_ERROR(check_device());
  if (!plan.is_split()) return {};
  return device_split(plan, nullptr, {}, w, filters_in(plan, prepared.data()), queue);
}

Status run_on_device(const Plan& plan, float alpha, const float* x, const float* w, std::span<const std::byte> prepared,
                     float beta, float* y, std::span<std::byte> workspace, product::Queue queue) {
  const bool has_outputs = plan.num_outputs() > 0;
  const bool sums = has_outputs && alpha != 0 && plan.shape.channels > 0;
  KIZAMI_RETURN_IF_ERROR(check_pointer("x", x, sums && plan.shape.height * plan.shape.width > 0));
  KIZAMI_RETURN_IF_ERROR(check_pointer("w", w, sums));
  KIZAMI_RETURN_IF_ERROR(check_pointer("y", y, has_outputs));
  KIZAMI_RETURN_IF_ERROR(check_memory("the workspace", workspace.data(), workspace.size(), plan.workspace_bytes));
  if (!prepared.empty())
    KIZAMI_RETURN_IF_ERROR(check_memory("prepared", prepared.data(), prepared.size(), plan.filter_bytes));
  if (!has_outputs) return {};
  KIZAMI_RETURN_IF_ERROR(check_device());
  const product::DirectConvolution direct = direct_convolution(plan, alpha, x, w, beta, y);
  if (!plan.is_split() || alpha == 0) return device_direct(direct, queue);

  base::Carver carver(workspace.data());
  FilterBuffers filters = carve_filters(plan, carver);
  const ImageBuffers images = carve_images(plan, carver);
  if (!prepared.empty()) filters = filters_in(plan, const_cast<std::byte*>(prepared.data()));  // only read
  KIZAMI_RETURN_IF_ERROR(device_split(plan, x, images, prepared.empty() ? w : nullptr, filters, queue));
  product::EcConvolution product = plan.product;
  product.pixel_planes = images.planes;
  product.image_scales = images.scales;
  product.has_nonfinite = images.has_nonfinite;
  product.filter_planes = filters.planes;
  product.filter_scales = filters.scales;
  product.direct = direct;
  return engines::run_ec_convolution(product, plan.form, queue);
}

}  // namespace kizami::convolution
