// SPDX-License-Identifier: MIT
// Triangular numbers: how many places the first rows of a triangle have, and in which row a place is.
#pragma once

#include <cmath>
#include <cstdint>

#include "kizami/host_device.hpp"

namespace kizami::base {

/// 0 + 1 + ... + r. @range r < 2^16
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t triangular(std::uint32_t r) noexcept {
  return r * (r + 1) / 2;
}

/// The largest r with triangular(r) <= x: the row of place x, where row r has r + 1 places. @range x < 2^30
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::uint32_t triangular_root(std::uint32_t x) noexcept {
  // FP32 alone is off by at most one.
  auto r = static_cast<std::uint32_t>(0.5F * (sqrtf(8.0F * static_cast<float>(x) + 1.0F) - 1.0F));
  while (triangular(r) > x) --r;
  while (triangular(r + 1) <= x) ++r;
  return r;
}

}  // namespace kizami::base
