// SPDX-License-Identifier: MIT
// All of it in one kernel: FP64 operands in, FP64 product out, BF16 matrix products in between.
//   pass 1   the largest |a| of each row of the tile and |b| of each column, and the powers of two above: alpha_i,
//   beta_j pass 2   along k, 16 at a time: both tiles are split into BF16 slices (08_veltkamp_split) without leaving
//   the chip, and
//            the pairs p + q = d are multiplied and summed in FP32, for d = 0 ... 6; FP64 adds these sums
// The FP32 sums are exact: their terms are integers of at most 2^16 (times one power of two), and at most 16 * 7 < 2^8
// of them. Slice p of row i is at most alpha_i 2^(-9 p), and what 7 slices leave at most alpha_i 2^-63. So pairs that
// are dropped, and what is left, are below k alpha_i beta_j 2^-59; N additions in FP64, of magnitudes that sum to less
// than 1.01 k alpha_i beta_j, round by at most N 2^-53 times that. Integers whose sums fit FP64 come out exact.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "kizami/tile.hpp"
#include "support.hpp"

namespace ct = cuda::tiles;
using namespace ct::literals;

constexpr int kTile = 32;
constexpr int kTileK = 16;
constexpr int kSlices = 7;
constexpr double kAdvance = 0x1p-9;       // from one slice to the next
constexpr double kSigma = 0.75 * 0x1p45;  // rho = 45
constexpr double kSmallest = 0x1p-400;    // rows below this are as good as zero
constexpr std::uint64_t kExponent = 0x7ff0000000000000;

template <int kRows, int kCols>
using Doubles = ct::tile<double, ct::shape<kRows, kCols>>;
/// Seven tiles by name and not by a loop's counter: on a device a tile that a variable chooses lies in memory, in the
/// heap. So indices are constants, p... of std::index_sequence<0, 1, ...>.
template <int kRows, int kCols>
struct Slices {
  ct::tile<__nv_bfloat16, ct::shape<kRows, kCols>> slice[kSlices];
};

/// A power of two above every element: the exponent bits are the power of two below.
template <class T>
__tile__ T power_above(T x) {
  const auto bits = ct::element_bitcast<std::uint64_t>(ct::max(x, kSmallest));
  return 2.0 * ct::element_bitcast<double>(bits & kExponent);
}

/// Cuts one slice off: gives it, and leaves what is left and the next scale.
template <class Tile, class Scale>
__tile__ auto next_slice(Tile& rest, Scale& scale) {
  const auto sigma = kSigma * scale;
  const Tile v = (rest + sigma) - sigma;
  const auto slice = ct::element_cast<__nv_bfloat16>(v / scale);
  rest = rest - v;
  scale = scale * kAdvance;
  return slice;
}

/// The slices of x under scales that broadcast over it.
template <int kRows, int kCols, class Scale, std::size_t... p>
__tile__ Slices<kRows, kCols> split(Doubles<kRows, kCols> rest, Scale scale, std::index_sequence<p...>) {
  Slices<kRows, kCols> result;
  ((result.slice[p] = next_slice(rest, scale)), ...);
  return result;
}

/// The sum of the products of the pairs p + q = d, p = 0 ... d.
template <std::size_t d, std::size_t... p>
__tile__ auto diagonal(const Slices<kTile, kTileK>& a, const Slices<kTileK, kTile>& b, std::index_sequence<p...>) {
  auto acc = ct::zeros<ct::tile<float, ct::shape<kTile, kTile>>>();
  ((acc = ct::mma(a.slice[p], b.slice[d - p], acc)), ...);
  return acc;
}

/// All diagonals, d = 0, 1, ...
template <std::size_t... d>
__tile__ auto product(const Slices<kTile, kTileK>& a, const Slices<kTileK, kTile>& b, Doubles<kTile, kTile> sum,
                      std::index_sequence<d...>) {
  double scale = 1;  // of the pairs p + q = d
  ((sum = sum + scale * ct::element_cast<double>(diagonal<d>(a, b, std::make_index_sequence<d + 1>{})),
    scale = scale * kAdvance),
   ...);
  return sum;
}

