// SPDX-License-Identifier: MIT
#include "schemes/native/device_plan.hpp"

#include <algorithm>
#include <string>

namespace kizami::plan {
namespace {

/// What cuBLAS takes by itself on compute capability 9.0.
constexpr std::size_t kScratchBytes = std::size_t{32} << 20;

[[nodiscard]] std::size_t booked_bytes(const Plan& plan) {
  base::Carver counter;
  static_cast<void>(carve_device_native(counter, plan));
  return counter.bytes();
}

}  // namespace

double device_native_seconds(const problem::Shape& shape, std::int64_t num_products) {
  const bool is_double = real_of(shape.scalar) == Scalar::kF64;
  const double flops = (is_complex(shape.scalar) ? 8.0 : 2.0) * static_cast<double>(shape.m) *
                       static_cast<double>(shape.n) * static_cast<double>(shape.k) * static_cast<double>(num_products);
  // A batch counts as one product of all its operations: one start, the same rates.
  // Long products meet the power limit in FP64.
  const double rate = !is_double ? 51.5e12 : flops < 3e11 ? 59e12 : flops < 3e12 ? 54e12 : 51e12;
  const auto least = static_cast<double>(std::min({shape.m, shape.n, shape.k}));
  constexpr double kThinExtent = 18;  // an extent of this loses half of the rate
  constexpr double kStartSeconds = 6e-6;
  if (flops == 0) return kStartSeconds;
  constexpr double kBytesPerSecond = 3.9e12;  // of 1000 products of n = 64: bench/results/h200/batch.jsonl
  const double bytes = size_bytes(shape.scalar) * static_cast<double>(num_products) *
                       (static_cast<double>(shape.m) * static_cast<double>(shape.k) +
                        static_cast<double>(shape.k) * static_cast<double>(shape.n) +
                        static_cast<double>(shape.m) * static_cast<double>(shape.n));
  return std::max(flops / rate * (1.0 + kThinExtent / least), bytes / kBytesPerSecond) + kStartSeconds;
}

DeviceNativeBuffers carve_device_native(base::Carver& carver, const Plan& plan) {
  const Batch& batch = plan.schedule.batch;
  DeviceNativeBuffers buffers;
  buffers.scratch = carver.take<std::byte>(plan.schedule.product_bytes);
  buffers.factors = carver.take<std::byte>(2, size_bytes(plan.shape.scalar));
  if (batch.num_products > 1 && !batch.has_device_arrays) buffers.pointers = carver.take<void*>(3, batch.num_products);
  return buffers;
}

Status plan_device_native(Plan& plan) {
  Schedule& schedule = plan.schedule;
  const std::size_t limit = plan.policy.workspace_limit_bytes;
  schedule.product_bytes = 0;
  const std::size_t least = booked_bytes(plan);
  if (limit != 0 && limit < least) {
    return {StatusCode::kWorkspaceTooSmall, "workspace limit = " + std::to_string(limit) + " bytes, must be >= " +
                                                std::to_string(least) + " for scheme native here"};
  }
  constexpr std::size_t kUnit = base::Carver::kAlignment;
  schedule.product_bytes = limit == 0 ? kScratchBytes : std::min(kScratchBytes, (limit - least) / kUnit * kUnit);
  schedule.workspace_bytes = booked_bytes(plan);
  return {};
}

}  // namespace kizami::plan
