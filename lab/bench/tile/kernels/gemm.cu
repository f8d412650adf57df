// SPDX-License-Identifier: MIT
// C = A B of row-major matrices, tiles masked at every edge: FP16 with an FP32 accumulator, INT8 with an INT32 one.
#include <cuda_fp16.h>
#include <cuda_tile.h>

#include <cstdint>

namespace ct = cuda::tiles;

constexpr int kTileM = 128;
constexpr int kTileN = 128;
constexpr int kTileK = 64;

/// @shape A: m x k, B: k x n, C: m x n, row-major, dense; grid: ceil(m / 128) x ceil(n / 128)
template <class In, class Accumulator>
__tile__ void multiply(const In* __restrict__ A, const In* __restrict__ B, Accumulator* __restrict__ C, int m, int n,
                       int k) {
  const auto [i, j, unused] = ct::bid();
  const auto a_view = ct::partition_view{ct::tensor_span{A, ct::extents{m, k}}, ct::shape<kTileM, kTileK>{}};
  const auto b_view = ct::partition_view{ct::tensor_span{B, ct::extents{k, n}}, ct::shape<kTileK, kTileN>{}};
  auto c_view = ct::partition_view{ct::tensor_span{C, ct::extents{m, n}}, ct::shape<kTileM, kTileN>{}};
  auto sum = ct::zeros<ct::tile<Accumulator, ct::shape<kTileM, kTileN>>>();
  for (const int l : ct::irange(0, ct::ceildiv(k, kTileK)))
    sum = ct::mma(a_view.load_masked(i, l), b_view.load_masked(l, j), sum);
  c_view.store_masked(sum, i, j);
}

extern "C" __tile_global__ void gemm_f16(const __half* __restrict__ A, const __half* __restrict__ B,
                                         float* __restrict__ C, int m, int n, int k) {
  multiply(A, B, C, m, n, k);
}

extern "C" __tile_global__ void gemm_i8(const std::int8_t* __restrict__ A, const std::int8_t* __restrict__ B,
                                        std::int32_t* __restrict__ C, int m, int n, int k) {
  multiply(A, B, C, m, n, k);
}
