// SPDX-License-Identifier: MIT
// Errors of sampled elements over their bounds.
#pragma once

#include <cmath>

namespace kizami::dropin {

/// The larger of two ratios, or NaN if one is.
[[nodiscard]] inline double worse(double x, double y) { return std::isnan(x) || y <= x ? x : y; }

}  // namespace kizami::dropin
