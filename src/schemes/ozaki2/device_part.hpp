// SPDX-License-Identifier: MIT
// Products on a device that are for one triangle of C (problem/part.hpp): which plans can.
#pragma once

#include <optional>
#include <string>

#include "plan/plan.hpp"

namespace kizami::ozaki2 {

/// Why calls by a plan of a square C, of another scheme than ec, cannot leave out a triangle, or nothing: where their engine has product::TriangleEngine, and
/// C and both operands are one chunk.
[[nodiscard]] std::optional<std::string> why_no_part(const plan::Plan& plan);

}  // namespace kizami::ozaki2
