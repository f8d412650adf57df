// SPDX-License-Identifier: MIT
// The order of a product that finishes C block by block, so that what reads the residues of all moduli can begin while
// other blocks are still multiplied.
//
// Blocks of C are numbered in bands of raster_blocks blocks along i, in which i is innermost. Neighbours in that order
// make a group: all planes of a group come before the first plane of the next, and inside a plane its blocks follow one
// another. A group of as many blocks as run at a time reads each line of a plane once, as a product that goes plane by
// plane does. What is left when a group is finished is the reader's last part, so groups become narrower towards the
// end: each takes half of what is left.
//
//   tile number -> (plane, block):   group 0: plane 0 of its blocks, plane 1, ..; group 1: ..
//
// For each block a count tells how many of those that store its residues have done so, of all planes together. The
// reader waits for all of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/int_math.hpp"
#include "kizami/host_device.hpp"

namespace kizami::product {

/// Plain data for kernels. @range fewer than 2^31 tiles in all
struct BlockWalk {
  static constexpr int kMostNarrow = 16;

  std::uint32_t blocks_i;
  std::uint32_t blocks_j;
  std::uint32_t raster_blocks;  ///< of a band along i; the last band may be narrower
  std::uint32_t group_blocks;
  std::uint32_t num_whole_groups;
  /// Behind these the narrower groups: group x has blocks [narrow[x], narrow[x + 1]); entries behind the last are the
  /// number of blocks.
  std::uint32_t narrow[kMostNarrow + 1];

  struct Tile {
    std::uint32_t plane;
    std::uint32_t block;
  };
  struct Place {
    std::uint32_t i;  ///< in blocks
    std::uint32_t j;
  };

  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t num_blocks() const { return blocks_i * blocks_j; }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t first_narrow_block() const { return narrow[0]; }

  /// @range number < num_blocks() * planes; planes >= 1
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr Tile tile(std::uint32_t number, std::uint32_t planes) const {
    const std::uint32_t group = number / (group_blocks * planes);
    std::uint32_t first = group * group_blocks;
    std::uint32_t width = group_blocks;
    if (group >= num_whole_groups) {
      int x = 0;
      while (x + 1 < kMostNarrow && number >= narrow[x + 1] * planes) ++x;
      first = narrow[x];
      width = narrow[x + 1] - first;
    }
    const std::uint32_t in_group = number - first * planes;
    const std::uint32_t plane = in_group / width;
    return {plane, first + (in_group - plane * width)};
  }

  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr Place place(std::uint32_t block) const {
    const std::uint32_t band = block / (raster_blocks * blocks_j);
    const std::uint32_t first = band * raster_blocks;
    const std::uint32_t left = blocks_i - first;
    const std::uint32_t width = left < raster_blocks ? left : raster_blocks;
    const std::uint32_t in_band = block - first * blocks_j;
    const std::uint32_t j = in_band / width;
    return {first + (in_band - j * width), j};
  }
};

/// A narrow group has so many blocks at least, but for the last.
inline constexpr std::uint32_t kLeastGroupBlocks = 4;

/// @param group_blocks  about as many as are multiplied at a time
/// @range  m, n, block_i, block_j, group_blocks, raster_blocks >= 1; fewer than 2^31 blocks
[[nodiscard]] constexpr BlockWalk make_block_walk(std::int64_t m, std::int64_t n, std::int64_t block_i,
                                                  std::int64_t block_j, std::uint32_t group_blocks,
                                                  std::uint32_t raster_blocks) {
  BlockWalk walk{};
  walk.blocks_i = static_cast<std::uint32_t>(base::ceil_div(m, block_i));
  walk.blocks_j = static_cast<std::uint32_t>(base::ceil_div(n, block_j));
  walk.raster_blocks = std::min(raster_blocks, walk.blocks_i);
  const std::uint32_t blocks = walk.num_blocks();
  walk.group_blocks = std::min(group_blocks, blocks);
  // Between half a group and one and a half are left for the narrow ones.
  walk.num_whole_groups = (blocks - walk.group_blocks / 2) / walk.group_blocks;
  if (walk.num_whole_groups * walk.group_blocks == blocks) --walk.num_whole_groups;
  std::uint32_t at = walk.num_whole_groups * walk.group_blocks;
  for (int x = 0; x <= BlockWalk::kMostNarrow; ++x) {
    walk.narrow[x] = at;
    const std::uint32_t left = blocks - at;
    at += x + 1 == BlockWalk::kMostNarrow ? left : std::min(left, std::max(kLeastGroupBlocks, (left + 1) / 2));
  }
  return walk;
}

}  // namespace kizami::product
