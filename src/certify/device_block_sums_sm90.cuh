// SPDX-License-Identifier: MIT
// Products of digits by wgmma, for sm_90a. A block of threads owns a tile of 128 x 128 pairs, of complex types 128 x 64: two
// warpgroups with 64 rows each, and a warp that copies the digits of steps to come: a thread with other work would keep all waiting.
// What holds the time is the two instructions that every pair takes to add a block; meanwhile the tensor cores make the products
// of the other warpgroup. The two take turns: products of both at a time would be done at the same time, and added at the same time,
// while the tensor cores wait. Nine warps have 168 registers each: no room for products of two blocks.
// Bytes of complex types: device_block_sums_sm80.cuh.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "base/cluster_sm90.cuh"
#include "base/wgmma_sm90.cuh"
#include "certify/block_sum.hpp"
#include "certify/device_block_sums.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900 && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "wgmma is of sm_90a: CMAKE_CUDA_ARCHITECTURES must be 90a, not 90"
#endif

namespace kizami::certify::second_look {

template <int parts>
struct WgmmaCore {
  static constexpr int kParts = parts;
  static constexpr bool kIsWgmma = true;
  static constexpr int kThreads = 256;       ///< that have pairs
  static constexpr int kBlockThreads = 288;  ///< with the warp that copies
  static constexpr int kStages = 5;
  static constexpr int kRows = 128;                     ///< lines of A
  static constexpr int kCols = kParts == 1 ? 128 : 64;  ///< lines of B
  static constexpr int kPairs = 64 * kCols / 128;       ///< of a thread

  /// Place of a thread's pairs in a tile, as wgmma_text_sm90.cuh says.
  struct Place {
    int first_row;
    int first_col;

    __device__ Place() {
      first_row = static_cast<int>(threadIdx.x) / 32 * 16 + lane() / 4;
      first_col = lane() % 4 * 2;
    }
    [[nodiscard]] __device__ int row_of(int pair) const { return first_row + pair / 2 % 2 * 8; }
    [[nodiscard]] __device__ int col_of(int pair) const { return first_col + pair / 4 * 8 + pair % 2; }
  };

  /// A barrier of the threads that have pairs.
  __device__ static __forceinline__ void sync() { base::named_barrier_sync(1, kThreads); }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
__device__ __forceinline__ void copy_bulk(void* to, const void* from, std::uint32_t bytes, std::uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
#endif

/// Where a warp is in the stream of all steps of all tiles of its block of threads.
template <class Core>
struct StreamPlace {
  int stage = 0;
  std::uint32_t parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == Core::kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// By one thread, before a barrier of the block of threads.
template <class Core>
__device__ void begin_stream(Shared<Core>& shared) {
  for (int stage = 0; stage < Core::kStages; ++stage) {
    base::barrier_init(shared_address(&shared.full[stage]), 1);
    base::barrier_init(shared_address(&shared.empty[stage]), Core::kThreads / 32);
  }
  base::barrier_init_fence();
}

/// One thread copies the digits and scales of all steps of all tiles, ahead over the ends of tiles.
/// @param place_of gives the first lines of A and B of the n-th tile of this block
template <class Core, class PlaceOf>
__device__ __forceinline__ void copy_steps(const DigitLines& a, const DigitLines& b, int steps_of_tile, int num_tiles,
                                           Shared<Core>& shared, const PlaceOf& place_of) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr int kBlocks = kStepBlocks<Core::kParts>;
  constexpr std::uint32_t kBytesA = Core::kRows * kStepBytes;
  constexpr std::uint32_t kBytesB = Core::kCols * kStepBytes;
  StreamPlace<Core> at;
  at.parity = 1;  // all stages are empty
#pragma unroll 1
  for (int tile = 0; tile < num_tiles; ++tile) {
    std::int64_t row = 0;
    std::int64_t col = 0;
    place_of(tile, row, col);
    const std::int8_t* a_digits = a.digits_of(0, row);
    const std::int8_t* b_digits = b.digits_of(0, col);
    const float* a_scales = a.scales_of(0, row);
    const float* b_scales = b.scales_of(0, col);
#pragma unroll 1
    for (int step = 0; step < steps_of_tile; ++step) {
      base::barrier_wait(shared_address(&shared.empty[at.stage]), at.parity);
      Stage<Core>& to = shared.stages[at.stage];
      const std::uint32_t barrier = shared_address(&shared.full[at.stage]);
      base::barrier_arrive_expect(barrier, kBytesA + kBytesB + kBlocks * 4 * (Core::kRows + Core::kCols));
      copy_bulk(to.a, a_digits, kBytesA, barrier);
      copy_bulk(to.b, b_digits, kBytesB, barrier);
      a_digits += a.num_padded * kStepBytes;
      b_digits += b.num_padded * kStepBytes;
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        copy_bulk(to.a_scales[block], a_scales, 4 * Core::kRows, barrier);
        copy_bulk(to.b_scales[block], b_scales, 4 * Core::kCols, barrier);
        a_scales += a.num_padded;
        b_scales += b.num_padded;
      }
      at.advance();
    }
  }
#endif
}

/// The ordered sums of a warpgroup's pairs, tile by tile.
template <class Core>
class StepSums {
  static constexpr int kPairs = Core::kPairs;
  static constexpr int kGroups = Core::kCols / 16;  ///< of 16 columns, eight pairs of a thread

 public:
  __device__ StepSums(int steps_of_tile, Shared<Core>& shared)
      : shared_(shared),
        steps_of_tile_(steps_of_tile),
        warpgroup_(__shfl_sync(kFullWarp, static_cast<int>(threadIdx.x) / 128, 0)) {
    if (warpgroup_ == 1) give_turn();  // to the first one
  }

