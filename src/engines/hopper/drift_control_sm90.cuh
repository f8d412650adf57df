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
#pragma once

#include <cstdint>

#include "engines/hopper/drift_control.hpp"
#include "engines/hopper/drift_params.hpp"
#include "engines/hopper/tile_pipeline_sm90.cuh"
#include "engines/tile_place.cuh"

namespace kizami::engines::hopper {

/// What lies behind the ring of a form whose tiles are claimed.
template <class F>
struct ClaimPlaces {
  static constexpr int kTileBytes = 32;
  static constexpr int kMessageBytes = 16;
  static constexpr int kBytes = kTileBytes + static_cast<int>(kMessages) * (kMessageBytes + 8);
  static_assert(F::kStages * 4 <= kTileBytes);
  static_assert(F::kStages + 2 <= static_cast<int>(kMessages));
  static_assert(F::kRingBytes % kMessageBytes == 0 && kBytes % 8 == 0);

  std::uint32_t begin;

  [[nodiscard]] __device__ __forceinline__ std::uint32_t tile_at(std::uint32_t stage) const {
    return begin + stage * 4;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t message(std::uint32_t round) const {
    return begin + kTileBytes + message_slot(round) * kMessageBytes;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t message_at(std::uint32_t round) const {
    return begin + kTileBytes + kMessages * kMessageBytes + message_slot(round) * 8;
  }
  /// By one thread, before the cluster begins.
  __device__ __forceinline__ void init() const {
    for (std::uint32_t x = 0; x < kMessages; ++x) barrier_init(message_at(x), 1);
  }
};
/// Bytes behind the ring.
template <class F, class Params>
[[nodiscard]] constexpr int walk_bytes() {
  if constexpr (kWalkOrderOf<Params> == WalkOrder::kCounted) {
    return ClaimPlaces<F>::kBytes;
  } else {
    return 0;
  }
}

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
  std::uint32_t claim = 0;  ///< as the counter gives it: nobody waits for it before a tile is wanted

  [[nodiscard]] __device__ __forceinline__ std::uint32_t first_tile() const { return cluster; }
  __device__ __forceinline__ void begin_block() const {}
  __device__ __forceinline__ void begin_stage(std::uint32_t stage, std::uint32_t tile) const {
    store_shared(places.tile_at(stage), tile);
  }
  __device__ __forceinline__ void end_block(int k_block, std::uint32_t round) {
    if (rank != 0) return;
    if (k_block == times.claim_at) claim = atomicInc(claims, last_claim(num_tiles));
    if (k_block == times.tell_at) {
      const std::uint32_t next = tile_of_claim(claim, num_clusters);
#pragma unroll
      for (std::uint32_t to = 1; to < F::kCluster; ++to)
        base::store_at(places.message(round), places.message_at(round), to, make_uint4(next, 0, 0, 0));
    }
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t next_tile(std::uint32_t round) const {
    if (rank == 0) return tile_of_claim(claim, num_clusters);
    barrier_arrive_expect(places.message_at(round), ClaimPlaces<F>::kMessageBytes);
    barrier_wait(places.message_at(round), message_parity(round));
    return load_shared(places.message(round));
  }
  template <class Ring>
  __device__ __forceinline__ void end(const Ring& ring) const {
    barrier_wait(empty_at + ring.stage * 8, ring.phase ^ 1);
    begin_stage(ring.stage, num_tiles);
    barrier_arrive(full_at + ring.stage * 8);
  }
};

/// The tile whose first stage is next in the ring, by consumers.
template <class F>
[[nodiscard]] __device__ __forceinline__ std::uint32_t claimed_tile(std::uint32_t ring_at, std::uint32_t full_at,
                                                                    const RingPlace<F::kStages>& ring) {
  barrier_wait(full_at + ring.stage * 8, ring.phase);
  return load_shared(ClaimPlaces<F>{ring_at + F::kRingBytes}.tile_at(ring.stage));
}

/// The walk of kPaced, by the producers.
struct PacedWalk {
  const Turns<false>& turns;
  std::uint32_t* counters;  ///< of epochs
  Pace pace;
  std::uint32_t rank;
  std::uint32_t seen = 0;  ///< of the counter that is waited for

  [[nodiscard]] __device__ __forceinline__ std::uint32_t first_tile() const { return turns.tile(0); }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t next_tile(std::uint32_t round) const {
    return turns.tile(round);
  }
  __device__ __forceinline__ void begin_block() {
    if (rank != 0) return;
    if (pace.begin_block()) {
      atomicInc(counters + Epochs::slot_of(pace.epoch()), pace.epochs().last_arrival(pace.epoch()));
      if (pace.waits()) {
        while (!pace.may_go_on(seen)) seen = load_relaxed(counters + Epochs::slot_of(pace.awaited()));
      }
    }
    if (pace.looks_ahead()) seen = load_relaxed(counters + Epochs::slot_of(pace.awaited_next()));
  }
  __device__ __forceinline__ void begin_stage(std::uint32_t /*stage*/, std::uint32_t /*tile*/) const {}
  __device__ __forceinline__ void end_block(int /*k_block*/, std::uint32_t /*round*/) const {}
  template <class Ring>
  __device__ __forceinline__ void end(const Ring& /*ring*/) const {}
};

}  // namespace kizami::engines::hopper
