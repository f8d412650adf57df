// SPDX-License-Identifier: MIT
// What a product that goes block by block (block_walk.hpp) and whoever reads its residues beside it share in device
// memory: words that are zero before the product, and again when the reader has ended.
#pragma once

#include <cstdint>

#include "kizami/host_device.hpp"
#include "product/block_walk.hpp"

namespace kizami::product {

/// words: [kFirstCount + blocks + most_epochs]
struct BlockReports {
  static constexpr std::uint32_t kClaims = 0;  ///< runs of columns that readers have taken
  static constexpr std::uint32_t kEnded = 32;  ///< blocks of the reader that have ended; a line of L2 of its own
  static constexpr std::uint32_t kFirstCount = 64;

  BlockWalk walk;
  std::uint32_t* words = nullptr;
  std::uint32_t most_epochs = 0;       ///< that are counted; 0: clusters keep no pace
  std::uint32_t reports_of_plane = 0;  ///< that a block gets of each plane

  [[nodiscard]] KIZAMI_HOST_DEVICE std::uint32_t* counts() const { return words + kFirstCount; }
  [[nodiscard]] KIZAMI_HOST_DEVICE std::uint32_t* epochs() const { return counts() + walk.num_blocks(); }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t num_words() const {
    return kFirstCount + walk.num_blocks() + most_epochs;
  }
  /// Of clusters that all have so many blocks of k. @param pace_blocks  of an epoch
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t num_epochs(std::uint32_t k_blocks,
                                                                      std::uint32_t pace_blocks) const {
    const std::uint32_t wanted = k_blocks / pace_blocks;
    return wanted < most_epochs ? wanted : most_epochs;
  }
};

}  // namespace kizami::product
