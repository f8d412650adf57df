// SPDX-License-Identifier: MIT
// The orders of drift_control.hpp on the device. Of a cluster the producer of rank 0 claims, or waits; the others do as
// it does.
//
// A claimed tile comes to the other producers of a cluster by a message, and to consumers with its first stage: behind
// the ring lies a word for each stage, which a producer writes when the stage is empty and before it says so of the
// bytes that fill it. Behind the last tile one more stage comes, without bytes, whose word is a tile that there is not.
//   tile_at[s]     tile of the block in stage s, if the block is the tile's first; kStages words
//   message[x]     16 bytes, of which the first word is a tile: from rank 0, of rounds x, x + kMessages, ...
//   message_at[x]  barrier: the message has come. One arrival (the producer that waits for it) and its bytes.
// Rank 0 is at most kStages + 1 rounds ahead of what another producer has read: a block of k that it copies finds its
// stage empty, so all blocks kStages before have been copied by all.
#pragma once

#include <cstdint>

#include "engines/hopper/drift_control.hpp"
#include "engines/hopper/tile_pipeline_sm90.cuh"
#include "engines/tile_place.cuh"

namespace kizami::engines::hopper {

/// Parameters of a kernel with an order of its own; Base: ProductParams or what begins with them.
template <WalkOrder walk_order, class Base>
struct Ordered : Base {
  static constexpr WalkOrder kWalkOrder = walk_order;
  DriftWords* words;
};
template <class Params>
inline constexpr WalkOrder kWalkOrderOf = WalkOrder::kStatic;
template <WalkOrder walk_order, class Base>
inline constexpr WalkOrder kWalkOrderOf<Ordered<walk_order, Base>> = walk_order;

/// What lies behind the ring of a form whose tiles are claimed.
template <class F>
struct ClaimPlaces {
  static constexpr int kMessages = 8;
  static constexpr int kTileBytes = 32;
  static constexpr int kMessageBytes = 16;
  static constexpr int kBytes = kTileBytes + kMessages * (kMessageBytes + 8);
  static_assert(F::kStages * 4 <= kTileBytes);
  static_assert(F::kStages + 2 <= kMessages);
  static_assert(F::kRingBytes % kMessageBytes == 0 && kBytes % 8 == 0);

  std::uint32_t begin;

  [[nodiscard]] __device__ __forceinline__ std::uint32_t tile_at(std::uint32_t stage) const { return begin + stage * 4; }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t message(std::uint32_t round) const {
    return begin + kTileBytes + round % kMessages * kMessageBytes;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t message_at(std::uint32_t round) const {
    return begin + kTileBytes + kMessages * kMessageBytes + round % kMessages * 8;
  }
  /// By one thread, before the cluster begins.
  __device__ __forceinline__ void init() const {
    for (std::uint32_t x = 0; x < kMessages; ++x) barrier_init(message_at(x), 1);
  }
};
/// Bytes behind the ring.
template <class F, class Params>
inline constexpr int kWalkBytes = kWalkOrderOf<Params> == WalkOrder::kCounted ? ClaimPlaces<F>::kBytes : 0;

[[nodiscard]] __device__ __forceinline__ std::uint32_t load_shared(std::uint32_t address) {
  std::uint32_t word = 0;
  asm volatile("ld.shared.u32 %0, [%1];\n" : "=r"(word) : "r"(address) : "memory");
  return word;
}
__device__ __forceinline__ void store_shared(std::uint32_t address, std::uint32_t word) {
  asm volatile("st.shared.u32 [%0], %1;\n" ::"r"(address), "r"(word) : "memory");
}
/// What other multiprocessors have made of a word.
[[nodiscard]] __device__ __forceinline__ std::uint32_t load_relaxed(const std::uint32_t* address) {
  std::uint32_t word = 0;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];\n" : "=r"(word) : "l"(address) : "memory");
  return word;
}

/// The walk of kCounted, by the producers (window_tiles_sm90.cuh says when its hooks come).
template <class F>
struct CountedWalk {
  ClaimPlaces<F> places;
  std::uint32_t* claims;
  std::uint32_t cluster;
  std::uint32_t num_clusters;
  std::uint32_t num_tiles;
  std::uint32_t rank;
  std::uint32_t full_at;
  std::uint32_t empty_at;
  ClaimTimes times;
  std::uint32_t next = 0;

  [[nodiscard]] __device__ __forceinline__ std::uint32_t first_tile() const { return cluster; }
  __device__ __forceinline__ void begin_block() const {}
  __device__ __forceinline__ void begin_stage(std::uint32_t stage, std::uint32_t tile) const {
    store_shared(places.tile_at(stage), tile);
  }
  __device__ __forceinline__ void end_block(int k_block, std::uint32_t round) {
    if (rank != 0) return;
    if (k_block == times.claim_at) next = tile_of_claim(atomicInc(claims, last_claim(num_tiles)), num_clusters);
    if (k_block == times.tell_at) {
#pragma unroll
      for (std::uint32_t to = 1; to < F::kCluster; ++to)
        base::store_at(places.message(round), places.message_at(round), to, make_uint4(next, 0, 0, 0));
    }
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t next_tile(std::uint32_t round) const {
    if (rank == 0) return next;
    barrier_arrive_expect(places.message_at(round), ClaimPlaces<F>::kMessageBytes);
    barrier_wait(places.message_at(round), (round - 1) / ClaimPlaces<F>::kMessages & 1);  // the first round is 1
    return load_shared(places.message(round));
  }
  template <class Ring>
  __device__ __forceinline__ void end(const Ring& ring) const {
    barrier_wait(empty_at + ring.stage * 8, ring.phase ^ 1);
    begin_stage(ring.stage, num_tiles);
    barrier_arrive(full_at + ring.stage * 8);
  }
};

/// The walk of kPaced, by the producers.
struct PacedWalk {
  const Turns<false>& turns;
  std::uint32_t* counters;  ///< of epochs
  Pace pace;
  std::uint32_t rank;

  [[nodiscard]] __device__ __forceinline__ std::uint32_t first_tile() const { return turns.tile(0); }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t next_tile(std::uint32_t round) const {
    return turns.tile(round);
  }
  __device__ __forceinline__ void begin_block() {
    if (rank != 0 || !pace.begin_block()) return;
    atomicInc(counters + Epochs::slot_of(pace.epoch()), pace.epochs().last_arrival(pace.epoch()));
    if (!pace.waits()) return;
    while (!pace.may_go_on(load_relaxed(counters + Epochs::slot_of(pace.awaited())))) {
    }
  }
  __device__ __forceinline__ void begin_stage(std::uint32_t /*stage*/, std::uint32_t /*tile*/) const {}
  __device__ __forceinline__ void end_block(int /*k_block*/, std::uint32_t /*round*/) const {}
  template <class Ring>
  __device__ __forceinline__ void end(const Ring& /*ring*/) const {}
};

}  // namespace kizami::engines::hopper
