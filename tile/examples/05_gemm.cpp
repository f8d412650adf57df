// SPDX-License-Identifier: MIT
// One idea: matrix products of tiles.  C = A B, FP16 operands, sums in FP32.
// A block makes one 32 x 64 tile of C. It walks along k, 64 at a time: acc = mma(a, b, acc) adds a b to acc. Masked
// loads put zeros beyond the edges, which add nothing, and the masked store leaves out what C does not have: any m, n,
// k will do.
#include <cstdio>

#include "kizami/tile.hpp"
#include "support.hpp"

namespace ct = cuda::tiles;

constexpr int kTileM = 32;
constexpr int kTileN = 64;
constexpr int kTileK = 64;

/// @shape A: m x k, B: k x n, C: m x n, row-major; grid: ceil(m / 32) x ceil(n / 64)
__tile_global__ void gemm(const __half* A, const __half* B, float* C, int m, int n, int k) {
  const auto [i, j, unused] = ct::bid();
  const ct::partition_view a_tiles{ct::tensor_span{A, ct::extents{m, k}}, ct::shape<kTileM, kTileK>{}};
  const ct::partition_view b_tiles{ct::tensor_span{B, ct::extents{k, n}}, ct::shape<kTileK, kTileN>{}};
  const ct::partition_view c_tiles{ct::tensor_span{C, ct::extents{m, n}}, ct::shape<kTileM, kTileN>{}};
  auto acc = ct::zeros<ct::tile<float, ct::shape<kTileM, kTileN>>>();
  for (const int l : ct::irange(0, ct::ceildiv(k, kTileK)))
    acc = ct::mma(a_tiles.load_masked(i, l), b_tiles.load_masked(l, j), acc);
  c_tiles.store_masked(acc, i, j);
}

int main() {
  const int m = 70, n = 100, k = 150;
  example::Array<__half> A(m * k), B(k * n);
  example::Array<float> C(m * n);
  const auto a_value = [](int i) { return i * 7 % 11 - 5; };
  const auto b_value = [](int i) { return i * 5 % 13 - 6; };
  for (int i = 0; i < m * k; ++i) A[i] = static_cast<__half>(static_cast<float>(a_value(i)));
  for (int i = 0; i < k * n; ++i) B[i] = static_cast<__half>(static_cast<float>(b_value(i)));

  const dim3 grid(example::tiles(m, kTileM), example::tiles(n, kTileN));
  if (!example::ran(KIZAMI_TILE_LAUNCH(gemm, grid, nullptr, A.data(), B.data(), C.data(), m, n, k))) return 1;

  example::Checks checks;  // small integers: FP32 sums are exact, in any order
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      int expected = 0;
      for (int l = 0; l < k; ++l) expected += a_value(i * k + l) * b_value(l * n + j);
      checks.expect(C[i * n + j] == static_cast<float>(expected));
    }
  }
  std::printf("C is %d x %d, C(0, 0) = %g\n", m, n, static_cast<double>(C[0]));
  return checks.result();
}
