// SPDX-License-Identifier: MIT
// Attention, forward, in one pass over the keys: O_i = sum_j w_ij V_j, w_ij = 2^(c t_ij) / sum_l 2^(c t_il),
// t_ij = Q_i . K_j, c = scale log2 e, which is softmax(scale Q K^T) V. A block takes kTileQ queries of one head and walks
// over the keys, kTileK at a time, with the softmax as a running one:
//   n' = max(n, c max_j t_ij)    p_ij = 2^(c t_ij - n')    a = 2^(n - n')
//   total' = a total + sum_j p_ij    acc' = a acc + p V    at the end O_i = acc / total
// Causal: query i sees the keys j <= i, both counted from 0. Tiles of keys that all queries of the block see whole are
// walked first, then those that have to be masked: at the diagonal and at the end of the keys.
#pragma once

#include <cmath>

#include "tile_kernels/matrix_view.hpp"

namespace kizami::tile_kernels {

/// Which keys a query sees.
enum class Visible : std::uint8_t {
  kAll,
  kCausal,  ///< those up to its own position
};

inline namespace KIZAMI_TILE_BACKEND {

/// What a block has of its queries after some of the keys.
template <int kTileQ, int kHead>
struct AttentionSums {
  ct::tile<float, ct::shape<kTileQ, 1>> highest;  ///< n = c max t over the keys so far
  ct::tile<float, ct::shape<kTileQ, 1>> total;
  ct::tile<float, ct::shape<kTileQ, kHead>> acc;
};

/// The scores of a tile of keys, -Inf where the query does not see the key, or there is none.
template <Visible kVisible, int kTileQ, int kTileK>
__tile__ auto visible_scores(ct::tile<float, ct::shape<kTileQ, kTileK>> t, int first_query, int first_key,
                             int num_keys) {
  const auto nothing = ct::full<ct::tile<float, ct::shape<kTileQ, kTileK>>>(-INFINITY);
  const auto key = first_key + ct::iota<ct::tile<int, ct::shape<1, kTileK>>>();
  const auto there = ct::select(key < num_keys, t, nothing);
  if constexpr (kVisible == Visible::kAll) {
    return there;
  } else {
    const auto query = first_query + ct::iota<ct::tile<int, ct::shape<kTileQ, 1>>>();
    return ct::select(key <= query, there, nothing);
  }
}

/// The sums with one more tile of keys, of which t are the scores.
template <class T, int kTileQ, int kTileK, int kHead>
__tile__ auto with_keys(const AttentionSums<kTileQ, kHead>& before, ct::tile<float, ct::shape<kTileQ, kTileK>> t,
                        ct::tile<T, ct::shape<kTileK, kHead>> v, float c) {
  using namespace ct::literals;
  using Scores = ct::tile<float, ct::shape<kTileQ, kTileK>>;
  AttentionSums<kTileQ, kHead> sums;
  sums.highest = ct::max(before.highest, c * ct::reduce_max(t, 1_ic));
  const auto p = ct::exp2(ct::fma(t, ct::full<Scores>(c), ct::broadcast(-sums.highest, ct::shape<kTileQ, kTileK>{})),
                          ct::round_subnormals_to_zero_t{});
  const auto faded = ct::exp2(before.highest - sums.highest, ct::round_subnormals_to_zero_t{});
  sums.total = before.total * faded + ct::sum(p, 1_ic);
  sums.acc = ct::mma(ct::element_cast<T>(p), v, before.acc * faded);
  return sums;
}

/// The queries of this block.
/// @shape  Q, O: num_heads x num_queries x kHead, K, V: num_heads x num_keys x kHead, row-major. num_heads counts all heads
///         of all batches. grid: (ceil(num_queries / kTileQ), num_heads, 1)
/// @range  num_queries, num_keys >= 1; num_queries kHead and num_keys kHead < 2^31; c > 0; all on 16 bytes; T: FP16 or
///         BF16. kCausal: the last blocks are the longest, so they are the first of the grid
///         A query whose scores hold NaN or +Inf becomes NaN; K and V are finite
/// @bound  |O - exact| <= sum_j w_j d_j (|V_j| + |O|) + (v + n N u) sum_j w_j |V_j| + eta sum_j |V_j| + ((N + n) u + v) |O|
///         to first order, for n tiles of N = kTileK keys, T rounding by v or, below its range, eta, and weights known to d_j
///         (derived in tests/tile_kernels/attention_cases.hpp)
template <class T, int kTileQ, int kTileK, int kHead, Visible kVisible>
__tile__ void attention_block(const T* Q, const T* K, const T* V, T* O, int num_heads, int num_queries, int num_keys,
                              float c) {
  const auto plane_stride = [](int rows) { return static_cast<std::uint32_t>(rows) * kHead; };
  const auto q_tiles = plane_tiles<Order::kRowMajor, true, kTileQ, kHead>(Q, num_heads, num_queries, kHead,
                                                                          plane_stride(num_queries), kHead);
  const auto k_tiles =
      plane_tiles<Order::kColMajor, true, kHead, kTileK>(K, num_heads, kHead, num_keys, plane_stride(num_keys), kHead);
  const auto v_tiles =
      plane_tiles<Order::kRowMajor, true, kTileK, kHead>(V, num_heads, num_keys, kHead, plane_stride(num_keys), kHead);
  const auto o_tiles = plane_tiles<Order::kRowMajor, true, kTileQ, kHead>(O, num_heads, num_queries, kHead,
                                                                          plane_stride(num_queries), kHead);
  const int head = static_cast<int>(ct::bid().y);
  const int block = static_cast<int>(ct::bid().x);
  const int i = kVisible == Visible::kCausal ? static_cast<int>(ct::num_blocks().x) - 1 - block : block;
  const int first_query = i * kTileQ;

  // Keys that every query sees, and that any does.
  int num_seen_by_all = num_keys;
  int num_seen = num_keys;
  if constexpr (kVisible == Visible::kCausal) {
    num_seen_by_all = num_keys < first_query + 1 ? num_keys : first_query + 1;
    num_seen = num_keys < first_query + kTileQ ? num_keys : first_query + kTileQ;
  }
  const int num_whole = num_seen_by_all / kTileK;
  const int num_tiles = ct::ceildiv(num_seen, kTileK);

  const auto q = load_plane_tile(q_tiles, head, i, 0);
  AttentionSums<kTileQ, kHead> sums;
  sums.highest = ct::full<ct::tile<float, ct::shape<kTileQ, 1>>>(-INFINITY);
  sums.total = ct::zeros<ct::tile<float, ct::shape<kTileQ, 1>>>();
  sums.acc = ct::zeros<ct::tile<float, ct::shape<kTileQ, kHead>>>();
  const auto zero = ct::zeros<ct::tile<float, ct::shape<kTileQ, kTileK>>>();
  for (const int j : ct::irange(0, num_whole)) {
    const auto t = ct::mma(q, load_plane_tile(k_tiles, head, 0, j), zero);
    sums = with_keys<T, kTileQ, kTileK, kHead>(sums, t, load_plane_tile(v_tiles, head, j, 0), c);
  }
  for (const int j : ct::irange(num_whole, num_tiles)) {
    const auto t = visible_scores<kVisible, kTileQ, kTileK>(ct::mma(q, load_plane_tile(k_tiles, head, 0, j), zero),
                                                            first_query, j * kTileK, num_keys);
    sums = with_keys<T, kTileQ, kTileK, kHead>(sums, t, load_plane_tile(v_tiles, head, j, 0), c);
  }
  store_plane_tile(o_tiles, ct::element_cast<T>(sums.acc / sums.total), head, i, 0);
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
