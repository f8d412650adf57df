// SPDX-License-Identifier: MIT
// What the products of this engine share on the device: the shape of a tile, the order of tiles, and the ring of stages
// that a producer warpgroup fills and consumer warpgroups read.
//
// The CTAs of a cluster have the same lines of A: each copies its part of them and sends it to all. Each has lines of B
// of its own. A stage is 128 bytes of k of all lines of a tile, in the 128-byte swizzle, lines of A first:
//   full[s]   the bytes of stage s have come. One arrival (our producer, which says how many) and their count, whichever
//             CTA sent them.
//   empty[s]  the warps that read stage s have done so, in every CTA of the cluster, for our producer writes to all.
//             kCluster * (warps that read a stage) arrivals.
// The phase bit of both flips each time the ring comes round. Bytes beyond a line's end, lines beyond m or n, and whole
// tiles beyond n (the last cluster's) come as zeros, and count as bytes.
#pragma once

#include <cstdint>

#include "engines/hopper/forms.hpp"
#include "engines/hopper/ptx_sm90.cuh"
#include "engines/hopper/tile_walk.hpp"
#include "engines/tile_place.cuh"

namespace kizami::engines::hopper {

/// A tile of tile_i lines of A by tile_j lines of B, of which a consumer warpgroup multiplies group_j, and its stages.
template <int tile_i, int tile_j, int group_j, int cluster, int stages>
struct TileShape {
  static constexpr int kTileI = tile_i;
  static constexpr int kTileJ = tile_j;
  static constexpr int kGroupJ = group_j;
  static constexpr int kCluster = cluster;
  static constexpr int kStages = stages;

  static constexpr int kBlockK = 128;                ///< bytes of k in a stage: one swizzle atom
  static constexpr int kConsumers = 2;               ///< warpgroups
  static constexpr int kReaders = tile_j / group_j;  ///< warpgroups that read one stage
  static constexpr int kPartI = tile_i / cluster;    ///< lines of A that one CTA copies
  static constexpr int kBytesA = tile_i * kBlockK;
  static constexpr int kBytesB = tile_j * kBlockK;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  static constexpr int kRingBytes = stages * kStageBytes;
  static constexpr int kBarrierBytes = 2 * stages * 8;
  static constexpr int kAlignment = 1024;  ///< of a swizzled group of 8 lines

  static_assert(kGroupJ % 64 == 0 && tile_i % 64 == 0 && tile_i <= 256 && tile_j <= 256);
  static_assert(kReaders == 1 || kReaders == kConsumers);
  static_assert(kPartI % 8 == 0, "parts are whole groups of the swizzle");
  static_assert(kBytesA % kAlignment == 0 && kBytesB % kAlignment == 0);
};
inline constexpr int kMostSharedBytes = 227 * 1024;  ///< that a CTA of sm_90 may have

/// Where a tile of a cluster is: its first CTA has j_first.
template <class Shape>
__device__ __forceinline__ TilePlace place_of(std::uint32_t tile, const TileOrder& order) {
  return engines::place_of<Shape::kTileI, Shape::kTileJ * Shape::kCluster>(tile, order);
}

/// A place in the ring of stages.
template <int kStages>
struct RingPlace {
  std::uint32_t stage = 0;
  std::uint32_t phase = 0;

