// SPDX-License-Identifier: MIT
// The product of split FP32 operands in one persistent launch, on the tensor cores of sm_90a. products_ec_sm90.cuh has
// those of a batch, triangle_ec_sm90.cuh has one triangle of C, by the same parts.
//
//   d(i, j) = sum over k of lo_A hi_B + hi_A lo_B + hi_A hi_B, then the epilogue, tile by tile.
//
// The tensor core truncates, so a long sum in its accumulator drifts towards zero. A warpgroup therefore lets it sum
// kPromoted stages (32, 64 or 128 elements of k in FP16) from zero, the small products first, and adds the result to
// FP32 sums of its own, rounded to nearest. Those additions fall under the multiplications of the other warpgroup, which
// has the tensor cores to itself meanwhile where takes_turns().
// Where registers allow, the sums of some promotions are added to a second set of sums, so that long ones gather fewer
// roundings. In wgmma's words B gives the rows and A the columns. tile_pipeline_sm90.cuh says how stages go from the
// producer (warpgroup 0) to the consumers (1 and 2). A stage holds hi in the first 64 bytes of each line and lo in the
// others.
//
// A CTA ends when its whole cluster has: until then others may send to its memory and arrive at its barriers.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "base/overlapped_launch.hpp"
#include "engines/hopper/ec_params.hpp"
#include "engines/hopper/ptx_sm90.cuh"
#include "engines/hopper/store_ec_sm90.cuh"
#include "engines/hopper/tile_pipeline_sm90.cuh"
#include "engines/hopper/wgmma_ec_sm90.cuh"

namespace kizami::engines::hopper {

/// A form as constants. With kSplitsInner both consumers have the whole tile and every other promotion of k each,
/// counted through all tiles.
template <EcForm form, bool splits_inner, int tile_i, int tile_j, int cluster, int stages>
struct EcShape : TileShape<tile_i, tile_j, splits_inner ? tile_j : tile_j / 2, cluster, stages> {
  static constexpr EcForm kForm = form;
  using Shape = TileShape<tile_i, tile_j, splits_inner ? tile_j : tile_j / 2, cluster, stages>;
  static constexpr bool kSplitsInner = splits_inner;
  static constexpr int kSums = tile_i / 2;                                   ///< of one thread
  static constexpr int kStoredI = splits_inner ? tile_i / 2 : tile_i;        ///< lines of A that a warpgroup stores
  static constexpr int kExchangeBytes = splits_inner ? kSums * 128 * 4 : 0;  ///< each consumer half of its sums
  static constexpr int kSharedBytes = Shape::kAlignment + Shape::kRingBytes + kExchangeBytes + Shape::kBarrierBytes;

