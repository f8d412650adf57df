// SPDX-License-Identifier: MIT
// Tiles of windows (product.hpp): planes of different length, each of one window or of several, whose blocks of k come
// one after another into the same accumulators.
#pragma once

#include <cstdint>

#include "engines/hopper/product_params.hpp"
#include "engines/hopper/tile_pipeline_sm90.cuh"

namespace kizami::engines::hopper {

/// Blocks of k of a plane.
template <bool kHasWindows>
[[nodiscard]] __device__ __forceinline__ int num_blocks_of(const ProductParams& params, int plane) {
  if constexpr (kHasWindows) {
    return params.plane_k_blocks[plane];
  } else {
    return params.num_k_blocks;
  }
}
template <class F, bool kHasWindows>
[[nodiscard]] __device__ __forceinline__ StageSource stage_source(const ProductParams& params, const TilePlace& place,
                                                                  [[maybe_unused]] int window_at, int k_block) {
  if constexpr (kHasWindows) {
    const WindowPlace& window = params.windows[window_at];
    const int k = k_block * F::kBlockK;
    return {window.a_plane, window.a_first + k, window.b_plane, window.b_first + k};
  } else {
    return source_of<F>(params, place, k_block);
  }
}

/// Where the lines of B come from, given how many tiles there are in all.
struct SourceOfB {
  const TensorMapBits* map;
  int plane_swap;  ///< that of plane l is l ^ plane_swap
};
[[nodiscard]] __device__ __forceinline__ SourceOfB source_of_b(const ProductParams& params,
                                                               std::uint32_t /*num_tiles*/) {
  return {&params.b_map, 0};
}

/// The producer's part, by one thread: every stage of every tile of this cluster. Params: what place_of() finds tiles by.
template <class F, LineOrder kOrder, bool kHasWindows, class Params>
__device__ __forceinline__ void produce_tiles(const Params& params, const Turns<kHasWindows>& turns,
                                              std::uint32_t num_tiles, std::uint32_t rank, std::uint32_t ring_at,
                                              std::uint32_t full_at, std::uint32_t empty_at) {
  RingPlace<F::kStages> ring;
  const SourceOfB of_b = source_of_b(params, num_tiles);
  std::uint32_t tile = turns.tile(0);
  for (std::uint32_t round = 1; tile < num_tiles; tile = turns.tile(round++)) {
    const TilePlace place = place_of<F>(tile, params);
    const int first_window = kHasWindows ? params.first_window[place.plane] : 0;
    const int end_window = kHasWindows ? params.first_window[place.plane + 1] : 1;
#pragma unroll 1
    for (int window = first_window; window < end_window; ++window) {
      const int num_k_blocks = kHasWindows ? params.windows[window].num_k_blocks : params.num_k_blocks;
#pragma unroll 1
      for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
        const std::uint32_t full = full_at + ring.stage * 8;
        barrier_wait(empty_at + ring.stage * 8, ring.phase ^ 1);  // at once in the first round
        barrier_arrive_expect(full, F::kStageBytes);
        StageSource from = stage_source<F, kHasWindows>(params, place, window, k_block);
        from.plane_b ^= of_b.plane_swap;
        copy_stage<F, kOrder>(params.a_map, *of_b.map, place, rank, from, ring_at + ring.stage * F::kStageBytes, full);
        ring.next();
      }
    }
  }
}

}  // namespace kizami::engines::hopper
