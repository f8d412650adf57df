// SPDX-License-Identifier: MIT
// One idea: two products with a softmax between them, in one kernel.  O = softmax(scale Q K^T) V, causal: query i sees
// the keys j <= i.
// A block takes 64 queries and walks over the keys, 32 at a time. It never has a whole row of scores, so its softmax is a
// running one: with c = scale log2(e), n the largest c t so far and p = 2^(c t - n), what was summed before is faded by
// 2^(n_before - n) whenever n grows. The library's own kernel, with several heads, lengths of two kinds and a loop
// without masks, is src/tile_kernels/attention.hpp (tile/docs/attention.md).
// Checked exactly: queries are unit vectors, keys and values small integers and c = 1, so that weights are powers of two
// and every sum is exact, in any order.
#include <cmath>
#include <cstdio>

#include "kizami/tile.hpp"
#include "support.hpp"

namespace ct = cuda::tiles;
using namespace ct::literals;

constexpr int kHead = 64;
constexpr int kQueries = 64;
constexpr int kKeys = 32;

/// @shape Q, K, V, O: n x 64, row-major; grid: ceil(n / 64)
__tile_global__ void attention(const __half* __restrict__ Q, const __half* __restrict__ K, const __half* __restrict__ V,
                               __half* __restrict__ O, int n, float c) {
  using Column = ct::tile<float, ct::shape<kQueries, 1>>;
  using Scores = ct::tile<float, ct::shape<kQueries, kKeys>>;
  const int i = static_cast<int>(ct::bid().x);
  const ct::extents size{n, 64_ic};
  const ct::partition_view q_tiles{ct::tensor_span{Q, size}, ct::shape<kQueries, kHead>{}};
  const ct::partition_view k_tiles{ct::tensor_span{K, ct::extents{64_ic, n}, ct::layout_left{}},  // K^T, as it lies
                                   ct::shape<kHead, kKeys>{}};
  const ct::partition_view v_tiles{ct::tensor_span{V, size}, ct::shape<kKeys, kHead>{}};
  const ct::partition_view o_tiles{ct::tensor_span{O, size}, ct::shape<kQueries, kHead>{}};
  const auto query = i * kQueries + ct::iota<ct::tile<int, ct::shape<kQueries, 1>>>();
  const auto q = q_tiles.load_masked(i, 0);
  auto highest = ct::full<Column>(-INFINITY);
  auto total = ct::zeros<Column>();
  auto acc = ct::zeros<ct::tile<float, ct::shape<kQueries, kHead>>>();
  const int last_query = (i + 1) * kQueries < n ? (i + 1) * kQueries : n;
  for (const int j : ct::irange(0, ct::ceildiv(last_query, kKeys))) {
    const auto key = j * kKeys + ct::iota<ct::tile<int, ct::shape<1, kKeys>>>();
    const auto t = ct::mma(q, k_tiles.load_masked(0, j), ct::zeros<Scores>());
    const auto x = ct::select(key <= query, c * t, ct::full<Scores>(-INFINITY));
    const auto now = ct::max(highest, ct::reduce_max(x, 1_ic));
    const auto p = ct::exp2(x - now);
    const auto faded = ct::exp2(highest - now);
    total = total * faded + ct::sum(p, 1_ic);
    acc = ct::mma(ct::element_cast<__half>(p), v_tiles.load_masked(j, 0), acc * faded);
    highest = now;
  }
  o_tiles.store_masked(ct::element_cast<__half>(acc / total), i, 0);
}

int main() {
  const int n = 150;
  example::Array<__half> Q(n * kHead), K(n * kHead), V(n * kHead), O(n * kHead);
  const auto k_value = [](int i) { return i * 37 % 101 % 7 - 3; };
  const auto v_value = [](int i) { return i * 53 % 97 % 15 - 7; };
  for (int i = 0; i < n * kHead; ++i) {
    Q[i] = static_cast<__half>(i / kHead * 7 % kHead == i % kHead ? 1.0F : 0.0F);
    K[i] = static_cast<__half>(static_cast<float>(k_value(i)));
    V[i] = static_cast<__half>(static_cast<float>(v_value(i)));
  }
  if (!example::ran(KIZAMI_TILE_LAUNCH(attention, example::tiles(n, kQueries), nullptr, Q.data(), K.data(), V.data(),
                                       O.data(), n, 1.0F)))
    return 1;

  example::Checks checks;
  for (int i = 0; i < n; ++i) {
    const auto weight = [&](int j) { return std::exp2(k_value(j * kHead + i * 7 % kHead)); };
    double total = 0;
    for (int j = 0; j <= i; ++j) total += weight(j);
    for (int d = 0; d < kHead; ++d) {
      double sum = 0;
      for (int j = 0; j <= i; ++j) sum += weight(j) * v_value(j * kHead + d);
      const auto expected = static_cast<__half>(static_cast<float>(sum) / static_cast<float>(total));
      checks.expect(static_cast<float>(O[i * kHead + d]) == static_cast<float>(expected));
    }
  }
  std::printf("O is %d x %d, O(%d, 0) = %g\n", n, kHead, n - 1,
              static_cast<double>(static_cast<float>(O[(n - 1) * kHead])));
  return checks.result();
}
