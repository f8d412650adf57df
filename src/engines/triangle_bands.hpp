// SPDX-License-Identifier: MIT
// The order of tiles of any shape that have an element of one triangle of C, for kernels and for tests, as
// triangle_order.hpp has it of square ones: a lower triangle in bands of about 2048 lines along i, first the rectangle
// beside the diagonal with i innermost, then the tiles on the diagonal row by row. An upper one is its mirror image.
// Bands begin where rows and columns of tiles both do, so that all but the last have as many tiles on the diagonal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "engines/triangle_order.hpp"
#include "kizami/host_device.hpp"

namespace kizami::engines {

/// Of a lower triangle, or of one whose tiles are exchanged then.
struct TriangleBands {
  std::uint32_t n;
  std::uint32_t tile_i;
  std::uint32_t tile_j;
  std::uint32_t rows;      ///< of tiles, of a band
  std::uint32_t columns;   ///< of tiles, that a band has beside those of the band before
  std::uint32_t of_first;  ///< tiles of the first band, if that is whole
  std::uint32_t is_lower;

  [[nodiscard]] constexpr std::uint32_t num_rows() const { return (n + tile_i - 1) / tile_i; }
  /// Tiles in row i of tiles.
  [[nodiscard]] constexpr std::uint32_t columns_of(std::uint32_t i) const {
    return (std::min((i + 1) * tile_i, n) + tile_j - 1) / tile_j;
  }
  [[nodiscard]] constexpr std::uint32_t num_tiles() const {
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < num_rows(); ++i) sum += columns_of(i);
    return sum;
  }
};

/// The order of tiles that have an element (i, j) with i >= j of n x n, or one with i <= j.
/// @range 1 <= n < 2^30, fewer than 2^30 tiles
[[nodiscard]] constexpr TriangleBands triangle_bands(std::uint32_t n, std::uint32_t tile_i, std::uint32_t tile_j,
                                                     bool is_lower) {
  if (!is_lower) std::swap(tile_i, tile_j);
  std::uint32_t period = tile_i;  // the least common multiple
  while (period % tile_j != 0) period += tile_i;
  const std::uint32_t lines = period * std::max(1U, (2048 + period / 2) / period);
  TriangleBands bands{lines, tile_i, tile_j, lines / tile_i, lines / tile_j, 0, is_lower ? 1U : 0U};
  bands.of_first = bands.num_tiles();
  bands.n = n;
  return bands;
}

/// @range number < bands.num_tiles()
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr TileAt tile_in_bands(std::uint32_t number, const TriangleBands& bands) {
  std::uint32_t row = 0;     // the first of the band
  std::uint32_t beside = 0;  // columns of the rectangle
  for (std::uint32_t tiles = bands.of_first; number >= tiles && (row + bands.rows) * bands.tile_i < bands.n;) {
    number -= tiles;
    tiles += bands.rows * bands.columns;
    row += bands.rows;
    beside += bands.columns;
  }
  std::uint32_t rows = 0;  // of the band: the last one may have fewer
  while (rows < bands.rows && (row + rows) * bands.tile_i < bands.n) ++rows;
  TileAt at{};
  if (number < rows * beside) {
    at.j = number / rows;
    at.i = row + (number - at.j * rows);
  } else {
    number -= rows * beside;
    at.i = row;
    for (std::uint32_t here = 0;; ++at.i) {  // columns of row at.i beyond the rectangle
      const std::uint32_t end = (at.i + 1) * bands.tile_i;
      while ((beside + here) * bands.tile_j < (end < bands.n ? end : bands.n)) ++here;
      if (number < here) break;
      number -= here;
    }
    at.j = beside + number;
  }
  return bands.is_lower != 0 ? at : TileAt{at.j, at.i};
}

}  // namespace kizami::engines
