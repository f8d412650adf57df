// SPDX-License-Identifier: MIT
#include "exec/schemes.hpp"

#include "schemes/ec/plan.hpp"
#include "schemes/native/plan.hpp"
#include "schemes/ozaki1/plan.hpp"
#include "schemes/ozaki2/plan.hpp"

namespace kizami::exec {

std::span<const plan::SchemePlanner* const> schemes() {
  static constexpr const plan::SchemePlanner* kAll[] = {&native::kNativePlanner, &ec::kEcPlanner,
                                                        &ozaki1::kOzaki1Planner, &ozaki2::kOzaki2Planner};
  return kAll;
}

}  // namespace kizami::exec
