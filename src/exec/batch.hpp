// SPDX-License-Identifier: MIT
// Many products by one plan.
#pragma once

#include <cstdint>
#include <span>

#include "kizami/outcome.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "problem/problem.hpp"

namespace kizami::exec {

/// Runs every problem, side by side where there are more problems than threads, else one after another with all
/// threads. Never changes a bit.
/// @shape  outcomes: empty, or one for each problem
/// @status the first failure, by number, with the number of its problem; other problems may have been done
template <class T>
Status run_batched(const plan::Plan& plan, std::span<const problem::Problem<T>> problems, std::span<Outcome> outcomes);

}  // namespace kizami::exec
