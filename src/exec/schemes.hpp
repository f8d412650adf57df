// SPDX-License-Identifier: MIT
// The one list of schemes.
#pragma once

#include <span>

#include "plan/scheme.hpp"

namespace kizami::exec {

/// In the order in which the planner asks: of equally quick ones the first is taken, and the last one answers all
/// operands.
[[nodiscard]] std::span<const plan::SchemePlanner* const> schemes();

}  // namespace kizami::exec
