// SPDX-License-Identifier: MIT
// Operands that a device splits once, for many products by scheme ec: planes of the first rung, and what the decision
// reads. All pointers are device memory; every function enqueues kernels and waits for nothing.
#pragma once

#include <cstdint>

#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "plan/plan.hpp"
#include "problem/lines.hpp"
#include "product/product.hpp"
#include "schemes/ec/device_plan.hpp"

namespace kizami::ec {

/// Fills the memory of a prepared operand.
/// @param  num_reports  of the split as the kernels' a, and as their b; known before anything has run
/// @range  a plan without planes of its own (has_device_planes()); memory as carve_device_ec_prepared() counts it
/// @queue  asynchronous; one to four kernels
template <class T>
Status prepare_device_ec(const plan::Plan& plan, const problem::Lines<T>& lines, std::byte* memory,
                         std::int32_t (&num_reports)[2], product::Queue queue);

/// What a call takes over from an operand of its kernels, for the decision may make its own scales later.
struct EcAdoption {
  const DeviceEcPrepared::Split* kept = nullptr;  ///< null: that operand is not prepared
  std::int64_t num_scales = 0;
  std::int32_t* scales = nullptr;  ///< of the call
  int num_reports = 0;
  product::EcReport* reports = nullptr;  ///< likewise
};
/// @param  profiles  cleared, unless null: where no split does it
/// @queue  one kernel
Status adopt_prepared(const EcAdoption& a, const EcAdoption& b, num::EcProfiles* profiles, product::Queue queue);

}  // namespace kizami::ec
