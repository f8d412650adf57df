// SPDX-License-Identifier: MIT
// Which tiles of C a block takes, and where they are: tile_order.hpp, in the words of the device.
#pragma once

#include <cstdint>

#include "engines/tile_order.hpp"

namespace kizami::engines {

inline constexpr unsigned kWholeWarp = 0xFFFFFFFFU;

/// Where a tile is.
struct TilePlace {
  int plane;
  int i_first;
  int j_first;
};

__device__ __forceinline__ std::uint32_t divide(std::uint32_t x, const Divider& by) {
  return by.divisor == 1 ? x : __umulhi(x, by.multiplier) >> by.shift;
}

/// The place of a tile of kTileI x kTileJ elements.
template <int kTileI, int kTileJ>
__device__ __forceinline__ TilePlace place_of(std::uint32_t tile, const TileOrder& order) {
  const std::uint32_t plane = divide(tile, order.by_plane);
  const std::uint32_t in_plane = tile - plane * order.tiles_per_plane;
  const std::uint32_t band = divide(in_plane, order.by_band);
  const std::uint32_t in_band = in_plane - band * order.by_band.divisor;
  const Divider& by_width = band == order.last_band ? order.by_last_width : order.by_raster;
  const std::uint32_t j = divide(in_band, by_width);
  const std::uint32_t i = band * order.raster_tiles + (in_band - j * by_width.divisor);
  return {static_cast<int>(plane), static_cast<int>(i) * kTileI, static_cast<int>(j) * kTileJ};
}

/// The tiles of a block, or of a cluster of blocks, one a round: every tile_step-th. Of windows (product.hpp), whose
/// planes differ in length, the n-th of a round and the n-th from its end in turn, so that all end at about the same
/// time.
template <bool kHasWindows>
struct Turns {
  std::uint32_t first_tile;
  std::uint32_t tile_step;

  [[nodiscard]] __device__ __forceinline__ std::uint32_t tile(std::uint32_t round) const {
    const std::uint32_t at = kHasWindows && (round & 1) != 0 ? tile_step - 1 - first_tile : first_tile;
    return round * tile_step + at;
  }
};

}  // namespace kizami::engines