  static_assert(Shape::kGroupJ == 64, "one wgmma makes a warpgroup's lines of B");
  static_assert(!splits_inner || tile_i % 128 == 0, "halves are whole tiles of the epilogue");
  static_assert(kSharedBytes <= kMostSharedBytes);
  static_assert(2 * kSums <= 192, "accumulators and sums in registers of one thread");
};

/// acc = the products of kPromoted stages from `ring` on, which moves past them: groups of kGroup stages, of each the
/// small products first, while acc is small. With kTakesTurns a group is a turn.
template <class F, product::EcFormat kFormat, int kPromoted, bool kTakesTurns>
__device__ __forceinline__ void multiply_stages(float (&acc)[F::kSums], RingPlace<F::kStages>& ring,
                                                std::uint32_t rows_at, std::uint32_t columns_at, std::uint32_t full_at,
                                                std::uint32_t empty_at, std::uint32_t lane,
                                                const ConsumerTurns& turns) {
  // Consumers that read the same stages need free ones between them; those that do not have stages enough for all at
  // once.
  constexpr int kGroup = F::kSplitsInner || kPromoted == 1 ? kPromoted : 2;
  constexpr int kCommits = kGroup == 1 ? 1 : 2;  // of a group
  static_assert(kPromoted % kGroup == 0 && kGroup % kCommits == 0);
  static_assert(!kTakesTurns || !F::kSplitsInner, "turns are of consumers that read the same stages");
  // A consumer that skips stages sees nothing of their barriers. With one bit of phase it must therefore have waited
  // itself for the last bytes that its own stages got, so each place in the ring belongs to one consumer.
  static_assert(!F::kSplitsInner || F::kStages % (2 * kPromoted) == 0);
  constexpr std::uint32_t kLo = descriptor_step(64);
  RingPlace<F::kStages> oldest = ring;  // that is not released
  const auto release = [&](int count) {
#pragma unroll
    for (int s = 0; s < count; ++s) {
      release_stage<F>(empty_at + oldest.stage * 8, lane);
      oldest.next();
    }
  };
  std::int32_t accumulate = 0;
  pin(acc);
#pragma unroll
  for (int group = 0; group < kPromoted / kGroup; ++group) {
    std::uint32_t rows[kGroup];
    std::uint32_t columns[kGroup];
#pragma unroll
    for (int s = 0; s < kGroup; ++s) {
      barrier_wait(full_at + ring.stage * 8, ring.phase);
      if constexpr (kTakesTurns) {
        if (s == 0) turns.begin();
      }
      wgmma_fence();
      rows[s] = swizzled_lines(rows_at + ring.stage * F::kStageBytes);
      columns[s] = swizzled_lines(columns_at + ring.stage * F::kStageBytes);
      ring.next();
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const std::uint32_t step = descriptor_step(part * 32);
        wgmma_ec<kFormat>(acc, rows[s] + step, columns[s] + kLo + step, accumulate);
        accumulate = 1;
        wgmma_ec<kFormat>(acc, rows[s] + kLo + step, columns[s] + step, accumulate);
      }
    }
#pragma unroll
    for (int s = 0; s < kGroup; ++s) {
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const std::uint32_t step = descriptor_step(part * 32);
        wgmma_ec<kFormat>(acc, rows[s] + step, columns[s] + step, accumulate);
      }
      if (s % (kGroup / kCommits) == kGroup / kCommits - 1) wgmma_commit();
    }
    if constexpr (kTakesTurns) turns.end();
    if (group > 0) {
      wgmma_wait<kCommits>();  // the group before has been read
      release(kGroup);
    }
  }
  pin(acc);
  if constexpr (kCommits == 2) {
    wgmma_wait<1>();
    release(kGroup / 2);
  }
  wgmma_wait<0>();
  release(kGroup / kCommits);
  pin(acc);
}

/// FP32 sums of promotions, which are added in order: those of each block of promotions from zero, and the blocks then.
/// Without kHasBlocks all are one block.
template <int kSums, bool kHasBlocks>
struct PromotedSums {
  float sums[kSums];
  float blocks[kHasBlocks ? kSums : 1];
  int in_block;

  __device__ __forceinline__ void clear() {
    in_block = 0;
#pragma unroll
    for (int e = 0; e < kSums; ++e) sums[e] = 0;
    if constexpr (kHasBlocks) {
#pragma unroll
      for (int e = 0; e < kSums; ++e) blocks[e] = 0;
    }
  }
  __device__ __forceinline__ void promote(const float (&acc)[kSums], int block_promotions) {
    if constexpr (kHasBlocks) {
      if (in_block == block_promotions) {
        in_block = 0;
#pragma unroll
        for (int e = 0; e < kSums; ++e) {
          blocks[e] = __fadd_rn(blocks[e], sums[e]);
          sums[e] = 0;
        }
      }
      ++in_block;
    }
#pragma unroll
    for (int e = 0; e < kSums; ++e) sums[e] = __fadd_rn(sums[e], acc[e]);
  }
  __device__ __forceinline__ void finish(bool has_several_blocks) {
    if constexpr (kHasBlocks) {
      if (!has_several_blocks) return;
#pragma unroll
      for (int e = 0; e < kSums; ++e) sums[e] = __fadd_rn(blocks[e], sums[e]);
    }
  }
};

/// Both consumers have sums of the whole tile: each gets the other's part of one half of the columns, adds, and stores
/// it.
template <class F, class Params>
__device__ __forceinline__ void store_halves(const float (&sums)[F::kSums], std::uint32_t exchange_at,
                                             const Params& params, const EcFactors& factors,
                                             const TileScales<F::kStoredI, Params>& scales, int i_first, int j_first,
                                             std::uint32_t consumer, int thread) {
  constexpr int kHalf = F::kSums / 2;
  const std::uint32_t mine = exchange_at + consumer * (kHalf * 512) + thread * 4;
  const std::uint32_t other = exchange_at + (consumer ^ 1) * (kHalf * 512) + thread * 4;
  named_barrier_sync(1, 2 * 128);  // the tile before has been read
#pragma unroll
  for (int e = 0; e < kHalf; ++e) {
    const float give = consumer == 0 ? sums[kHalf + e] : sums[e];
    asm volatile("st.shared.f32 [%0], %1;\n" ::"r"(mine + e * 512), "f"(give) : "memory");
  }
  named_barrier_sync(1, 2 * 128);
  float half[kHalf];
#pragma unroll
  for (int e = 0; e < kHalf; ++e) {
    float got = 0;
    asm volatile("ld.shared.f32 %0, [%1];\n" : "=f"(got) : "r"(other + e * 512) : "memory");
    half[e] = __fadd_rn(consumer == 0 ? sums[e] : sums[kHalf + e], got);
  }
  store_ec_tile<F::kStoredI>(half, params, factors, scales, i_first, j_first, thread);
}

