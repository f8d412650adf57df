// SPDX-License-Identifier: MIT
// The order of square tiles that have an element of one triangle of C, for kernels and for tests. A lower triangle is
// walked in bands of raster_tiles tiles along i: the rectangle beside the diagonal with i innermost, as tile_order.hpp
// walks all of C, then the triangle of tiles on the diagonal. An upper one is its mirror image.
#pragma once

#include <cstdint>

#include "base/triangular.hpp"
#include "kizami/host_device.hpp"

namespace kizami::engines {

struct TriangleOrder {
  std::uint32_t tiles_along;   ///< of either side
  std::uint32_t raster_tiles;  ///< at least 1
  std::uint32_t is_lower;

  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t num_tiles() const { return base::triangular(tiles_along); }
};

/// A tile by its number along either side.
struct TileAt {
  std::uint32_t i;
  std::uint32_t j;
};

/// @range number < order.num_tiles() < 2^30
[[nodiscard]] KIZAMI_HOST_DEVICE inline TileAt tile_in_triangle(std::uint32_t number, const TriangleOrder& order) {
  const std::uint32_t row = base::triangular_root(number);
  const std::uint32_t band = row / order.raster_tiles * order.raster_tiles;  // its first row
  const std::uint32_t left = order.tiles_along - band;
  const std::uint32_t width = left < order.raster_tiles ? left : order.raster_tiles;
  const std::uint32_t in_band = number - base::triangular(band);
  TileAt at{};
  if (in_band < width * band) {
    at.j = in_band / width;
    at.i = band + (in_band - at.j * width);
  } else {
    const std::uint32_t on_diagonal = in_band - width * band;
    const std::uint32_t row_there = base::triangular_root(on_diagonal);
    at = {band + row_there, band + (on_diagonal - base::triangular(row_there))};
  }
  return order.is_lower != 0 ? at : TileAt{at.j, at.i};
}

}  // namespace kizami::engines
