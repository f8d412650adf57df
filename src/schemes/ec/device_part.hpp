// SPDX-License-Identifier: MIT
// Products by scheme ec on a device that are for one triangle of C (problem/part.hpp): which plans can.
#pragma once

#include <optional>
#include <string>

#include "plan/plan.hpp"

namespace kizami::ec {

/// Why calls by a plan of scheme ec for a square C cannot leave out a triangle, or nothing: where its engine has
/// product::EcTriangleEngine, whose kernel sums as the plan says.
[[nodiscard]] std::optional<std::string> why_no_part(const plan::Plan& plan);

}  // namespace kizami::ec
