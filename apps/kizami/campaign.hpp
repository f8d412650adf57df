// SPDX-License-Identifier: MIT
// Random adversarial cases, reproducible by seed and number, and the shrinking of a case that fails.
#pragma once

#include <cstdint>
#include <functional>

#include "check/case.hpp"

namespace kizami::cli {

/// Case number `index` of a campaign: type, ops, shape up to 130, layout, padding, alpha, beta, classes with parameters
/// in their range, scales, NaN and Inf, accuracy, gauge, engine, threads, workspace, all drawn from the seed.
/// @exact print() of it parses to the same case on every machine
[[nodiscard]] check::Case random_case(std::uint64_t seed, std::int64_t index);

/// The smallest case found, by dropping one thing after another as long as `fails` stays true.
/// @range fails(spec) is true. Calls fails a few hundred times at most.
[[nodiscard]] check::Case shrink(const check::Case& spec, const std::function<bool(const check::Case&)>& fails);

}  // namespace kizami::cli
