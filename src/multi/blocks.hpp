// SPDX-License-Identifier: MIT
// Which part of C each device computes: pure functions of shape, speeds and memory. k is never cut.
#pragma once

#include <cstddef>
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

// One triangle of an n x n C, i >= j. Of blocks on the diagonal (row == col) the triangle is meant, of others all.

[[nodiscard]] constexpr bool is_triangle(const Rect& block) { return block.row == block.col; }
/// Pairs of lines that make a block; of a triangle half of its square.
[[nodiscard]] constexpr double num_pairs(const Rect& block) {
  return static_cast<double>(block.rows) * static_cast<double>(block.cols) * (is_triangle(block) ? 0.5 : 1);
}

/// The triangle in blocks for each device, of areas as large as the devices are fast: groups of columns, each cut across
/// for its devices. Of all groups those by which the device with the most lines to split has fewest, of equal ones the
/// fewest lines in all. Two devices: the upper triangle of 0.71 n, and what is below it, whose rows both of its blocks
/// have in common. Four: two triangles of n / 2, and the square between them in two. Where C is large, blocks begin at
/// multiples of 128.
/// @param  beside  time of a pair of a block beside the diagonal, of one in a triangle 1: not areas are as large then but
///         times, unless that wants more blocks, each of which has a certificate and lines of its own
/// @range  n >= 0; 1 <= number of speeds; speeds > 0; beside > 0   @return none empty, those of a device that have rows in
///         common behind one another, a triangle first; of a small C devices may go without
[[nodiscard]] std::vector<std::vector<Rect>> deal_triangle(std::int64_t n, std::span<const double> speeds,
                                                           double beside = 1);

/// A block in smaller ones of about half its extents: a triangle in two and the square between them, others in two
/// along the longer side. A block of one element stays.
[[nodiscard]] std::vector<Rect> halve_block(const Rect& block);
/// All blocks in about half. @return whether any was cut
bool halve_all(std::vector<Rect>& blocks);

/// One device's blocks of a triangle that so many devices share, in at least so many parts; 0: as many as gain. A triangle
/// alone stays whole: what its halves split and bring again costs as much as is hidden by their order. A square alone is
/// cut in two, so that one half's lines come beside the other's products.
/// @range parts >= 0
[[nodiscard]] std::vector<Rect> cut_share_of_triangle(std::vector<Rect> dealt, int parts, std::size_t devices);

}  // namespace kizami::multi