/// Where this CTA's shared memory begins, and which tiles are its own.
struct EcPlace : CtaPlace {
  std::uint32_t first_tile;
  std::uint32_t tile_step;
};

// Params below: const EcParams or EcTriangleParams, or EcProductOfBatch (products_ec_sm90.cuh), which enters one product after another. What
// only a batch does stands in branches of compile time, and without functions of its own, so that the code of one product
// is what it would be alone: it has no registers left.

/// The producer's part, by one thread.
template <class F, class Params>
__device__ __forceinline__ void produce_stages(Params& params, const EcSplitParams& split, const EcPlace& at,
                                               int num_k_blocks) {
  RingPlace<F::kStages> ring;
  if constexpr (Params::kIsBatch) ring = params.ring;
  for (std::uint32_t tile = at.first_tile; tile < params.*Params::kNumTiles; tile += at.tile_step) {
    const TilePlace place = place_of<F>(tile, params);
    if constexpr (Params::kIsBatch) {
      if (!params.enter(place.plane)) continue;
    }
#pragma unroll 1
    for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
      const std::uint32_t full = at.full_at + ring.stage * 8;
      barrier_wait(at.empty_at + ring.stage * 8, ring.phase ^ 1);  // at once in the first round
      barrier_arrive_expect(full, F::kStageBytes);
      copy_stage<F, LineOrder::kInOrder>(split.a_map, split.b_map, place, at.rank, source_of<F>(params, place, k_block),
                                         at.ring_at + ring.stage * F::kStageBytes, full);
      ring.next();
    }
  }
  if constexpr (Params::kIsBatch) params.ring = ring;
}

/// A consumer warpgroup's part.
template <class F, product::EcFormat kFormat, int kPromoted, class Params>
__device__ __forceinline__ void consume_stages(Params& params, const EcPlace& at, std::uint32_t consumer,
                                               int num_k_blocks, int block_promotions) {
  // A batch would have to end its turns before it goes on with products of the other format.
  constexpr bool kTakesTurns = !Params::kIsBatch && takes_turns(F::kForm, kFormat, kPromoted);
  const int thread = static_cast<int>(threadIdx.x % 128);
  const std::uint32_t lane = threadIdx.x % 32;
  const int num_promotions = num_k_blocks / kPromoted;
  const std::uint32_t rows_at = at.ring_at + F::kBytesA + (F::kSplitsInner ? 0 : consumer * F::kGroupJ * F::kBlockK);
  float acc[F::kSums];
  PromotedSums<F::kSums, has_block_sums(F::kForm, kPromoted)> promoted;
  RingPlace<F::kStages> ring;
  std::uint32_t turn = 0;  // counts promotions, of all tiles
  const ConsumerTurns turns{consumer == 0};
  if constexpr (kTakesTurns) turns.start();
  if constexpr (Params::kIsBatch) {
    ring = params.ring;
    turn = params.turn;
  }

  for (std::uint32_t tile = at.first_tile; tile < params.*Params::kNumTiles; tile += at.tile_step) {
    const TilePlace place = place_of<F>(tile, params);
    if constexpr (Params::kIsBatch) {
      if (!params.enter(place.plane)) continue;
    }
    // What this warpgroup stores begins here.
    const int i_first = place.i_first + (F::kSplitsInner ? static_cast<int>(consumer) * F::kStoredI : 0);
    const int j_first = place.j_first + static_cast<int>(at.rank) * F::kTileJ +
                        (F::kSplitsInner ? 0 : static_cast<int>(consumer) * F::kGroupJ);
    const TileScales<F::kStoredI, std::remove_const_t<Params>> scales(params, i_first, j_first, thread);
    promoted.clear();
#pragma unroll 1
    for (int p = 0; p < num_promotions; ++p, ++turn) {
      if (F::kSplitsInner && turn % 2 != consumer) {
        ring.skip(kPromoted);
        continue;
      }
      multiply_stages<F, kFormat, kPromoted, kTakesTurns>(acc, ring, rows_at, at.ring_at, at.full_at, at.empty_at, lane,
                                                          turns);
      promoted.promote(acc, block_promotions);
    }
    promoted.finish(num_promotions > (F::kSplitsInner ? 2 : 1) * block_promotions);
    const EcFactors factors(params);                            // now, for the sums need the registers
    if constexpr (Params::kIsBatch) params.enter(place.plane);  // likewise
    if constexpr (F::kSplitsInner) {
      store_halves<F>(promoted.sums, at.ring_at + F::kRingBytes, params, factors, scales, i_first, j_first, consumer,
                      thread);
    } else {
      store_ec_tile<F::kStoredI>(promoted.sums, params, factors, scales, i_first, j_first, thread);
    }
  }
  if constexpr (Params::kIsBatch) {
    params.ring = ring;
    params.turn = turn;
  }
}