  /// Adds all blocks of the next tile.
  __device__ __forceinline__ void sum_tile(float (&sums)[Core::kParts][kPairs]) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    if constexpr (Core::kParts == 1) {
#pragma unroll 1
      for (int left = steps_of_tile_; left > 0; --left) {
        wait_for(at_);
        const Stage<Core>& stage = shared_.stages[at_.stage];
#pragma unroll
        for (int block = 0; block < kStepBlocks<Core::kParts>; ++block) {
          std::int32_t products[kPairs];
          const Scales scales(stage, block, place_);
          wait_for_turn();
          multiply(products, stage, block);
          base::wgmma_wait<0>();
          base::pin(products);
          give_turn();
          add(
              scales, [&](int i) { return products[i]; }, sums[0]);
        }
        release(at_);
        at_.advance();
      }
    } else {
#pragma unroll 1
      for (int left = steps_of_tile_; left > 0; --left) {
        wait_for(at_);
        const Stage<Core>& stage = shared_.stages[at_.stage];
        std::int32_t p[kPairs];
        std::int32_t m[kPairs];
        const std::uint32_t rows = rows_of(stage);
        const std::uint32_t columns = base::swizzled_lines(shared_address(stage.b));
        const Scales scales(stage, 0, place_);
        wait_for_turn();
        base::wgmma_fence();
        base::wgmma_u8(p, rows, columns, 0);
        base::wgmma_u8(p, rows + kStep, columns + kStep, 1);
        base::wgmma_s8(m, rows + 2 * kStep, columns + 2 * kStep, 0);
        base::wgmma_s8(m, rows + 3 * kStep, columns + 3 * kStep, 1);
        base::wgmma_commit();
        base::wgmma_wait<0>();
        base::pin(p);
        base::pin(m);
        give_turn();
        add(
            scales, [&](int i) { return p[i] + m[i]; }, sums[0]);
        add(
            scales, [&](int i) { return p[i] - m[i]; }, sums[Core::kParts - 1]);
        release(at_);
        at_.advance();
      }
    }
#endif
  }

 private:
  static constexpr std::uint32_t kStep = base::descriptor_step(32);

  /// Scales of a block, half of those of the columns before its products are there.
  struct Scales {
    static constexpr int kEarly = kGroups / 2;

    __device__ Scales(const Stage<Core>& stage, int block, const typename Core::Place& place)
        : columns(&stage.b_scales[block][scale_place(place.first_col)]) {
      const float* const of_rows = &stage.a_scales[block][scale_place(place.first_row)];
      rows[0] = of_rows[0];
      rows[1] = of_rows[2];
#pragma unroll
      for (int q = 0; q < kEarly; ++q) early[q] = load(q);
    }
    /// Of columns 16 q + first_col + {0, 1, 8, 9}.
    [[nodiscard]] __device__ float4 of_group(int q) const { return q < kEarly ? early[q] : load(q); }
    [[nodiscard]] __device__ float4 load(int q) const { return *reinterpret_cast<const float4*>(columns + 16 * q); }

    const float* columns;
    float rows[2];
    float4 early[kEarly];
  };

  [[nodiscard]] __device__ __forceinline__ std::uint32_t rows_of(const Stage<Core>& stage) const {
    return base::swizzled_lines(shared_address(stage.a)) +
           static_cast<std::uint32_t>(warpgroup_) * base::descriptor_step(64 * kStepBytes);
  }
  __device__ __forceinline__ void wait_for(const StreamPlace<Core>& at) {
    base::barrier_wait(shared_address(&shared_.full[at.stage]), at.parity);
  }
  /// The tensor cores are this warpgroup's from here on, and after give_turn() the other one's.
  __device__ __forceinline__ void wait_for_turn() const { base::named_barrier_sync(2 + warpgroup_, Core::kThreads); }
  __device__ __forceinline__ void give_turn() const { base::named_barrier_arrive(3 - warpgroup_, Core::kThreads); }
  /// This warp is done with a stage.
  __device__ __forceinline__ void release(const StreamPlace<Core>& at) {
    __syncwarp();
    if (lane() == 0) base::barrier_arrive(shared_address(&shared_.empty[at.stage]));
  }

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  /// Begins the products of a block of 64 elements.
  __device__ __forceinline__ void multiply(std::int32_t (&d)[kPairs], const Stage<Core>& stage, int block) const {
    const std::uint32_t at = static_cast<std::uint32_t>(block) * base::descriptor_step(64);
    const std::uint32_t rows = rows_of(stage) + at;
    const std::uint32_t columns = base::swizzled_lines(shared_address(stage.b)) + at;
    base::wgmma_fence();
    base::wgmma_s8(d, rows, columns, 0);
    base::wgmma_s8(d, rows + kStep, columns + kStep, 1);
    base::wgmma_commit();
  }
#endif

  /// Adds the products of a block: products(i) is that of pair i.
  template <class Products>
  __device__ static __forceinline__ void add(const Scales& scales, const Products& products, float (&sums)[kPairs]) {
#pragma unroll
    for (int q = 0; q < kGroups; ++q) {
      const float4 columns = scales.of_group(q);
      const float of_column[4] = {columns.x, columns.y, columns.z, columns.w};
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        const int i = 8 * q + e;
        sums[i] = add_term(sums[i], products(i), scales.rows[e / 2 % 2], of_column[e / 4 * 2 + e % 2]);
      }
    }
  }

  Shared<Core>& shared_;
  int steps_of_tile_;
  int warpgroup_;  ///< the same in all threads of a warp, and known to be
  typename Core::Place place_;
  StreamPlace<Core> at_;
};

}  // namespace kizami::certify::second_look
