// SPDX-License-Identifier: MIT
#include "plan/device_model.hpp"

namespace kizami::plan {

double device_native_seconds(const problem::Shape& shape) {
  const bool is_double = real_of(shape.scalar) == Scalar::kF64;
  const double flops = (is_complex(shape.scalar) ? 8.0 : 2.0) * static_cast<double>(shape.m) *
                       static_cast<double>(shape.n) * static_cast<double>(shape.k);
  const double rate = is_double ? 58e12 : 53e12;
  constexpr double kLaunchSeconds = 8e-6;
  return flops / rate + kLaunchSeconds;
}

double device_phase_seconds(const Plan& plan) {
  constexpr double kBytesPerSecond = 3.0e12;
  constexpr double kInt8OpsPerSecond = 1.3e15;
  constexpr double kLaunchSeconds = 8e-6;  // with the fill and drain of a kernel
  const auto m = static_cast<double>(plan.shape.m);
  const auto n = static_cast<double>(plan.shape.n);
  const auto k = static_cast<double>(plan.shape.k);
  const double element = size_bytes(plan.shape.scalar);
  const int planes = num::num_planes(ring_of(plan.shape.scalar), plan.numerics.ladder.rungs[0].num_moduli);
  double bytes = (m + n) * k * (2.0 * element + planes) + m * n * (planes + element);
  double ops = 0;
  double launches = 8;
  if (plan.numerics.has_certificate) {
    const double parts = is_complex(plan.shape.scalar) ? 2.0 : 1.0;
    const double terms = k * parts / static_cast<double>(num::sample_stride(num_terms(plan.shape)));
    ops += 2.0 * m * n * terms * parts;
    bytes += (m + n) * terms + 8.0 * parts * m * n;
    launches += 4;
  }
  return bytes / kBytesPerSecond + ops / kInt8OpsPerSecond + launches * kLaunchSeconds;
}

}  // namespace kizami::plan
