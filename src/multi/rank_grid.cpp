// SPDX-License-Identifier: MIT
#include "multi/rank_grid.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

namespace kizami::multi {
namespace {

/// Extents by where they begin, beside one another. @return false if one begins inside another
bool lay_out(const std::map<std::int64_t, std::int64_t>& extents, std::vector<LineRange>& ranges, std::int64_t& total) {
  total = 0;
  std::int64_t end = 0;
  for (const auto& [first, count] : extents) {
    if (first < end) return false;
    end = first + count;
    ranges.push_back({first, count, total});
    total += count;
  }
  return true;
}

}  // namespace

Status find_grid(const std::string& whose, std::span<const Rect> pieces, RankGrid& grid) {
  grid = {};
  std::map<std::int64_t, std::int64_t> rows;
  std::map<std::int64_t, std::int64_t> cols;
  std::size_t count = 0;
  bool is_grid = true;
  for (const Rect& piece : pieces) {
    if (piece.is_empty()) continue;
    ++count;
    is_grid = is_grid && rows.emplace(piece.row, piece.rows).first->second == piece.rows &&
              cols.emplace(piece.col, piece.cols).first->second == piece.cols;
  }
  // Pieces have no element in common, so each pair of ranges is there once at most.
  is_grid = is_grid && lay_out(rows, grid.rows, grid.num_rows) && lay_out(cols, grid.cols, grid.num_cols) &&
            count == rows.size() * cols.size();
  if (is_grid) return {};
  return {StatusCode::kInvalidArgument,
          "C: the " + std::to_string(count) + " pieces of " + whose +
              " must be all of some ranges of rows by some ranges of columns, such as one rectangle"};
}

std::vector<Passing> passing_rows(std::span<const Rect> held, std::span<const LineRange> rows) {
  std::vector<Passing> parts;
  for (std::size_t i = 0; i < held.size(); ++i) {
    for (const LineRange& range : rows) {
      const Rect both = intersection(held[i], {range.first, held[i].col, range.count, held[i].cols});
      if (!both.is_empty()) parts.push_back({i, both, range.at + both.row - range.first, both.col});
    }
  }
  return parts;
}

std::vector<Passing> passing_cols(std::span<const Rect> held, std::span<const LineRange> cols) {
  std::vector<Passing> parts;
  for (std::size_t i = 0; i < held.size(); ++i) {
    for (const LineRange& range : cols) {
      const Rect both = intersection(held[i], {held[i].row, range.first, held[i].rows, range.count});
      if (!both.is_empty()) parts.push_back({i, both, both.row, range.at + both.col - range.first});
    }
  }
  return parts;
}

}  // namespace kizami::multi
