// SPDX-License-Identifier: MIT
// One triangle of C on a device: the plan of such a call, and which plans can leave the other triangle out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"

namespace kizami::exec {

/// Why calls by a plan cannot leave out a triangle of C, or nothing.
[[nodiscard]] std::optional<std::string> why_no_part(const plan::Plan& plan);

/// The plan of all of C by which one triangle of it is made. Scheme::kAuto means ec where that is the quickest for all of
/// C and can leave a triangle out, else ozaki2: both schemes save about half.
/// @status as plan::make()
Result<std::shared_ptr<const plan::Plan>> triangle_plan(Scalar scalar, std::int64_t n, std::int64_t k,
                                                        const Policy& policy, const plan::Environment& environment);

}  // namespace kizami::exec
