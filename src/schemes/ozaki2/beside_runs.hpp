// SPDX-License-Identifier: MIT
// What warps of the CRT beside a product claim: runs of columns of half a block of C, in the order in which the product
// finishes blocks. Runs are shorter in the narrow groups at the end, where all warps wait for the last blocks and then
// share them.
#pragma once

#include <cstdint>

#include "kizami/host_device.hpp"
#include "product/block_walk.hpp"

namespace kizami::ozaki2 {

/// How many blocks of how many threads reconstruct beside a product.
inline constexpr unsigned kMostBesideThreads = 128;
struct BesideShape {
  unsigned threads = 96;       ///< whole warps, at most kMostBesideThreads
  unsigned blocks_per_sm = 4;  ///< one runs beside the product, the others when it ends
};

struct BesideRuns {
  static constexpr std::uint32_t kBlock = 256;     ///< rows and columns of a block
  static constexpr std::uint32_t kRows = 128;      ///< of a run: a warp with four rows a lane
  static constexpr std::uint32_t kColumns = 16;    ///< of a run
  static constexpr std::uint32_t kFewColumns = 4;  ///< of a run of the last blocks
  static constexpr std::uint32_t kHalves = kBlock / kRows;
  static constexpr std::uint32_t kRunsOfBlock = kHalves * (kBlock / kColumns);
  static constexpr std::uint32_t kRunsOfLastBlock = kHalves * (kBlock / kFewColumns);

  product::BlockWalk walk;

  struct Run {
    std::uint32_t block;
    std::int64_t first_row;
    std::int64_t first_col;
    std::int64_t end_col;  ///< may be beyond C
  };

  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t num_long_runs() const {
    return walk.first_narrow_block() * kRunsOfBlock;
  }
  /// @range walk has fewer than 2^24 blocks
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t num_runs() const {
    return num_long_runs() + (walk.num_blocks() - walk.first_narrow_block()) * kRunsOfLastBlock;
  }
  /// Neighbouring runs are the halves of the same columns: what one loads of a sector of L2, the other wants.
  /// @range number < num_runs()
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr Run run(std::uint32_t number) const {
    const bool is_long = number < num_long_runs();
    const std::uint32_t of_kind = is_long ? number : number - num_long_runs();
    const std::uint32_t of_block = is_long ? kRunsOfBlock : kRunsOfLastBlock;
    const std::uint32_t columns = is_long ? kColumns : kFewColumns;
    const std::uint32_t of_blocks = of_kind / of_block;
    const std::uint32_t in_block = of_kind - of_blocks * of_block;
    const std::uint32_t block = (is_long ? 0 : walk.first_narrow_block()) + of_blocks;
    const product::BlockWalk::Place at = walk.place(block);
    const std::int64_t first_col = std::int64_t{at.j} * kBlock + std::int64_t{in_block / kHalves} * columns;
    return {block, std::int64_t{at.i} * kBlock + std::int64_t{in_block % kHalves} * kRows, first_col,
            first_col + columns};
  }
};

}  // namespace kizami::ozaki2
