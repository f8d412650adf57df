// SPDX-License-Identifier: MIT
// One idea: a kernel works on tiles.  c = a + b, 256 elements a block.
//   tensor_span      memory: a pointer and its extents
//   partition_view   how tiles are cut out of it: side by side
//   load_masked      tile number i; what lies beyond the end is zero, and store_masked leaves it alone
#include <cstdio>

#include "kizami/tile.hpp"
#include "support.hpp"

namespace ct = cuda::tiles;

/// @shape a, b, c: [n]; grid: ceil(n / 256)
__tile_global__ void vector_add(const float* a, const float* b, float* c, int n) {
  const auto i = ct::bid().x;
  const ct::partition_view a_tiles{ct::tensor_span{a, ct::extents{n}}, ct::shape<256>{}};
  const ct::partition_view b_tiles{ct::tensor_span{b, ct::extents{n}}, ct::shape<256>{}};
  const ct::partition_view c_tiles{ct::tensor_span{c, ct::extents{n}}, ct::shape<256>{}};
  c_tiles.store_masked(a_tiles.load_masked(i) + b_tiles.load_masked(i), i);
}

int main() {
  const int n = 1000;  // not a multiple of 256: the fourth tile is cut
  example::Array<float> a(n), b(n), c(n);
  for (int i = 0; i < n; ++i) {
    a[i] = static_cast<float>(i);
    b[i] = static_cast<float>(1000 - 3 * i);
  }
  if (!example::ran(KIZAMI_TILE_LAUNCH(vector_add, example::tiles(n, 256), nullptr, a.data(), b.data(), c.data(), n)))
    return 1;
  std::printf("c[0] = %g, c[999] = %g\n", c[0], c[999]);
  example::Checks checks;
  for (int i = 0; i < n; ++i) checks.expect(c[i] == a[i] + b[i]);
  return checks.result();
}
