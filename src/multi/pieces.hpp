// SPDX-License-Identifier: MIT
// A matrix in pieces, as rectangles: whether they make up the matrix, and which of them hold a part of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kizami/status.hpp"
#include "multi/rect.hpp"

namespace kizami::multi {

/// @status kInvalidArgument unless every element of the matrix lies in exactly one piece, and none beyond it
Status validate_pieces(const char* name, std::int64_t rows, std::int64_t cols, std::span<const Rect> pieces);

/// A part of one piece.
struct Holding {
  std::size_t piece = 0;
  Rect rect;  ///< of the matrix
};
/// The pieces that hold a rectangle, in order.
[[nodiscard]] std::vector<Holding> holdings_of(const Rect& wanted, std::span<const Rect> pieces);
/// The same in the order in which a device brings them: pieces of the next device first, so that devices that bring as many at the same time
/// read from different ones. @param devices  of the pieces
[[nodiscard]] std::vector<Holding> holdings_in_turn(const Rect& wanted, std::span<const Rect> pieces,
                                                    std::span<const int> devices, int device);

/// Which lines of a panel are those of its operand.
enum class PanelLines : std::uint8_t { kRows, kCols };
/// Part i of `count` of a panel: lines of both halves, as Strassen's products split them (ozaki2::quadrant_lines()); the
/// second may be empty, and of one part is. @range 0 <= i < count
[[nodiscard]] std::array<Rect, 2> part_of_panel(const Rect& panel, PanelLines lines, int i, int count);

/// Elements that one copy of two dimensions takes: `count` columns of `length` elements that follow one another, from
/// (row, col) on; of a slanting one every column begins a row below the one before.
struct ColumnCopy {
  std::int64_t row = 0;
  std::int64_t col = 0;
  std::int64_t length = 0;
  std::int64_t count = 0;
  bool is_slanting = false;

  friend constexpr bool operator==(const ColumnCopy&, const ColumnCopy&) = default;
};
/// Copies of the elements of a rectangle with row >= col, or row <= col, and of no others; some twice: a band along the
/// diagonal, and what is beside it in strips of columns.
[[nodiscard]] std::vector<ColumnCopy> triangle_copies(const Rect& rect, bool is_lower);

}  // namespace kizami::multi
