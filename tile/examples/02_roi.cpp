// SPDX-License-Identifier: MIT
// One idea: a view of part of memory.  A rectangle of an image is inverted, x -> 255 - x, and nothing around it
// changes.
//
//   image, 30 x 44 pixels in rows of 48        The span of the region starts at its first pixel. Its extents are those
//   +------------------------------+           of the region, its strides those of the image: a step down is a whole
//   |      +-----------+           |           row of memory.
//   |      |  region   |           |             pointer  = image + 5 * 48 + 7
//   |      +-----------+           |             extents  = {18, 25}
//   +------------------------------+             strides  = {48, 1}
#include <cstdint>
#include <cstdio>

#include "kizami/tile.hpp"
#include "support.hpp"

namespace ct = cuda::tiles;
using namespace ct::literals;

constexpr int kTile = 16;

/// @shape region: rows x cols pixels, a row every `pitch` pixels; grid: ceil(rows / 16) x ceil(cols / 16)
__tile_global__ void invert(std::uint8_t* region, int rows, int cols, int pitch) {
  const auto [i, j, unused] = ct::bid();
  const ct::layout_strided_mapping layout{ct::extents{rows, cols}, ct::strides{pitch, 1_ic}};
  const ct::partition_view tiles{ct::tensor_span{region, layout}, ct::shape<kTile, kTile>{}};
  const auto white = ct::full<ct::tile<std::uint8_t, ct::shape<kTile, kTile>>>(255);
  tiles.store_masked(white - tiles.load_masked(i, j), i, j);
}

int main() {
  const int height = 30, width = 44, pitch = 48;
  const int top = 5, left = 7, rows = 18, cols = 25;
  example::Array<std::uint8_t> image(height * pitch);
  const auto value = [](int y, int x) { return static_cast<std::uint8_t>((7 * y + 3 * x) % 256); };
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < pitch; ++x) image[y * pitch + x] = value(y, x);

  const dim3 grid(example::tiles(rows, kTile), example::tiles(cols, kTile));
  if (!example::ran(KIZAMI_TILE_LAUNCH(invert, grid, nullptr, image.data() + top * pitch + left, rows, cols, pitch)))
    return 1;

  example::Checks checks;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < pitch; ++x) {
      const bool is_inside = y >= top && y < top + rows && x >= left && x < left + cols;
      checks.expect(image[y * pitch + x] == (is_inside ? 255 - value(y, x) : value(y, x)));
    }
  }
  std::printf("inverted %d x %d pixels of %d x %d\n", rows, cols, height, width);
  return checks.result();
}
