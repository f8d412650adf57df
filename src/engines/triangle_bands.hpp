// SPDX-License-Identifier: MIT
// The order of tiles of any shape that have an element of one triangle of C, for kernels and for tests, as
// triangle_order.hpp has it of square ones: a lower triangle in bands of about 2048 lines along i, first the rectangle
// beside the diagonal with i innermost, then the tiles on the diagonal row by row. An upper one is its mirror image.
// Bands begin where rows and columns of tiles both do, so that all but the last have the same tiles on the diagonal.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engines/triangle_order.hpp"
#include "kizami/host_device.hpp"

namespace kizami::engines {

/// The least common multiple.
[[nodiscard]] constexpr std::uint32_t common_multiple(std::uint32_t x, std::uint32_t y) {
  std::uint32_t multiple = x;
  while (multiple % y != 0) multiple += x;
  return multiple;
}

/// A lower triangle of n lines in tiles of tile_i x tile_j. Tile row i has the columns of tiles [0, columns_of(i, n)).
template <std::uint32_t tile_i, std::uint32_t tile_j>
struct LowerBands {
  static constexpr std::uint32_t kPeriod = common_multiple(tile_i, tile_j);
  static constexpr std::uint32_t kLines = kPeriod * std::max(1U, (2048 + kPeriod / 2) / kPeriod);  ///< of a band
  static constexpr std::uint32_t kRows = kLines / tile_i;     ///< of tiles, in a band
  static constexpr std::uint32_t kColumns = kLines / tile_j;  ///< by which a band has more than the one before

  [[nodiscard]] static KIZAMI_HOST_DEVICE constexpr std::uint32_t rows_of(std::uint32_t n) {
    return (n + tile_i - 1) / tile_i;
  }
  [[nodiscard]] static KIZAMI_HOST_DEVICE constexpr std::uint32_t columns_of(std::uint32_t i, std::uint32_t n) {
    const std::uint32_t end = (i + 1) * tile_i;
    return ((end < n ? end : n) + tile_j - 1) / tile_j;
  }
  /// Tiles in `rows` rows of tiles from row `first` on.
  [[nodiscard]] static constexpr std::uint32_t num_tiles(std::uint32_t first, std::uint32_t rows, std::uint32_t n) {
    std::uint32_t sum = 0;
    for (std::uint32_t i = first; i < first + rows; ++i) sum += columns_of(i, n);
    return sum;
  }

  [[nodiscard]] static KIZAMI_HOST_DEVICE constexpr TileAt tile(std::uint32_t number, std::uint32_t n) {
    constexpr std::uint32_t kOfFirst = num_tiles(0, kRows, kLines);
    const std::uint32_t last = (n - 1) / kLines;
    std::uint32_t band = 0;
    for (std::uint32_t tiles = kOfFirst; band < last && number >= tiles; ++band) {
      number -= tiles;
      tiles += kRows * kColumns;
    }
    const std::uint32_t first = band * kRows;
    const std::uint32_t left = rows_of(n) - first;
    const std::uint32_t rows = left < kRows ? left : kRows;
    const std::uint32_t beside = band * kColumns;
    if (number < rows * beside) return {first + number % rows, number / rows};
    number -= rows * beside;
    std::uint32_t i = first;
    for (std::uint32_t here = columns_of(i, n) - beside; number >= here; here = columns_of(i, n) - beside) {
      number -= here;
      ++i;
    }
    return {i, beside + number};
  }
};

/// Tiles of tile_i x tile_j that have an element (i, j) with i >= j, or one with i <= j, of n x n. @range 1 <= n < 2^30
template <std::uint32_t tile_i, std::uint32_t tile_j>
[[nodiscard]] constexpr std::uint32_t num_triangle_tiles(std::uint32_t n, bool is_lower) {
  using Lower = LowerBands<tile_i, tile_j>;
  using Upper = LowerBands<tile_j, tile_i>;
  return is_lower ? Lower::num_tiles(0, Lower::rows_of(n), n) : Upper::num_tiles(0, Upper::rows_of(n), n);
}

/// @range number < num_triangle_tiles() < 2^30
template <std::uint32_t tile_i, std::uint32_t tile_j>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr TileAt triangle_tile(std::uint32_t number, std::uint32_t n, bool is_lower) {
  if (is_lower) return LowerBands<tile_i, tile_j>::tile(number, n);
  const TileAt mirrored = LowerBands<tile_j, tile_i>::tile(number, n);
  return {mirrored.j, mirrored.i};
}

}  // namespace kizami::engines
