// SPDX-License-Identifier: MIT
// c = a + b. Tiles of 256 elements; the last one is masked.
#include <cuda_tile.h>

namespace ct = cuda::tiles;

/// @shape a, b, c: [n]; grid: ceil(n / 256)
extern "C" __tile_global__ void vector_add(const float* __restrict__ a, const float* __restrict__ b,
                                           float* __restrict__ c, int n) {
  const auto i = ct::bid().x;
  const auto view = [n](auto* data) {
    return ct::partition_view{ct::tensor_span{data, ct::extents{n}}, ct::shape<256>{}};
  };
  view(c).store_masked(view(a).load_masked(i) + view(b).load_masked(i), i);
}
