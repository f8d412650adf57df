// SPDX-License-Identifier: MIT
#include "exec/device_triangle.hpp"

#include "exec/plan_cache.hpp"
#include "schemes/ec/device_part.hpp"
#include "schemes/ozaki2/device_part.hpp"

namespace kizami::exec {

std::optional<std::string> why_no_part(const plan::Plan& plan) {
  if (plan.shape.m != plan.shape.n) {
    return "m = " + std::to_string(plan.shape.m) + ", must be n = " + std::to_string(plan.shape.n) +
           " for a triangle of C";
  }
  return plan.first().scheme == Scheme::kEc ? ec::why_no_part(plan) : ozaki2::why_no_part(plan);
}

Result<std::shared_ptr<const plan::Plan>> triangle_plan(Scalar scalar, std::int64_t n, std::int64_t k,
                                                        const Policy& policy, const plan::Environment& environment) {
  const problem::Shape shape{scalar, n, n, k};
  if (policy.scheme != Scheme::kAuto) return cached_plan(shape, policy, environment);
  auto quickest = cached_plan(shape, policy, environment);
  if (quickest.ok() && quickest.value()->first().scheme == Scheme::kEc && !ec::why_no_part(*quickest.value()))
    return quickest;
  Policy by_residues = policy;
  by_residues.scheme = Scheme::kOzaki2;
  return cached_plan(shape, by_residues, environment);
}

}  // namespace kizami::exec
