// SPDX-License-Identifier: MIT
// Integer arithmetic on sizes.
#pragma once

#include <cstdint>
#include <limits>

namespace kizami::base {

[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept { return (a + b - 1) / b; }
[[nodiscard]] constexpr std::int64_t round_up(std::int64_t a, std::int64_t multiple) noexcept {
  return ceil_div(a, multiple) * multiple;
}
[[nodiscard]] constexpr std::int64_t round_down(std::int64_t a, std::int64_t multiple) noexcept {
  return a / multiple * multiple;
}

}  // namespace kizami::base
