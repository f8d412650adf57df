// SPDX-License-Identifier: MIT
// One idea: FP64 products from BF16 ones.  A = sum_p 2^(a_p) A_p and B = sum_q 2^(b_q) B_q, slices as of
// 08_veltkamp_split;
//   C = sum over pairs p + q < d of 2^(a_p + b_q) A_p B_q
// A product of slices is exact in FP32 while k <= 256: its terms are integers of at most 2^16 (times a power of two),
// so that sums of 256 of them stay within 2^24. Sums over pairs are FP64. Pairs of late slices add little: d says how
// many to keep, and what is lost is at most k times the sum of 2^(a_p + b_q) over the dropped pairs.
// The operands here are integers of 20 bits. Three slices hold them whole, and FP64 holds every sum: with all nine
// pairs, C is the exact product.
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "kizami/tile.hpp"
#include "support.hpp"

namespace ct = cuda::tiles;

constexpr int kTile = 32;
constexpr int kTileK = 64;

/// @shape A: num_slices x m x k, B: num_slices x k x n, scales: num_slices x num_slices, C: m x n; row-major;
///        grid: ceil(m / 32) x ceil(n / 32)
/// @range k <= 256, so that FP32 sums are exact
__tile_global__ void slice_pair_product(const __nv_bfloat16* A, const __nv_bfloat16* B, const double* scales, double* C,
                                        int num_slices, int d, int m, int n, int k) {
  const auto [i, j, unused] = ct::bid();
  const ct::partition_view a_tiles{ct::tensor_span{A, ct::extents{num_slices, m, k}}, ct::shape<1, kTile, kTileK>{}};
  const ct::partition_view b_tiles{ct::tensor_span{B, ct::extents{num_slices, k, n}}, ct::shape<1, kTileK, kTile>{}};
  const ct::partition_view c_tiles{ct::tensor_span{C, ct::extents{m, n}}, ct::shape<kTile, kTile>{}};
  auto sum = ct::zeros<ct::tile<double, ct::shape<kTile, kTile>>>();
  for (const int p : ct::irange(0, num_slices)) {
    for (const int q : ct::irange(0, num_slices)) {
      if (p + q < d) {
        auto acc = ct::zeros<ct::tile<float, ct::shape<1, kTile, kTile>>>();  // a batch of one
        for (const int l : ct::irange(0, ct::ceildiv(k, kTileK)))
          acc = ct::mma(a_tiles.load_masked(p, i, l), b_tiles.load_masked(q, l, j), acc);
        const auto exact = ct::element_cast<double>(ct::reshape(acc, ct::shape<kTile, kTile>{}));
        sum = sum + exact * scales[p * num_slices + q];
      }
    }
  }
  c_tiles.store_masked(sum, i, j);
}

namespace {

constexpr int kSlices = 3;
constexpr int kRho = 45;
constexpr int kAdvance = 9;
constexpr int kTop = 20;  // |x| <= 2^20

/// The slices of x[0..n), as 08_veltkamp_split makes them.
void split(const std::int64_t* x, int n, __nv_bfloat16* slices) {
  for (int i = 0; i < n; ++i) {
    double rest = static_cast<double>(x[i]);
    for (int s = 0; s < kSlices; ++s) {
      const int c = kTop - kAdvance * s;
      const volatile double shifted = rest + std::ldexp(0.75, kRho + c);
      const double v = shifted - std::ldexp(0.75, kRho + c);
      slices[s * n + i] = static_cast<__nv_bfloat16>(static_cast<float>(std::ldexp(v, -c)));
      rest -= v;
    }
  }
}

}  // namespace

int main() {
  const int m = 40, n = 50, k = 200;
  example::Array<std::int64_t> a(m * k), b(k * n);
  example::Array<__nv_bfloat16> A(kSlices * m * k), B(kSlices * k * n);
  example::Array<double> scales(kSlices * kSlices), C(m * n);
  const auto value = [](std::int64_t i) { return i * 7919 * 7919 % 2097151 - 1048575; };  // of (-2^20, 2^20)
  for (int i = 0; i < m * k; ++i) a[i] = value(i);
  for (int i = 0; i < k * n; ++i) b[i] = value(i + 12345);
  split(a.data(), m * k, A.data());
  split(b.data(), k * n, B.data());
  for (int p = 0; p < kSlices; ++p)
    for (int q = 0; q < kSlices; ++q) scales[p * kSlices + q] = std::ldexp(1.0, 2 * kTop - kAdvance * (p + q));

  example::Checks checks;
  const dim3 grid(example::tiles(m, kTile), example::tiles(n, kTile));
  for (int d = 1; d <= 2 * kSlices - 1; ++d) {
    if (!example::ran(KIZAMI_TILE_LAUNCH(slice_pair_product, grid, nullptr, A.data(), B.data(), scales.data(), C.data(),
                                         kSlices, d, m, n, k)))
      return 1;
    double lost = 0;
    int pairs = 0;
    for (int p = 0; p < kSlices; ++p) {
      for (int q = 0; q < kSlices; ++q) {
        if (p + q < d) {
          ++pairs;
        } else {
          lost += k * scales[p * kSlices + q];
        }
      }
    }
    double worst = 0;
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        std::int64_t expected = 0;
        for (int l = 0; l < k; ++l) expected += a[i * k + l] * b[l * n + j];
        const double error = std::fabs(C[i * n + j] - static_cast<double>(expected));  // both are exact
        worst = std::fmax(worst, error);
        checks.expect(error <= lost);
      }
    }
    std::printf("d = %d: %d products, largest error %.3g, bound %.3g\n", d, pairs, worst, lost);
  }
  return checks.result();
}