/// Both formats, of which device memory may choose: a call then has one launch less, and an untaken one takes two
/// microseconds.
/// Params: EcParams for all tiles of C, EcTriangleParams for those of a triangle.
/// @range blockDim = kNumThreads; grid a multiple of F::kCluster; F::kSharedBytes of dynamic shared memory
template <class F, int kPromoted, class Params = EcParams>
__global__ void __launch_bounds__(kNumThreads, 1) product_ec_sm90(const __grid_constant__ Params params) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) std::uint8_t shared_memory[];
  const CtaPlace cta =
      begin_cta<F>(shared_memory, F::kRingBytes + F::kExchangeBytes, params.splits[0].a_map, params.splits[0].b_map);
  const EcPlace at{cta, blockIdx.x / F::kCluster, gridDim.x / F::kCluster};
  base::follow_previous_kernel();  // the split, of whose planes and scales nothing is read before
  const std::int32_t decision = params.decision == nullptr ? 0 : *params.decision;
  if (decision < 0 || decision >= params.num_splits) return;  // all CTAs
  asm volatile("fence.proxy.async;\n" ::: "memory");          // nothing is read by the copy engine before, either
  const EcSplitParams& split = params.splits[decision];
  const int num_k_blocks = has_product(params) ? split.num_k_blocks : 0;
  const std::uint32_t warpgroup = __shfl_sync(kWholeWarp, threadIdx.x / 128, 0);  // uniform, for the compiler

  if (warpgroup == 0) {
    give_registers_back<40>();
    if (threadIdx.x == 0) produce_stages<F>(params, split, at, num_k_blocks);
    __syncwarp();
  } else {
    take_registers<232>();
    using product::EcFormat;
    if (split.is_tf32 != 0) {
      consume_stages<F, EcFormat::kTf32, kPromoted>(params, at, warpgroup - 1, num_k_blocks, split.block_promotions);
    } else {
      consume_stages<F, EcFormat::kF16, kPromoted>(params, at, warpgroup - 1, num_k_blocks, split.block_promotions);
    }
  }
  if constexpr (F::kCluster > 1) cluster_sync();
#else
  __trap();  // built for another architecture
#endif
}

template <EcForm form>
struct EcShapeOf;
template <>
struct EcShapeOf<EcForm::kCooperative192x128> : EcShape<EcForm::kCooperative192x128, false, 192, 128, 2, 5> {};
template <>
struct EcShapeOf<EcForm::kCooperative128x128> : EcShape<EcForm::kCooperative128x128, false, 128, 128, 2, 6> {};
template <>
struct EcShapeOf<EcForm::kSplitInner128x64> : EcShape<EcForm::kSplitInner128x64, true, 128, 64, 2, 8> {};

template <EcForm form, product::EcPromotion promotion>
EcKernel ec_kernel() {
  using F = EcShapeOf<form>;
  return {reinterpret_cast<const void*>(&product_ec_sm90<F, stages_of(promotion)>), F::kSharedBytes};
}

}  // namespace kizami::engines::hopper

#define KIZAMI_INSTANTIATE_EC_KERNEL(form, promotion) \
  template ::kizami::engines::hopper::EcKernel        \
  kizami::engines::hopper::ec_kernel<kizami::engines::EcForm::form, kizami::product::EcPromotion::promotion>()
