// SPDX-License-Identifier: MIT
// What the products of this engine share of their kernel parameters: the tensor maps of both operands and the order in
// which clusters take tiles of C. Plain data, passed by value.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/int_math.hpp"

namespace kizami::engines::hopper {

/// The 128 bytes of a CUtensorMap, so that this header needs no CUDA.
struct alignas(128) TensorMapBits {
  std::uint64_t words[16];
};

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

/// Threads of every form: a producer warpgroup and two consumer warpgroups.
inline constexpr int kNumThreads = 384;

/// Tiles of a plane are walked in bands of raster_tiles along i, in which i is innermost. The last band may be
/// narrower.
struct TileWalk {
  TensorMapBits a_map;  ///< {bytes of k, line, plane}, or as tensor_maps.hpp says for permuted lines
  TensorMapBits b_map;  ///< {bytes of k, line, plane}
  std::int32_t m;
  std::int32_t n;
  std::int32_t num_k_blocks;  ///< of 128 bytes
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

/// Fills in the order of tiles of tile_i x cluster_j elements of C. raster_tiles = 0: a band of 2048 lines of A, about
/// as many as the lines of B that run beside it. Others are as fast (docs/perf/h200_call.md).
/// @range walk.m and walk.n are set and at least 1; fewer than 2^31 tiles
inline void set_order(TileWalk& walk, int tile_i, int cluster_j, int raster_tiles) {
  if (raster_tiles <= 0) raster_tiles = std::max(1, 2048 / tile_i);
  const auto tiles_i = static_cast<std::uint32_t>(base::ceil_div(walk.m, tile_i));
  const auto tiles_j = static_cast<std::uint32_t>(base::ceil_div(walk.n, cluster_j));
  const std::uint32_t raster = std::min(static_cast<std::uint32_t>(raster_tiles), tiles_i);
  walk.tiles_per_plane = tiles_i * tiles_j;
  walk.raster_tiles = raster;
  walk.last_band = (tiles_i - 1) / raster;
  walk.by_plane = make_divider(walk.tiles_per_plane);
  walk.by_band = make_divider(raster * tiles_j);
  walk.by_raster = make_divider(raster);
  walk.by_last_width = make_divider(tiles_i - walk.last_band * raster);
}

}  // namespace kizami::engines::hopper
