// SPDX-License-Identifier: MIT
// A rectangle of a matrix.
#pragma once

#include <algorithm>
#include <cstdint>

namespace kizami::multi {

/// Rows [row, row + rows) and columns [col, col + cols).
struct Rect {
  std::int64_t row = 0;
  std::int64_t col = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;

  [[nodiscard]] constexpr bool is_empty() const { return rows <= 0 || cols <= 0; }
  [[nodiscard]] constexpr Rect transposed() const { return {col, row, cols, rows}; }
  friend constexpr bool operator==(const Rect&, const Rect&) = default;
};

/// What two rectangles have in common; an empty one if nothing.
[[nodiscard]] constexpr Rect intersection(const Rect& x, const Rect& y) {
  const std::int64_t row = std::max(x.row, y.row);
  const std::int64_t col = std::max(x.col, y.col);
  const Rect both{row, col, std::min(x.row + x.rows, y.row + y.rows) - row,
                  std::min(x.col + x.cols, y.col + y.cols) - col};
  return both.is_empty() ? Rect{} : both;
}

[[nodiscard]] constexpr bool contains(const Rect& outer, const Rect& inner) {
  return inner.is_empty() || intersection(outer, inner) == inner;
}

}  // namespace kizami::multi
