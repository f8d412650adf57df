// SPDX-License-Identifier: MIT
// Products of digits by wgmma, for sm_90a. A block of threads owns a tile of 128 x 128 pairs, of complex types 128 x
// 64: two warpgroups with 64 rows each, and a warp that copies the digits of steps to come: a thread with other work
// would keep all waiting. What holds the time is the two instructions that every pair takes to add a term; meanwhile
// the tensor cores make the products of the other half of the tile's columns or, where a step is one term, of the other
// warpgroup. Twelve warps have 168 registers each: sums and products take 128. Three of them find the rungs of a tile
// while the next one is added. Bytes of complex types: device_block_sums_sm80.cuh.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "base/cluster_sm90.cuh"
#include "base/wgmma_sm90.cuh"
#include "certify/block_sum.hpp"
#include "certify/device_block_sums.cuh"
#include "certify/device_rung_finders_sm90.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900 && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "wgmma is of sm_90a: CMAKE_CUDA_ARCHITECTURES must be 90a, not 90"
#endif

namespace kizami::certify::second_look {

/// @param blocks_of_term num::blocks_of_scale() of the lines
template <int parts, int blocks_of_term>
struct WgmmaCore {
  static constexpr int kParts = parts;
  static constexpr bool kStepIsTerm = parts == 2 || blocks_of_term == 2;  ///< else it is two
  static constexpr bool kIsWgmma = true;
  static constexpr int kThreads = 256;                  ///< that have pairs
  static constexpr int kBlockThreads = kThreads + 128;  ///< with the warp that copies, and those that find rungs
  static constexpr int kStages = parts == 1 ? 4 : 5;
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
    [[nodiscard]] __device__ int row_of(int pair) const { return first_row + (pair >> 1 & 1) * 8; }
    [[nodiscard]] __device__ int col_of(int pair) const { return first_col + (pair >> 2) * 8 + (pair & 1); }
  };

  /// Whether all threads that have pairs say so.
  [[nodiscard]] __device__ static __forceinline__ bool all(bool says) {
    return base::named_barrier_all(1, kThreads, says);
  }
};

// ---- tiles that need not be added to their end ----
//
// Sums only grow, so pairs that the lowest rung certifies before all blocks are added are certified at the end. Some
// steps into a tile its threads are asked whether all of its pairs are; the warp that copies waits for the answer with
// the first step that was not under way when they were asked, and what is under way is thrown away.