  __device__ __forceinline__ void next() {
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
  __device__ __forceinline__ void skip(std::uint32_t count) {
    const std::uint32_t rounds = count / kStages;
    stage += count - rounds * kStages;
    phase ^= rounds & 1;
    if (stage >= kStages) {
      stage -= kStages;
      phase ^= 1;
    }
  }
};

/// Initialises the barriers of the ring, by one thread.
template <class Shape>
__device__ __forceinline__ void init_ring(std::uint32_t full_at, std::uint32_t empty_at) {
  for (int s = 0; s < Shape::kStages; ++s) {
    barrier_init(full_at + s * 8, 1);
    barrier_init(empty_at + s * 8, Shape::kCluster * Shape::kReaders * 4);
  }
  barrier_init_fence();
}

/// Where the parts of a CTA's shared memory begin, and which of its cluster it is.
struct CtaPlace {
  std::uint32_t ring_at;
  std::uint32_t full_at;
  std::uint32_t empty_at;
  std::uint32_t rank;
};
/// The begin of a kernel, by all threads: `bytes` of ring (and what lies behind it), then the barriers, ready for use
/// by the whole cluster.
template <class Shape>
__device__ __forceinline__ CtaPlace begin_cta(std::uint8_t* shared_memory, std::uint32_t bytes,
                                              const TensorMapBits& a_map, const TensorMapBits& b_map) {
  CtaPlace cta{};
  cta.ring_at = (shared_address(shared_memory) + Shape::kAlignment - 1) / Shape::kAlignment * Shape::kAlignment;
  asm volatile("" : "+r"(cta.ring_at));  // keep it, instead of asking for the CTA's window in every round
  base::begin_in_cluster(shared_memory + (cta.ring_at - shared_address(shared_memory)), bytes + Shape::kBarrierBytes);
  cta.full_at = cta.ring_at + bytes;
  cta.empty_at = cta.full_at + Shape::kStages * 8;
  cta.rank = Shape::kCluster == 1 ? 0 : cluster_rank();
  if (threadIdx.x == 0) {
    prefetch_map(a_map);
    prefetch_map(b_map);
    init_ring<Shape>(cta.full_at, cta.empty_at);
  }
  __syncthreads();
  if constexpr (Shape::kCluster > 1) cluster_sync();  // nobody arrives at a barrier that is not initialised
  return cta;
}

/// A warp has read a stage.
template <class Shape>
__device__ __forceinline__ void release_stage(std::uint32_t empty, std::uint32_t lane) {
  if constexpr (Shape::kCluster == 1) {
    if (lane == 0) barrier_arrive(empty);
  } else {
    if (lane < Shape::kCluster) barrier_arrive_at(empty, lane);
  }
}

/// Turns of two consumer warpgroups that read the same stages. One at a time hands products to the tensor cores, so that
/// they have the other's while it adds up its sums or stores: without turns both do so at once, and the tensor cores wait.
/// Both take as many turns. Nothing else of a kernel with turns uses the named barriers 1 and 2.
struct ConsumerTurns {
  bool is_first;

  /// Before the first turn, which is the first consumer's.
  __device__ __forceinline__ void start() const {
    if (!is_first) named_barrier_arrive(1, 2 * 128);
  }
  __device__ __forceinline__ void begin() const { named_barrier_sync(is_first ? 1 : 2, 2 * 128); }
  __device__ __forceinline__ void end() const { named_barrier_arrive(is_first ? 2 : 1, 2 * 128); }
};

/// Where the lines of a stage begin: plane and element of each operand.
struct StageSource {
  int plane_a;
  int k_a;
  int plane_b;
  int k_b;
};
template <class Shape>
__device__ __forceinline__ StageSource source_of(const TileWalk& walk, const TilePlace& place, int k_block) {
  const int k = k_block * Shape::kBlockK;
  return {place.plane * walk.a_plane_step, k, place.plane * walk.b_plane_step, k};
}

/// Copies the lines of one stage.
template <class Shape, LineOrder kOrder>
__device__ __forceinline__ void copy_stage(const TensorMapBits& a_map, const TensorMapBits& b_map,
                                           const TilePlace& place, std::uint32_t rank, const StageSource& from,
                                           std::uint32_t stage_at, std::uint32_t full) {
  constexpr auto kAll = static_cast<std::uint16_t>((1 << Shape::kCluster) - 1);
  const int part = static_cast<int>(rank) * Shape::kPartI;
  if constexpr (kOrder == LineOrder::kPermuted) {
    constexpr int kBoxLines = permuted_box_lines(Shape::kPartI);
    static_assert(Shape::kPartI % kBoxLines == 0);
#pragma unroll
    for (int box = 0; box < Shape::kPartI / kBoxLines; ++box) {
      const int line = part + box * kBoxLines;
      const std::uint32_t to = stage_at + line * Shape::kBlockK;
      const int sixteens = (place.i_first + line / 64 * 64) / 16;
      const int g = line % 64 / 8;  // of the first line
      if constexpr (Shape::kCluster == 1) {
        copy_box(to, a_map, full, from.k_a, 0, sixteens, g, from.plane_a);
      } else {
        copy_box_to_all(to, a_map, full, kAll, from.k_a, 0, sixteens, g, from.plane_a);
      }
    }
  } else {
    const std::uint32_t to = stage_at + part * Shape::kBlockK;
    if constexpr (Shape::kCluster == 1) {
      copy_box(to, a_map, full, from.k_a, place.i_first, from.plane_a);
    } else {
      copy_box_to_all(to, a_map, full, kAll, from.k_a, place.i_first + part, from.plane_a);
    }
  }
  copy_box(stage_at + Shape::kBytesA, b_map, full, from.k_b, place.j_first + static_cast<int>(rank) * Shape::kTileJ,
           from.plane_b);
}

}  // namespace kizami::engines::hopper
