// SPDX-License-Identifier: MIT
#include "multi/pieces.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "schemes/ozaki2/strassen.hpp"

namespace kizami::multi {
namespace {

[[nodiscard]] std::string text_of(const Rect& rect) {
  return std::to_string(rect.rows) + " x " + std::to_string(rect.cols) + " at (" + std::to_string(rect.row) + ", " +
         std::to_string(rect.col) + ")";
}

}  // namespace

Status validate_pieces(const char* name, std::int64_t rows, std::int64_t cols, std::span<const Rect> pieces) {
  const auto invalid = [name](const std::string& what) {
    return Status(StatusCode::kInvalidArgument, std::string(name) + what);
  };
  const Rect whole{0, 0, rows, cols};
  std::int64_t covered = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Rect& piece = pieces[i];
    const std::string which = ": piece " + std::to_string(i) + ", " + text_of(piece);
    if (piece.rows < 0 || piece.cols < 0) return invalid(which + ", must have no negative extent");
    if (piece.is_empty()) continue;
    if (!contains(whole, piece)) return invalid(which + ", must lie in the matrix, " + text_of(whole));
    for (std::size_t other = 0; other < i; ++other) {
      if (intersection(piece, pieces[other]).is_empty()) continue;
      return invalid(which + ", must have no element in common with piece " + std::to_string(other) + ", " +
                     text_of(pieces[other]));
    }
    covered += piece.rows * piece.cols;
  }
  if (covered == rows * cols) return {};
  return invalid(": its pieces have " + std::to_string(covered) + " elements, must have all " +
                 std::to_string(rows * cols) + " of " + std::to_string(rows) + " x " + std::to_string(cols));
}

std::vector<Holding> holdings_of(const Rect& wanted, std::span<const Rect> pieces) {
  std::vector<Holding> holdings;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Rect both = intersection(wanted, pieces[i]);
    if (!both.is_empty()) holdings.push_back({i, both});
  }
  return holdings;
}

std::vector<Holding> holdings_in_turn(const Rect& wanted, std::span<const Rect> pieces, std::span<const int> devices,
                                      int device) {
  std::vector<Holding> holdings = holdings_of(wanted, pieces);
  std::stable_sort(holdings.begin(), holdings.end(), [&](const Holding& x, const Holding& y) {
    const auto turn = [&](const Holding& holding) {
      const int there = devices[holding.piece];
      return std::pair(there < device, there);
    };
    return turn(x) < turn(y);
  });
  return holdings;
}

std::array<Rect, 2> part_of_panel(const Rect& panel, PanelLines lines, int i, int count) {
  if (count == 1) return {panel, {}};
  const bool are_rows = lines == PanelLines::kRows;
  const ozaki2::QuadrantLines part = ozaki2::quadrant_lines(are_rows ? panel.rows : panel.cols, i, count);
  std::array<Rect, 2> rects;
  for (const std::size_t half : {std::size_t{0}, std::size_t{1}}) {
    const std::int64_t first = part.begin[half];
    const std::int64_t num = part.end[half] - first;
    rects[half] = are_rows ? Rect{panel.row + first, panel.col, num, panel.cols}
                           : Rect{panel.row, panel.col + first, panel.rows, num};
  }
  return rects;
}

std::vector<ColumnCopy> triangle_copies(const Rect& rect, bool is_lower) {
  constexpr std::int64_t kBand = 64;  // as many copies of a column each; twice as many strips at 8192
  const std::int64_t row_end = rect.row + rect.rows;
  const std::int64_t col_end = rect.col + rect.cols;
  std::vector<ColumnCopy> copies;
  const auto add = [&](const ColumnCopy& copy) {
    if (copy.length > 0 && copy.count > 0) copies.push_back(copy);
  };
  // Columns with all rows, and those that the diagonal crosses: [first, end).
  const std::int64_t first =
      is_lower ? std::max(rect.col, std::min(rect.row + 1, col_end)) : std::max(rect.col, rect.row);
  const std::int64_t end = is_lower ? std::min(col_end, row_end) : std::min(col_end, std::max(row_end - 1, rect.col));
  if (is_lower) {
    add({rect.row, rect.col, rect.rows, first - rect.col});
  } else {
    const std::int64_t all = std::max(end, rect.col);
    add({rect.row, all, rect.rows, col_end - all});
  }
  for (std::int64_t x = first; x < end; x += kBand) {
    const std::int64_t next = std::min(x + kBand, end);
    if (is_lower) {
      add({next, x, row_end - next, next - x});
    } else {
      add({rect.row, x, x - rect.row, next - x});
    }
  }
  // Columns whose kBand elements from the diagonal on are inside; of the others each by itself.
  const std::int64_t band_first = is_lower ? first : std::clamp(rect.row + kBand - 1, first, std::max(first, end));
  const std::int64_t band_end = is_lower ? std::clamp(row_end - kBand + 1, first, std::max(first, end)) : end;
  if (band_first < band_end)
    add({is_lower ? band_first : band_first - kBand + 1, band_first, kBand, band_end - band_first, true});
  for (std::int64_t j = first; j < end; ++j) {
    if (band_first <= j && j < band_end) continue;
    if (is_lower) {
      add({j, j, row_end - j, 1});
    } else {
      add({rect.row, j, j + 1 - rect.row, 1});
    }
  }
  return copies;
}

}  // namespace kizami::multi
