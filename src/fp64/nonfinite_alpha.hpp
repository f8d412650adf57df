// SPDX-License-Identifier: MIT
// alpha = NaN or Inf: of a product, alpha p + beta C then takes nothing but its sign, which no bound tells where the product
// cancels. So the sign is that of the exact sum. On a device: fp64::answer_signs().
#pragma once

#include "kizami/types.hpp"
#include "num/line_stats.hpp"
#include "problem/problem.hpp"

namespace kizami::fp64 {

/// Whether alpha or beta holds neither NaN nor Inf.
template <class T>
[[nodiscard]] bool is_factor_finite(const T& factor);

/// The same of a factor on a device, of one that lies in host memory: nobody waits for the value of another, for which the device has
/// device::DeviceState::takes_signs.
template <class T>
[[nodiscard]] bool is_known_nonfinite(const Factor<T>& factor) {
  return factor.device == nullptr && !is_factor_finite(factor.value);
}

/// C <- alpha AB + beta old for every element whose lines are finite, by the signs of exact sums in long accumulators; the others
/// are left untouched. Slow: k products of integers an element.
/// @range alpha holds NaN or Inf; old: C as it was, not read for beta = 0 @queue blocks until done, on up to `threads` threads
template <class T, class In>
void answer_nonfinite_alpha(const problem::Problem<T, In>& problem, MatrixView<T> old, const num::LineStats* a_stats,
                            const num::LineStats* b_stats, int threads);

}  // namespace kizami::fp64
