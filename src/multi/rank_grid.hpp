// SPDX-License-Identifier: MIT
// What of C a rank computes: some rows by some columns, which are one matrix beside one another; and which parts of the
// operands pass between ranks for it. Pure, and the same on all ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kizami/status.hpp"
#include "multi/rect.hpp"

namespace kizami::multi {

/// Lines of a matrix, and where they lie in a rank's own.
struct LineRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t at = 0;
};

/// Rows and columns of C that a rank has.
struct RankGrid {
  std::vector<LineRange> rows;
  std::vector<LineRange> cols;
  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;

  [[nodiscard]] bool is_empty() const { return num_rows == 0 || num_cols == 0; }
};

/// @param pieces  of C, that have no element in common   @param whose  "rank 3"
/// @status kInvalidArgument: they are not all of some ranges of rows by some of columns
Status find_grid(const std::string& whose, std::span<const Rect> pieces, RankGrid& grid);

/// A part of an operand that a rank wants and another one, or itself, holds.
struct Passing {
  std::size_t piece = 0;  ///< of those of the rank that holds it
  Rect rect;              ///< of the matrix
  std::int64_t row = 0;   ///< where it comes to in the panel
  std::int64_t col = 0;
};
/// The parts of A, in its order of pieces, that a rank with these rows of C wants of those that another holds.
[[nodiscard]] std::vector<Passing> passing_rows(std::span<const Rect> held, std::span<const LineRange> rows);
/// And of B with these columns.
[[nodiscard]] std::vector<Passing> passing_cols(std::span<const Rect> held, std::span<const LineRange> cols);

/// Who a rank meets in a turn: all ranks meet in pairs, each other rank once in num_turns() turns. Itself: nobody.
[[nodiscard]] constexpr int num_turns(int size) { return size % 2 == 0 ? size - 1 : size; }
[[nodiscard]] constexpr int partner_of(int rank, int size, int turn) {
  const int turns = num_turns(size);
  if (size % 2 == 0 && rank == size - 1) {  // meets whoever would meet itself
    for (int other = 0; other < turns; ++other) {
      if (2 * other % turns == turn) return other;
    }
  }
  const int other = ((turn - rank) % turns + turns) % turns;
  if (other != rank) return other;
  return size % 2 == 0 ? size - 1 : rank;
}

}  // namespace kizami::multi
