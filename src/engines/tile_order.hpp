// SPDX-License-Identifier: MIT
// The order in which the blocks (or clusters of blocks) of a product kernel take tiles of C, as parameters of the kernel.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/int_math.hpp"

namespace kizami::engines {

/// Which line of A is column c of a tile on chip. kInOrder: line c, and an epilogue of bytes transposes within groups of
/// four threads. kPermuted: such an order that each thread holds 16 consecutive i (store_tile.cuh).
enum class LineOrder : std::uint8_t { kInOrder, kPermuted };

/// Division of numbers below 2^31 by a constant: quotient = high word of (number * multiplier), shifted right.
struct Divider {
  std::uint32_t divisor;
  std::uint32_t multiplier;
  std::uint32_t shift;
};

/// @range 1 <= divisor < 2^31
/// @exact With s = ceil(log2(divisor)) and M = ceil(2^(31 + s) / divisor), M = 2^(31 + s) / divisor + e with 0 <= e <
///        1, and x e / 2^(31 + s) < 2^-s <= 1 / divisor for x < 2^31: the floor is that of x / divisor. M < 2^32 + 1;
///        it is 2^32 for no divisor but 1 (2^31 for other powers of two), which is kept apart by a multiplier of 0.
[[nodiscard]] constexpr Divider make_divider(std::uint32_t divisor) {
  std::uint32_t s = 0;
  while ((std::uint64_t{1} << s) < divisor) ++s;
  if (s == 0) return {1, 0, 0};
  const std::uint64_t scale = std::uint64_t{1} << (31 + s);
  return {divisor, static_cast<std::uint32_t>((scale + divisor - 1) / divisor), s - 1};
}

/// Tiles of a plane are walked in bands of raster_tiles along i, in which i is innermost. The last band may be
/// narrower.
struct TileOrder {
  std::int32_t m;
  std::int32_t n;
  std::int32_t num_k_blocks;
  std::int32_t a_plane_step;  ///< 0 if all planes share the lines of A, else 1
  std::int32_t b_plane_step;
  std::uint32_t tiles_per_plane;
  std::uint32_t raster_tiles;
  Divider by_plane;       ///< tiles_per_plane
  Divider by_band;        ///< tiles of a whole band
  Divider by_raster;      ///< raster_tiles
  Divider by_last_width;  ///< tiles along i of the last band
  std::uint32_t last_band;
};

/// Fills in the order of tiles of tile_i x tile_j elements of C. raster_tiles = 0: a band of 2048 lines of A, about
/// as many as the lines of B that run beside it. Others are as fast (docs/perf/h200_call.md).
/// @range order.m and order.n are set and at least 1; fewer than 2^31 tiles
inline void set_order(TileOrder& order, int tile_i, int tile_j, int raster_tiles) {
  if (raster_tiles <= 0) raster_tiles = std::max(1, 2048 / tile_i);
  const auto tiles_i = static_cast<std::uint32_t>(base::ceil_div(order.m, tile_i));
  const auto tiles_j = static_cast<std::uint32_t>(base::ceil_div(order.n, tile_j));
  const std::uint32_t raster = std::min(static_cast<std::uint32_t>(raster_tiles), tiles_i);
  order.tiles_per_plane = tiles_i * tiles_j;
  order.raster_tiles = raster;
  order.last_band = (tiles_i - 1) / raster;
  order.by_plane = make_divider(order.tiles_per_plane);
  order.by_band = make_divider(raster * tiles_j);
  order.by_raster = make_divider(raster);
  order.by_last_width = make_divider(tiles_i - order.last_band * raster);
}

}  // namespace kizami::engines
