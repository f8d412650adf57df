// SPDX-License-Identifier: MIT
// Inclusive prefix sums of an array of any length by tiles, in three launches over chunks of `chunk` elements:
//   sum_chunks(x) -> totals;   prefix_sum_chunks(totals), one chunk -> totals;   prefix_sum_chunks(x, totals) -> y
// A block walks its chunk tile by tile and carries the sum along.
#pragma once

#include "tile_kernels/matrix_view.hpp"

namespace kizami::tile_kernels {
inline namespace KIZAMI_TILE_BACKEND {

/// Elements before which the chunk of a block ends.
__tile__ inline int chunk_end(int block, int chunk, int n) {
  const int rest = n - block * chunk;
  return block * chunk + (rest < chunk ? rest : chunk);
}

/// totals[c] = sum of x over chunk c.
/// @shape  x: [n], totals: [ceil(n / chunk)]; grid: (ceil(n / chunk), 1, 1).   @range n >= 1; chunk a multiple of kTile
/// @exact  integers, modulo 2^bits on wrap-around of unsigned ones.   @bound floating point: n u sum |x|
template <class T, int kTile>
__tile__ void sum_chunks_block(const T* x, T* totals, int n, int chunk) {
  using namespace ct::literals;
  const int block = static_cast<int>(ct::bid().x);
  const int end = chunk_end(block, chunk, n);
  const ct::partition_view in{ct::tensor_span{x, ct::extents{n}}, ct::shape<kTile>{}};
  auto total = ct::zeros<ct::tile<T, ct::shape<1>>>();
  for (const int l : ct::irange(block * (chunk / kTile), ct::ceildiv(end, kTile))) {
    total = total + ct::sum(in.load_masked(l), 0_ic);
  }
  ct::partition_view{ct::tensor_span{totals, ct::extents{ct::ceildiv(n, chunk)}}, ct::shape<1>{}}.store(total, block);
}

/// y[i] = x[0] + ... + x[i], where before[c - 1] (kHasTotals) is the sum of all chunks before c.
/// @shape  x, y: [n], before: [ceil(n / chunk)]; grid: (ceil(n / chunk), 1, 1).   @alias x == y is allowed
/// @range  as sum_chunks; without totals: one chunk.   @exact, @bound as sum_chunks
template <class T, int kTile, bool kHasTotals>
__tile__ void prefix_sum_chunks_block(const T* x, const T* before, T* y, int n, int chunk) {
  using namespace ct::literals;
  const int block = static_cast<int>(ct::bid().x);
  const int end = chunk_end(block, chunk, n);
  const ct::partition_view in{ct::tensor_span{x, ct::extents{n}}, ct::shape<kTile>{}};
  const ct::partition_view out{ct::tensor_span{y, ct::extents{n}}, ct::shape<kTile>{}};
  auto carry = ct::zeros<ct::tile<T, ct::shape<1>>>();
  if constexpr (kHasTotals) {
    if (block > 0) {
      carry = ct::partition_view{ct::tensor_span{before, ct::extents{ct::ceildiv(n, chunk)}}, ct::shape<1>{}}.load(
          block - 1);
    }
  }
  for (const int l : ct::irange(block * (chunk / kTile), ct::ceildiv(end, kTile))) {
    const auto tile = in.load_masked(l);
    out.store_masked(carry + ct::partial_sum(tile, 0_ic), l);
    carry = carry + ct::sum(tile, 0_ic);
  }
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_kernels