/// How often the threads of a tile are asked.
inline constexpr int kNumQuestions = 3;
/// After how many of the steps of a tile its threads are asked the `question`-th time. @return `steps` where it is too
/// late to ask
template <int kStages>
[[nodiscard]] __host__ __device__ constexpr int steps_before_question(int question, int steps) {
  constexpr int kEighths[kNumQuestions] = {3, 4, 6};
  const int before = question < kNumQuestions ? steps * kEighths[question] / 8 : steps;
  return before > 0 && before + kStages < steps ? before : steps;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
__device__ __forceinline__ void copy_bulk(void* to, const void* from, std::uint32_t bytes, std::uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
#endif

/// What a block of threads has in shared memory.
template <class Core>
struct StreamShared {
  Stage<Core> stages[Core::kStages];
  std::uint64_t full[Core::kStages];      ///< mbarriers: what a stage waits for is there
  std::uint64_t empty[Core::kStages];     ///< all warps are done with it
  std::uint64_t answered[kNumQuestions];  ///< mbarriers of the answers
  int is_enough[kNumQuestions];           ///< the answers
  FinderShared<Core> finders;
};

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
__device__ void begin_stream(StreamShared<Core>& shared) {
  for (int stage = 0; stage < Core::kStages; ++stage) {
    base::barrier_init(shared_address(&shared.full[stage]), 1);
    base::barrier_init(shared_address(&shared.empty[stage]), Core::kThreads / 32);
  }
  for (std::uint64_t& answered : shared.answered) base::barrier_init(shared_address(&answered), 1);
  shared.finders.begin_barriers();
  base::barrier_init_fence();
}

/// One thread copies the digits and scales of all steps of all tiles, ahead over the ends of tiles.
/// @param place_of gives the first lines of A and B of the n-th tile of this block  @param asks whether tiles may end early
template <class Core, class PlaceOf>
__device__ __forceinline__ void copy_steps(const DigitLines& a, const DigitLines& b, int steps_of_tile, int num_tiles,
                                           bool asks, StreamShared<Core>& shared, const PlaceOf& place_of) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr int kBlocks = kStepBlocks<Core::kParts>;
  constexpr std::uint32_t kBytesA = Core::kRows * kStepBytes;
  constexpr std::uint32_t kBytesB = Core::kCols * kStepBytes;
  StreamPlace<Core> at;
  at.parity = 1;               // all stages are empty
  std::uint32_t parities = 0;  // of the answers, a bit each
#pragma unroll 1
  for (int tile = 0; tile < num_tiles; ++tile) {
    int question = asks ? 0 : kNumQuestions;
    int answered = steps_before_question<Core::kStages>(question, steps_of_tile);
    std::int64_t row = 0;
    std::int64_t col = 0;
    place_of(tile, row, col);
    const std::int8_t* a_digits = a.digits_of(0, row);
    const std::int8_t* b_digits = b.digits_of(0, col);
    const float* a_scales = a.scales_of(0, row);
    const float* b_scales = b.scales_of(0, col);
#pragma unroll 1
    for (int step = 0; step < steps_of_tile; ++step) {
      if (step == answered + Core::kStages) {
        base::barrier_wait(shared_address(&shared.answered[question]), parities >> question & 1);
        parities ^= 1u << question;
        if (shared.is_enough[question] != 0) break;
        answered = steps_before_question<Core::kStages>(++question, steps_of_tile);
      }
      const std::uint32_t empty = shared_address(&shared.empty[at.stage]);
      if (!base::barrier_try_wait(empty, at.parity)) {  // there are stages ahead: no need to ask all the time
        __nanosleep(200);
        base::barrier_wait(empty, at.parity);
      }
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
  static constexpr int kHalfPairs = kPairs / 2;         ///< of a thread, in half of the columns
  static constexpr int kHalfGroups = Core::kCols / 32;  ///< of 16 columns, eight pairs of a thread

 public:
  /// @param asks as copy_steps() was told
  __device__ StepSums(int steps_of_tile, bool asks, StreamShared<Core>& shared)
      : shared_(shared),
        steps_of_tile_(steps_of_tile),
        first_question_(asks ? 0 : kNumQuestions),
        warpgroup_(__shfl_sync(kFullWarp, static_cast<int>(threadIdx.x) / 128, 0)) {
    asm volatile("" : "+r"(is_first_lane_));  // a register: asked again, it would come between products
    if (Core::kStepIsTerm && warpgroup_ == 1) base::named_barrier_arrive(2, Core::kThreads);
  }

  /// Adds the blocks of the next tile: all, or so many that is_enough(sums) in all threads.
  /// @return steps that were not added
  template <class IsEnough>
  __device__ __forceinline__ int sum_tile(float (&sums)[Core::kParts][kPairs], const IsEnough& is_enough) {
    int done = 0;
#pragma unroll 1
    for (int question = first_question_;; ++question) {
      const int end = steps_before_question<Core::kStages>(question, steps_of_tile_);
      add_steps(end - done, sums);
      done = end;
      if (done == steps_of_tile_) return 0;
      if (answer(question, Core::all(is_enough(sums)))) break;
    }
#pragma unroll 1
    for (int step = 0; step < Core::kStages; ++step) {  // under way
      wait_for(at_);
      release(at_.stage);
      at_.advance();
    }
    return steps_of_tile_ - done;
  }

 private:
  static constexpr std::uint32_t kStep = base::descriptor_step(32);

  /// Products of a block and half of the columns.
  using Half = std::int32_t[kHalfPairs];

  /// Scales of a block for some groups of 16 columns from the first on, half of them loaded before the products are
  /// there: there are no more registers.
  template <int groups>
  struct Scales {
    static constexpr int kGroups = groups;
    static constexpr int kEarly = kHalfGroups / 2;

    __device__ __forceinline__ Scales(const Stage<Core>& stage, int block, int first_group,
                                      const typename Core::Place& place)
        : columns(shared_address(&stage.b_scales[block][16 * first_group + scale_place(place.first_col)])) {
      const float* const of_rows = &stage.a_scales[block][scale_place(place.first_row)];
      rows[0] = of_rows[0];
      rows[1] = of_rows[2];
#pragma unroll
      for (int q = 0; q < kEarly; ++q) early[q] = load(q);
    }
    /// Of columns 16 q + first_col + {0, 1, 8, 9}.
    [[nodiscard]] __device__ __forceinline__ float4 of_group(int q) const { return q < kEarly ? early[q] : load(q); }
    /// Where it stands among the products and waits.
    [[nodiscard]] __device__ __forceinline__ float4 load(int q) const {
      float4 x;
      asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                   : "r"(columns + 64u * static_cast<std::uint32_t>(q)));
      return x;
    }

    std::uint32_t columns;  ///< in shared memory
    float rows[2];
    float4 early[kEarly];
  };

  /// Tells the warp that copies whether the tile ends here.
  __device__ __forceinline__ bool answer(int question, bool is_enough) {
    if (threadIdx.x == 0) {
      shared_.is_enough[question] = is_enough ? 1 : 0;
      base::barrier_arrive(shared_address(&shared_.answered[question]));
    }
    return is_enough;
  }

  /// Adds the blocks of the next `count` > 0 steps.
  __device__ __forceinline__ void add_steps(int count, float (&sums)[Core::kParts][kPairs]) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    if constexpr (Core::kStepIsTerm) {
#pragma unroll 1
      for (int step = 0; step < count; ++step) add_whole_step(sums);
    } else {
      Half left;
      Half right;
      wait_for(at_);
      begin<0>(left, shared_.stages[at_.stage], 0);
#pragma unroll 1
      for (int step = 1; step < count; ++step) add_step<false>(left, right, sums[0]);
      add_step<true>(left, right, sums[0]);
    }
#endif
  }

  __device__ __forceinline__ void wait_for(const StreamPlace<Core>& at) {
    base::barrier_wait(shared_address(&shared_.full[at.stage]), at.parity);
  }
  /// This warp is done with a stage.
  __device__ __forceinline__ void release(int stage) {
    __syncwarp();
    if (is_first_lane_ != 0) base::barrier_arrive(shared_address(&shared_.empty[stage]));
  }

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  /// Adds the blocks of a step, whose first products are under way in `left`; begins those of the next step.
  template <bool kIsLast>
  __device__ __forceinline__ void add_step(Half& left, Half& right, float (&sums)[kPairs]) {
    constexpr int kBlocks = kStepBlocks<Core::kParts>;
    const int here = at_.stage;
    const Stage<Core>& stage = shared_.stages[here];
    at_.advance();
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      {
        const Scales<kHalfGroups> scales(stage, block, 0, place_);
        begin<1>(right, stage, block);
        base::wgmma_wait<1>();
        add_half<0>(scales, left, sums);
      }
      const Scales<kHalfGroups> scales(stage, block, kHalfGroups, place_);
      if (kIsLast && block + 1 == kBlocks) {
        base::wgmma_wait<0>();
      } else {
        if (block + 1 < kBlocks) {
          begin<0>(left, stage, block + 1);
        } else {
          wait_for(at_);
          begin<0>(left, shared_.stages[at_.stage], 0);
        }
        base::wgmma_wait<1>();
      }
      add_half<1>(scales, right, sums);
    }
    release(here);
  }

  /// Adds a step that is one term, all columns at a time. The two warpgroups take turns: products of both at a time
  /// would be done at the same time, and added at the same time, while the tensor cores wait. The other's turn begins
  /// with the second half of the products of this one, which hides its start.
  __device__ __forceinline__ void add_whole_step(float (&sums)[Core::kParts][kPairs]) {
    wait_for(at_);
    const Stage<Core>& stage = shared_.stages[at_.stage];
    Scales<2 * kHalfGroups> scales(stage, 0, 0, place_);
    std::uint32_t rows = rows_of(stage);
    std::uint32_t columns = base::swizzled_lines(shared_address(stage.b));
    asm volatile("" : "+r"(scales.columns), "+r"(rows), "+r"(columns));  // all is there when the turn comes
    std::int32_t products[Core::kParts][kPairs];
    base::named_barrier_sync(2 + warpgroup_, Core::kThreads);
    base::wgmma_fence();
    if constexpr (Core::kParts == 1) {
      base::wgmma_s8(products[0], rows, columns, 0);
      base::wgmma_s8(products[0], rows + kStep, columns + kStep, 1);
      base::wgmma_commit();
      base::wgmma_s8(products[0], rows + 2 * kStep, columns + 2 * kStep, 1);
      base::wgmma_s8(products[0], rows + 3 * kStep, columns + 3 * kStep, 1);
    } else {  // of r + s, and of r - s
      base::wgmma_u8(products[0], rows, columns, 0);
      base::wgmma_u8(products[0], rows + kStep, columns + kStep, 1);
      base::wgmma_commit();
      base::wgmma_s8(products[1], rows + 2 * kStep, columns + 2 * kStep, 0);
      base::wgmma_s8(products[1], rows + 3 * kStep, columns + 3 * kStep, 1);
    }
    base::wgmma_commit();
    base::wgmma_wait<1>();
    give_turn();
    base::wgmma_wait<0>();
#pragma unroll
    for (int part = 0; part < Core::kParts; ++part) base::pin(products[part]);
#pragma unroll
    for (int q = 0; q < 2 * kHalfGroups; ++q) {
      if constexpr (Core::kParts == 1) {
        add_group(
            scales, q, [&](int i) { return products[0][8 * q + i]; },
            [&](int i) -> float& { return sums[0][8 * q + i]; });
      } else {
        add_group(
            scales, q, [&](int i) { return products[0][8 * q + i] + products[1][8 * q + i]; },
            [&](int i) -> float& { return sums[0][8 * q + i]; });
        add_group(
            scales, q, [&](int i) { return products[0][8 * q + i] - products[1][8 * q + i]; },
            [&](int i) -> float& { return sums[1][8 * q + i]; });
      }
    }
    release(at_.stage);
    at_.advance();
  }
  /// The other warpgroup's.
  __device__ __forceinline__ void give_turn() const { base::named_barrier_arrive(3 - warpgroup_, Core::kThreads); }

  [[nodiscard]] __device__ __forceinline__ std::uint32_t rows_of(const Stage<Core>& stage) const {
    return base::swizzled_lines(shared_address(stage.a)) +
           static_cast<std::uint32_t>(warpgroup_) * base::descriptor_step(64 * kStepBytes);
  }

  /// Begins the products of a block of 64 elements and half of the columns.
  template <int kHalf>
  __device__ __forceinline__ void begin(Half& products, const Stage<Core>& stage, int block) const {
    const std::uint32_t at = static_cast<std::uint32_t>(block) * base::descriptor_step(64);
    const std::uint32_t rows = rows_of(stage) + at;
    const std::uint32_t columns = base::swizzled_lines(shared_address(stage.b)) + at +
                                  kHalf * base::descriptor_step(Core::kCols / 2 * kStepBytes);
    base::wgmma_fence();
    base::wgmma_s8(products, rows, columns, 0);
    base::wgmma_s8(products, rows + kStep, columns + kStep, 1);
    base::wgmma_commit();
  }

  /// Adds the products of a block and half of the columns.
  template <int kHalf>
  __device__ static __forceinline__ void add_half(const Scales<kHalfGroups>& scales, Half& products,
                                                  float (&sums)[kPairs]) {
    base::pin(products);
#pragma unroll
    for (int q = 0; q < kHalfGroups; ++q) {
      add_group(
          scales, q, [&](int i) { return products[8 * q + i]; },
          [&](int i) -> float& { return sums[kHalf * kHalfPairs + 8 * q + i]; });
    }
  }

  /// Adds the products of this thread's eight pairs in a group of 16 columns.
  template <class Scales, class ProductOf, class SumOf>
  __device__ static __forceinline__ void add_group(const Scales& scales, int q, const ProductOf& product_of,
                                                   const SumOf& sum_of) {
    const float4 columns = scales.of_group(q);
    const float of_column[4] = {columns.x, columns.y, columns.z, columns.w};
#pragma unroll
    for (int i = 0; i < 8; ++i)
      sum_of(i) = add_term(sum_of(i), product_of(i), scales.rows[i / 2 % 2], of_column[i / 4 * 2 + i % 2]);
  }
#endif

  StreamShared<Core>& shared_;
  int steps_of_tile_;
  int first_question_;
  int warpgroup_;  ///< the same in all threads of a warp, and known to be
  int is_first_lane_ = lane() == 0 ? 1 : 0;
  typename Core::Place place_;
  StreamPlace<Core> at_;
};

}  // namespace kizami::certify::second_look
