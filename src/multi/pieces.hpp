// SPDX-License-Identifier: MIT
// A matrix in pieces, as rectangles: whether they make up the matrix, and which of them hold a part of it.
#pragma once

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

}  // namespace kizami::multi