/// @shape A: m x k, B: k x n, C: m x n, row-major; grid: ceil(m / 32) x ceil(n / 32)
/// @range finite elements below 2^900; a row or column whose elements are all below 2^-400 counts as if it had that
///        largest one
__tile_global__ void fused_ozaki(const double* A, const double* B, double* C, int m, int n, int k) {
  const auto [i, j, unused] = ct::bid();
  const ct::partition_view a_tiles{ct::tensor_span{A, ct::extents{m, k}}, ct::shape<kTile, kTileK>{}};
  const ct::partition_view b_tiles{ct::tensor_span{B, ct::extents{k, n}}, ct::shape<kTileK, kTile>{}};
  const ct::partition_view c_tiles{ct::tensor_span{C, ct::extents{m, n}}, ct::shape<kTile, kTile>{}};

  auto largest_a = ct::zeros<Doubles<kTile, 1>>();
  auto largest_b = ct::zeros<Doubles<1, kTile>>();
  for (const int l : ct::irange(0, ct::ceildiv(k, kTileK))) {
    largest_a = ct::max(largest_a, ct::reduce_max(ct::abs(a_tiles.load_masked(i, l)), 1_ic));
    largest_b = ct::max(largest_b, ct::reduce_max(ct::abs(b_tiles.load_masked(l, j)), 0_ic));
  }
  const auto alpha = power_above(largest_a);  // (32, 1)
  const auto beta = power_above(largest_b);   // (1, 32)

  constexpr auto kAll = std::make_index_sequence<kSlices>{};
  auto sum = ct::zeros<Doubles<kTile, kTile>>();
  for (const int l : ct::irange(0, ct::ceildiv(k, kTileK))) {
    const auto a = split<kTile, kTileK>(a_tiles.load_masked(i, l), alpha, kAll);
    const auto b = split<kTileK, kTile>(b_tiles.load_masked(l, j), beta, kAll);
    sum = product(a, b, sum, kAll);
  }
  c_tiles.store_masked(sum * alpha * beta, i, j);
}

int main() {
  const int m = 40, n = 50, k = 100;
  example::Array<double> A(m * k), B(k * n), C(m * n);
  example::Checks checks;
  const dim3 grid(example::tiles(m, kTile), example::tiles(n, kTile));
  for (const int bits : {20, 40}) {  // 40 bits times 16 do not fit FP64: C is rounded
    const auto a_value = [&](std::int64_t i) { return (i * 1000003 * 7919) % (std::int64_t{1} << bits); };
    const auto b_value = [](std::int64_t i) { return i * 7919 % 65535 - 32767; };
    double alpha = 0, beta = 0;
    for (int i = 0; i < m * k; ++i) alpha = std::fmax(alpha, A[i] = static_cast<double>(a_value(i)));
    for (int i = 0; i < k * n; ++i) beta = std::fmax(beta, std::fabs(B[i] = static_cast<double>(b_value(i))));
    if (!example::ran(KIZAMI_TILE_LAUNCH(fused_ozaki, grid, nullptr, A.data(), B.data(), C.data(), m, n, k))) return 1;

    const double additions = kSlices * static_cast<double>(example::tiles(k, kTileK));
    const double bound = k * (2 * alpha) * (2 * beta) * (additions * 0x1p-53 * 1.01 + 0x1p-59);
    double worst = 0;
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        std::int64_t expected = 0;  // below 100 * 2^40 * 2^15 < 2^63
        for (int l = 0; l < k; ++l) expected += a_value(i * k + l) * b_value(l * n + j);
        const double error = std::fabs(static_cast<double>(static_cast<std::int64_t>(C[i * n + j]) - expected));
        worst = std::fmax(worst, error);
        checks.expect(bits == 20 ? error == 0 : error <= bound);
      }
    }
    std::printf("%d bits times 16 bits: largest error %.3g, bound %.3g\n", bits, worst, bits == 20 ? 0.0 : bound);
  }
  return checks.result();
}
