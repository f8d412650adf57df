// SPDX-License-Identifier: MIT
// s(i) = sum_j A(i, j) of a row-major matrix, a tile of 4 x 128 elements at a time.
#include <cuda_tile.h>

namespace ct = cuda::tiles;

/// @shape A: m x n, dense; s: [m]; grid: ceil(m / 4)
extern "C" __tile_global__ void row_sum(const float* __restrict__ A, float* __restrict__ s, int m, int n) {
  const auto i = ct::bid().x;
  const auto a_view = ct::partition_view{ct::tensor_span{A, ct::extents{m, n}}, ct::shape<4, 128>{}};
  auto s_view = ct::partition_view{ct::tensor_span{s, ct::extents{m, 1}}, ct::shape<4, 1>{}};
  auto sum = ct::zeros<ct::tile<float, ct::shape<4, 1>>>();
  for (const int j : ct::irange(0, ct::ceildiv(n, 128))) sum = sum + ct::sum<1>(a_view.load_masked(i, j));
  s_view.store_masked(sum, i, 0);
}
