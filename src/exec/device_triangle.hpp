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

/// Whether Scheme::kAuto may mean scheme ec for a triangle of C. Off: its kernel has not been measured yet. Predicted for
/// FP32 at n = k = 8192 are 2.4 ms, where scheme ozaki2 takes 3.14 (docs/perf/h200_call.md, "One triangle of C").
inline constexpr bool kTakesEcTriangles = false;

/// Why calls by a plan cannot leave out a triangle of C, or nothing.
[[nodiscard]] std::optional<std::string> why_no_part(const plan::Plan& plan);

/// The plan of all of C by which one triangle of it is made. Scheme::kAuto means ozaki2, or ec where that may be taken,
/// is the quickest for all of C and can leave a triangle out: both schemes then save about half.
/// @status as plan::make()
Result<std::shared_ptr<const plan::Plan>> triangle_plan(Scalar scalar, std::int64_t n, std::int64_t k,
                                                        const Policy& policy, const plan::Environment& environment,
                                                        bool may_take_ec = kTakesEcTriangles);

}  // namespace kizami::exec
