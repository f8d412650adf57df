// SPDX-License-Identifier: MIT
#include "exec/device_prepared.hpp"

#include <string>

#include "base/carver.hpp"
#include "problem/problem.hpp"
#include "schemes/ec/device_plan.hpp"
#include "schemes/ec/device_planes_plan.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/prepare.hpp"

namespace kizami::exec {
namespace {

[[nodiscard]] std::string name_of(Side side) { return side == Side::kA ? "A" : "B"; }

/// Whether the scheme of a plan keeps anything.
Status validate_scheme(const plan::Plan& plan) {
  const Scheme scheme = plan.first().scheme;
  if (scheme == Scheme::kOzaki2) {
    return ozaki2::ozaki2_of(plan).ladder.num_rungs == 0 ? schemes::nothing_to_prepare(scheme) : Status();
  }
  if (scheme == Scheme::kEc) {
    if (!ec::has_device_planes(plan)) return {};
    return {StatusCode::kUnsupported, "scheme ec: variant " +
                                          std::string(to_string(ec::ec_of(plan).numerics.rungs[0].recipe.variant)) +
                                          " by planes keeps nothing of operands in device memory; ask for variant "
                                          "scaled or scaled_tf32 on engine hopper"};
  }
  if (scheme == Scheme::kNative) return schemes::nothing_to_prepare(scheme);
  return {StatusCode::kUnsupported, "scheme " + std::string(to_string(scheme)) +
                                        " keeps nothing of operands in device memory; ask for scheme ozaki2"};
}

Status validate_plan(const plan::Plan& plan) {
  if (!plan::is_on_device(plan))
    return {StatusCode::kInvalidArgument, "the plan is for operands in host memory, must be for device memory"};
  const Batch& batch = plan.schedule.batch;
  if (batch.num_products == 1 && !batch.has_device_arrays) return {};
  return {StatusCode::kInvalidArgument, "the plan is for a batch of " + std::to_string(batch.num_products) +
                                            " products, must be for one to prepare an operand"};
}

}  // namespace

Status prepared_device_bytes(const plan::Plan& plan, Side side, std::size_t& bytes) {
  KIZAMI_RETURN_IF_ERROR(validate_plan(plan));
  KIZAMI_RETURN_IF_ERROR(validate_scheme(plan));
  bytes = 0;
  if (plan::is_empty(plan.shape)) return {};
  base::Carver counter;
  const std::int64_t num_lines = side == Side::kA ? plan.shape.m : plan.shape.n;
  if (plan.first().scheme == Scheme::kEc) {
    static_cast<void>(ec::carve_device_ec_prepared(counter, plan, num_lines));
  } else {
    static_cast<void>(ozaki2::carve_device_prepared(counter, plan, side, num_lines));
  }
  bytes = counter.bytes();
  return {};
}

Status validate_device_prepared(const plan::Plan& plan, Side side, const device::Prepared& prepared) {
  const auto invalid = [side](const std::string& what) {
    return Status(StatusCode::kInvalidArgument, "prepared operand " + name_of(side) + " " + what);
  };
  std::size_t bytes = 0;
  KIZAMI_RETURN_IF_ERROR(prepared_device_bytes(plan, side, bytes));
  if (prepared.scalar != plan.shape.scalar) {
    return invalid("is " + std::string(to_string(prepared.scalar)) + ", must be " +
                   std::string(to_string(plan.shape.scalar)) + " as the plan is");
  }
  if (prepared.side != side)
    return invalid("was prepared as operand " + name_of(prepared.side) + ", must be as " + name_of(side));
  const std::int64_t num_lines = side == Side::kA ? plan.shape.m : plan.shape.n;
  if (prepared.num_lines != num_lines || prepared.length != plan.shape.k) {
    return invalid("has " + std::to_string(prepared.num_lines) + " lines of " + std::to_string(prepared.length) +
                   ", must be " + std::to_string(num_lines) + " of " + std::to_string(plan.shape.k));
  }
  if (prepared.numerics_hash != plan::prepared_hash(plan))
    return invalid("was prepared by a plan of other numerics, must be by one of equal numerics_hash");
  const int device = plan.schedule.facts.device;
  if (prepared.device != device) {
    return invalid("is on device " + std::to_string(prepared.device) + ", must be on that of the plan, " +
                   std::to_string(device));
  }
  if (prepared.bytes < bytes) {  // of an empty product
    return invalid("has " + std::to_string(prepared.bytes) + " bytes, must have " + std::to_string(bytes));
  }
  return {};
}

std::string explain_prepared(const device::Prepared& prepared) {
  return "operand       " + name_of(prepared.side) + ", " + std::to_string(prepared.num_lines) + " lines of " +
         std::to_string(prepared.length) + " elements, " + std::string(to_string(prepared.scalar)) + "\n" +  //
         "scheme        " + std::string(to_string(prepared.scheme)) + "\n" +                                 //
         "kept          " + prepared.kept + "\n" +                                                           //
         "memory        " + std::to_string(prepared.bytes) + " bytes on device " + std::to_string(prepared.device) +
         "\n";
}

}  // namespace kizami::exec
