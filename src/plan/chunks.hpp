// SPDX-License-Identifier: MIT
// Steps by which plans make their chunks smaller.
#pragma once

#include <cstdint>

#include "base/int_math.hpp"

namespace kizami::plan {

/// Halves `extent`, keeping multiples of `pad`, down to `least`. @return whether it shrank
inline bool halve(std::int64_t& extent, std::int64_t least, std::int64_t pad) {
  const std::int64_t half = base::round_up((extent + 1) / 2, pad);
  if (half >= extent || half < least) return false;
  extent = half;
  return true;
}

}  // namespace kizami::plan
