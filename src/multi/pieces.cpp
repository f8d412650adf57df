// SPDX-License-Identifier: MIT
#include "multi/pieces.hpp"

#include <string>

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

}  // namespace kizami::multi
