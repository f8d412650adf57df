// SPDX-License-Identifier: MIT
// Integer arithmetic on sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace kizami::base {

[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept { return (a + b - 1) / b; }
[[nodiscard]] constexpr std::int64_t round_up(std::int64_t a, std::int64_t multiple) noexcept {
  return ceil_div(a, multiple) * multiple;
}

/// Sums and products of sizes that stop at the largest value: a request that no memory can hold stays too large.
[[nodiscard]] constexpr std::size_t saturating_add(std::size_t a, std::size_t b) noexcept {
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
  return a > kMax - b ? kMax : a + b;
}
[[nodiscard]] constexpr std::size_t saturating_mul(std::size_t a, std::size_t b) noexcept {
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
  return b != 0 && a > kMax / b ? kMax : a * b;
}

}  // namespace kizami::base
