// SPDX-License-Identifier: MIT
// One idea: integer products from INT8 ones.  C = A B modulo coprime p_1 ... p_4 determines C, if |C| < P / 2 with
// P = p_1 p_2 p_3 p_4. Three kernels, each with the modulus as the third dimension of the grid or of a span:
//   split     x mod p, symmetric: in [-p / 2, p / 2), which fits INT8
//   product   INT8 matrices, sums in INT32, and the epilogue reduces them modulo p again
//   crt       X = sum_i c_i w_i with w_i = 1 mod p_i and 0 mod the others; C is X mod P, symmetric
#include <cstdint>
#include <cstdio>

#include "kizami/tile.hpp"
#include "support.hpp"

namespace ct = cuda::tiles;

constexpr int kTile = 32;
constexpr int kTileK = 64;
constexpr int kModuli = 4;

/// x - p round(x / p), in [-p / 2, p / 2). @range |2 x + p| within the type
template <class T, class P>
__tile__ T symmetric_residue(T x, P p) {
  return x - p * ct::floordiv(2 * x + p, 2 * p);
}

/// @shape x: rows x cols; residues: 4 x rows x cols; grid: ceil(rows / 32) x ceil(cols / 32) x 4
__tile_global__ void split(const std::int32_t* x, std::int8_t* residues, const std::int32_t* moduli, int rows,
                           int cols) {
  const auto [i, j, r] = ct::bid();
  const ct::partition_view x_tiles{ct::tensor_span{x, ct::extents{rows, cols}}, ct::shape<kTile, kTile>{}};
  const ct::partition_view r_tiles{ct::tensor_span{residues, ct::extents{kModuli, rows, cols}},
                                   ct::shape<1, kTile, kTile>{}};
  const auto residue = ct::element_cast<std::int8_t>(symmetric_residue(x_tiles.load_masked(i, j), moduli[r]));
  r_tiles.store_masked(ct::reshape(residue, ct::shape<1, kTile, kTile>{}), r, i, j);
}

/// @shape A: 4 x m x k, B: 4 x k x n, C: 4 x m x n; grid: ceil(m / 32) x ceil(n / 32) x 4.  @range k < 2^17: sums below
///        2^31
__tile_global__ void product(const std::int8_t* A, const std::int8_t* B, std::int8_t* C, const std::int32_t* moduli,
                             int m, int n, int k) {
  const auto [i, j, r] = ct::bid();
  const ct::partition_view a_tiles{ct::tensor_span{A, ct::extents{kModuli, m, k}}, ct::shape<1, kTile, kTileK>{}};
  const ct::partition_view b_tiles{ct::tensor_span{B, ct::extents{kModuli, k, n}}, ct::shape<1, kTileK, kTile>{}};
  const ct::partition_view c_tiles{ct::tensor_span{C, ct::extents{kModuli, m, n}}, ct::shape<1, kTile, kTile>{}};
  auto acc = ct::zeros<ct::tile<std::int32_t, ct::shape<1, kTile, kTile>>>();
  for (const int l : ct::irange(0, ct::ceildiv(k, kTileK)))
    acc = ct::mma(a_tiles.load_masked(r, i, l), b_tiles.load_masked(r, l, j), acc);
  const auto wide = ct::element_cast<std::int64_t>(acc);
  c_tiles.store_masked(ct::element_cast<std::int8_t>(symmetric_residue(wide, std::int64_t{moduli[r]})), r, i, j);
}

/// @shape residues: 4 x m x n; weights: [4]; C: m x n; grid: ceil(m / 32) x ceil(n / 32)
__tile_global__ void crt(const std::int8_t* residues, const std::int64_t* weights, std::int64_t product_of_moduli,
                         std::int64_t* C, int m, int n) {
  const auto [i, j, unused] = ct::bid();
  const ct::partition_view r_tiles{ct::tensor_span{residues, ct::extents{kModuli, m, n}}, ct::shape<1, kTile, kTile>{}};
  const ct::partition_view c_tiles{ct::tensor_span{C, ct::extents{m, n}}, ct::shape<kTile, kTile>{}};
  auto x = ct::zeros<ct::tile<std::int64_t, ct::shape<1, kTile, kTile>>>();
  for (const int r : ct::irange(0, kModuli))
    x = x + ct::element_cast<std::int64_t>(r_tiles.load_masked(r, i, j)) * weights[r];
  c_tiles.store_masked(ct::reshape(symmetric_residue(x, product_of_moduli), ct::shape<kTile, kTile>{}), i, j);
}

int main() {
  const int m = 45, n = 50, k = 120;
  example::Array<std::int32_t> a(m * k), b(k * n), moduli(kModuli);
  example::Array<std::int64_t> weights(kModuli), C(m * n);
  example::Array<std::int8_t> a_residues(kModuli * m * k), b_residues(kModuli * k * n), c_residues(kModuli * m * n);
  for (int i = 0; i < m * k; ++i) a[i] = i * 7919 % 8001 - 4000;  // |C| <= 120 * 4000^2 = 1.92e9 < P / 2 = 2.07e9
  for (int i = 0; i < k * n; ++i) b[i] = i * 6007 % 8001 - 4000;
  std::int64_t product_of_moduli = 1;
  int next = 0;
  for (const int p : {256, 255, 253, 251}) {  // pairwise coprime
    moduli[next++] = p;
    product_of_moduli *= p;
  }
  for (int r = 0; r < kModuli; ++r) {
    const std::int64_t others = product_of_moduli / moduli[r];
    std::int64_t inverse = 1;
    while (others % moduli[r] * inverse % moduli[r] != 1) ++inverse;
    weights[r] = others * inverse;
  }
  const auto grid = [](int rows, int cols, unsigned layers) {
    return dim3(example::tiles(rows, kTile), example::tiles(cols, kTile), layers);
  };
  if (!example::ran(
          KIZAMI_TILE_LAUNCH(split, grid(m, k, kModuli), nullptr, a.data(), a_residues.data(), moduli.data(), m, k)) ||
      !example::ran(
          KIZAMI_TILE_LAUNCH(split, grid(k, n, kModuli), nullptr, b.data(), b_residues.data(), moduli.data(), k, n)) ||
      !example::ran(KIZAMI_TILE_LAUNCH(product, grid(m, n, kModuli), nullptr, a_residues.data(), b_residues.data(),
                                       c_residues.data(), moduli.data(), m, n, k)) ||
      !example::ran(KIZAMI_TILE_LAUNCH(crt, grid(m, n, 1), nullptr, c_residues.data(), weights.data(),
                                       product_of_moduli, C.data(), m, n)))
    return 1;

  example::Checks checks;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      std::int64_t expected = 0;
      for (int l = 0; l < k; ++l) expected += std::int64_t{a[i * k + l]} * b[l * n + j];
      checks.expect(C[i * n + j] == expected);
    }
  }
  std::printf("C(0, 0) = %lld, from residues %d, %d, %d, %d\n", static_cast<long long>(C[0]), c_residues[0],
              c_residues[m * n], c_residues[2 * m * n], c_residues[3 * m * n]);
  return checks.result();
}
