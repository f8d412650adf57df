// SPDX-License-Identifier: MIT
// One idea: a halo.  One step of heat flow: every cell becomes the mean of its four neighbours.
// The field has a border of one cell, so that every cell has neighbours. A tile cannot be shifted by one element; but a
// span can: the neighbours to the west of a tile are the tile of a span that starts one element earlier. So five spans,
// no five copies, and no conditions. Where the tiles reach beyond the field, masks cut them.
//
//        . n n n n .
//        w c c c c e       c: the tile to be made; n, s, w, e: what it needs around it
//        w c c c c e
//        . s s s s .
#include <cstdio>

#include "kizami/tile.hpp"
#include "support.hpp"

namespace ct = cuda::tiles;
using namespace ct::literals;

constexpr int kTile = 16;

/// @shape in, out: (rows + 2) x (cols + 2), row-major; only the inner cells of out are written; grid: ceil(rows / 16) x
///        ceil(cols / 16)
__tile_global__ void diffuse(const float* in, float* out, int rows, int cols) {
  const auto i = ct::bid().x;  // not as a structured binding: clang 14 lets no lambda see one
  const auto j = ct::bid().y;
  const int pitch = cols + 2;
  const ct::layout_strided_mapping inner{ct::extents{rows, cols}, ct::strides{pitch, 1_ic}};
  const auto shifted = [&](int down, int right) {  // the tile (i, j), seen from that far away
    const float* corner = in + (1 + down) * pitch + (1 + right);
    return ct::partition_view{ct::tensor_span{corner, inner}, ct::shape<kTile, kTile>{}}.load_masked(i, j);
  };
  const auto mean = 0.25F * (shifted(-1, 0) + shifted(1, 0) + shifted(0, -1) + shifted(0, 1));
  const ct::partition_view out_tiles{ct::tensor_span{out + pitch + 1, inner}, ct::shape<kTile, kTile>{}};
  out_tiles.store_masked(mean, i, j);
}

int main() {
  const int rows = 37, cols = 50, pitch = cols + 2;
  example::Array<float> now((rows + 2) * pitch), next((rows + 2) * pitch);
  for (int y = 0; y < rows + 2; ++y)
    for (int x = 0; x < pitch; ++x) now[y * pitch + x] = static_cast<float>((y * 29 + x * 17) % 64);

  const dim3 grid(example::tiles(rows, kTile), example::tiles(cols, kTile));
  if (!example::ran(KIZAMI_TILE_LAUNCH(diffuse, grid, nullptr, now.data(), next.data(), rows, cols))) return 1;

  example::Checks checks;  // integers below 64, and a quarter of their sum: exact
  for (int y = 0; y < rows + 2; ++y) {
    for (int x = 0; x < pitch; ++x) {
      const bool is_border = y == 0 || y == rows + 1 || x == 0 || x == cols + 1;
      const int at = y * pitch + x;
      checks.expect(next[at] ==
                    (is_border ? 0.0F : 0.25F * (now[at - pitch] + now[at + pitch] + now[at - 1] + now[at + 1])));
    }
  }
  std::printf("diffused %d x %d cells, the first is %g\n", rows, cols, static_cast<double>(next[pitch + 1]));
  return checks.result();
}
