// SPDX-License-Identifier: MIT
#include "schemes/native/device_plan.hpp"

#include <algorithm>
#include <string>

namespace kizami::native {
namespace {

[[nodiscard]] std::size_t booked_bytes(const plan::Plan& plan) {
  base::Carver counter;
  static_cast<void>(carve_device_native(counter, plan));
  return counter.bytes();
}

}  // namespace

DeviceNativeBuffers carve_device_native(base::Carver& carver, const plan::Plan& plan) {
  const Batch& batch = plan.schedule.batch;
  DeviceNativeBuffers buffers;
  buffers.scratch = carver.take<std::byte>(plan.schedule.product_bytes);
  buffers.factors = carver.take<std::byte>(2, size_bytes(plan.shape.scalar));
  if (batch.num_products > 1 && !batch.has_device_arrays) buffers.pointers = carver.take<void*>(3, batch.num_products);
  return buffers;
}

Status plan_device_native(plan::Plan& plan) {
  plan::Schedule& schedule = plan.schedule;
  const std::size_t limit = plan.policy.workspace_limit_bytes;
  schedule.product_bytes = 0;
  const std::size_t least = booked_bytes(plan);
  if (limit != 0 && limit < least) {
    return {StatusCode::kWorkspaceTooSmall, "workspace limit = " + std::to_string(limit) + " bytes, must be >= " +
                                                std::to_string(least) + " for scheme native here"};
  }
  constexpr std::size_t kUnit = base::Carver::kAlignment;
  const std::size_t wanted = native_of(plan).device_engine->scratch_bytes();
  schedule.product_bytes = limit == 0 ? wanted : std::min(wanted, (limit - least) / kUnit * kUnit);
  schedule.workspace_bytes = booked_bytes(plan);
  return {};
}

}  // namespace kizami::native
