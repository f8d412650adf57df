// SPDX-License-Identifier: MIT
// Which part of C each device computes: pure functions of shape, speeds and memory. k is never cut.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "multi/rect.hpp"

namespace kizami::multi {

/// An extent in parts as large as their weights, that begin at multiples of a unit.
/// @range weights >= 0, not all 0; unit >= 1   @return the ends, rising, one for each weight; the last is `extent`
[[nodiscard]] std::vector<std::int64_t> cut_extent(std::int64_t extent, std::span<const double> weights,
                                                   std::int64_t unit);

/// C (m x n) in one block a device, as large as the devices are fast: groups of columns, each in blocks of rows. Of all
/// numbers of groups the one whose devices need the fewest lines of A and B together, of equal ones the largest. Where C
/// is large, blocks begin at multiples of 128; of a small C devices may go without.
/// @range  1 <= number of speeds; speeds > 0
[[nodiscard]] std::vector<Rect> deal_blocks(std::int64_t m, std::int64_t n, std::span<const double> speeds);

/// A block in parts, none of them empty, as equal as they can be: long ones begin at multiples of 128. Columns of parts
/// follow one another, every second from the last row to the first, so that each part has lines in common with the one
/// before.
/// @range  row_parts, col_parts >= 1
[[nodiscard]] std::vector<Rect> cut_block(const Rect& block, std::int64_t row_parts, std::int64_t col_parts);

}  // namespace kizami::multi
