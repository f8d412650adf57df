// SPDX-License-Identifier: MIT
// What both engines tile, on processors and on devices, have of their kernels' parameters: tile kernels index by int,
// and reach planes by strides of 32 bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "engines/desc_check.hpp"
#include "product/product.hpp"

namespace kizami::engines::tile_engines {

/// why_refused(), and strides that no int holds.
[[nodiscard]] inline std::optional<std::string> why_tile_refuses(const product::ProductDesc& d,
                                                                 const Abilities& abilities = {}) {
  if (auto reason = why_refused(d, abilities)) return reason;
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  for (const auto& [name, stride] : {std::pair{"a_row_stride", d.a_row_stride},
                                     {"b_row_stride", d.b_row_stride},
                                     {"c_col_stride", d.c_col_stride}}) {
    if (stride > kMost) return detail::wrong(name, stride, "below 2^31: tile kernels index by int");
  }
  return std::nullopt;
}

/// Rows and columns of C, and planes, of one launch.
struct Part {
  std::int64_t row, rows;
  std::int64_t col, cols;
  int plane, planes;
};

/// Planes of one launch: all, or 1.
[[nodiscard]] inline int planes_together(const product::ProductDesc& d) {
  const std::int64_t most = std::max({d.a_plane_stride, d.b_plane_stride, d.c_plane_stride});
  return most <= std::numeric_limits<std::uint32_t>::max() ? d.num_products : 1;
}

}  // namespace kizami::engines::tile_engines
