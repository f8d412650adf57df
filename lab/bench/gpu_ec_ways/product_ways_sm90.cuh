// SPDX-License-Identifier: MIT
// Other ways to make what product_ec_sm90.cuh makes of FP16 parts, to the bit, which the library does not have:
//   kTurns       its consumers hand products to the tensor cores by turns, so that one has them while the other adds up its
//                sums or stores.
//   kRegisters   the rows of wgmma (lines of B) come as FP32 elements and are split in registers, by the arithmetic of the
//                split's kernel: B has scales, but no planes. Consumers that read the same stages take turns as well, for who
//                does not have the tensor cores splits its next rows meanwhile.
//   kPaced       the producers of clusters that are ahead wait for the others (drift_control.hpp).
//   kEager       the first stages are asked for before the decision is read; where it is another one, they are waited for
//                and nothing is made of them. (The library would go on with the other format's.)
// TF32 and batches are left out.
#pragma once

#include "engines/hopper/drift_control_sm90.cuh"
#include "engines/hopper/product_ec_sm90.cuh"
#include "gpu_ec_ways/ec_ways.hpp"
#include "gpu_ec_ways/row_fragments.hpp"
#include "gpu_ec_ways/way_kernels.hpp"
#include "schemes/ec/device_terms.cuh"

namespace bench::ec_ways {

// The kernel has the words of the library's.
using namespace kizami::engines::hopper;
using kizami::engines::kWholeWarp;
using kizami::engines::TilePlace;
using kizami::product::EcFormat;

/// d (64 x 128) += rows (64 lines, 16 of k, in registers) times columns (128 lines); d = without `accumulate`.
__device__ __forceinline__ void wgmma_rows(float (&d)[64], const std::uint32_t (&rows)[4], std::uint32_t columns,
                                           std::int32_t accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      ".reg .b64 columns;\n"
      "setp.ne.b32 p, %69, 0;\n"
      "mov.b64 columns, {%68, 0x40000040};\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" KIZAMI_WGMMA_NAMES_64
      "}, {%64, %65, %66, %67}, columns, p, 1, 1, 0;\n"
      "}\n"
      : KIZAMI_WGMMA_REGISTERS_64("+f")
      : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "r"(columns), "r"(accumulate));
}

/// Both parts of a thread's rows of one stage: of each 16 of k the registers of wgmma.
struct RowParts {
  std::uint32_t hi[2][4];
  std::uint32_t lo[2][4];

  /// Keeps the registers to themselves until here: wgmma reads them until it is waited for.
  __device__ __forceinline__ void pin() {
#pragma unroll
    for (int step = 0; step < 2; ++step) {
#pragma unroll
      for (int r = 0; r < 4; ++r) asm volatile("" : "+r"(hi[step][r]), "+r"(lo[step][r])::"memory");
    }
  }
};

/// The scales of a thread's two rows, as factors.
struct RowScalings {
  std::int32_t scales[2];
  float first[2];
  bool is_plain;  ///< of the whole warp: one factor will do, and no line is skipped

  __device__ __forceinline__ explicit RowScalings(const std::int32_t (&of_rows)[2]) {
    bool is_rest = false;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      scales[h] = of_rows[h];
      const kizami::ec::Scaling scaling(scales[h]);
      first[h] = scaling.first;
      is_rest = is_rest || scaling.needs_rest();
    }
    is_plain = !__any_sync(kWholeWarp, is_rest);
  }
};

[[nodiscard]] __device__ __forceinline__ float2 load_pair(std::uint32_t at) {
  float2 x;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];\n" : "=f"(x.x), "=f"(x.y) : "r"(at) : "memory");
  return x;
}

/// Loads and splits the rows of a stage. @param at  where pair 0 of this lane's first row is
__device__ __forceinline__ void split_rows(RowParts& parts, std::uint32_t at, const RowScalings& scalings) {
  float2 x[2][kPairs];
#pragma unroll
  for (int u = 0; u < kPairs; ++u) {
    const std::uint32_t pair = at ^ (static_cast<std::uint32_t>(u) * kPairBit);
#pragma unroll
    for (int h = 0; h < 2; ++h) x[h][u] = load_pair(pair + static_cast<std::uint32_t>(h) * kEightLines);
  }
  if (!scalings.is_plain) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const kizami::ec::Scaling scaling(scalings.scales[h]);
#pragma unroll
      for (int u = 0; u < kPairs; ++u) x[h][u] = make_float2(scaling.rest(x[h][u].x), scaling.rest(x[h][u].y));
    }
  }
  kizami::ec::Glance<EcFormat::kF16> unseen{kizami::num::EcRangeLimits{}};  // the split's kernel has judged the lines
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float factor = scalings.first[h];
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      const float2 low = x[h][2 * step];
      const float2 high = x[h][2 * step + 1];
      const float y[4] = {__fmul_rn(low.x, factor), __fmul_rn(low.y, factor), __fmul_rn(high.x, factor),
                          __fmul_rn(high.y, factor)};
      const kizami::ec::Quad<EcFormat::kF16> quad = kizami::ec::split_four<EcFormat::kF16>(y, unseen);
      parts.hi[step][h] = quad.hi.x;
      parts.hi[step][h + 2] = quad.hi.y;
      parts.lo[step][h] = quad.lo.x;
      parts.lo[step][h + 2] = quad.lo.y;
    }
  }
}

/// Where a consumer's stage is: shared memory of the ring's first one, and the barriers.
struct StagesAt {
  std::uint32_t rows;  ///< kRegisters: of this lane's first pair
  std::uint32_t columns;
  std::uint32_t full;
  std::uint32_t empty;
};

/// multiply_stages() with the consumers by turns.
template <class F, int kPromoted>
__device__ __forceinline__ void multiply_planes(float (&acc)[F::kSums], RingPlace<F::kStages>& ring, const StagesAt& at,
                                                std::uint32_t lane, const ConsumerTurns& turns) {
  constexpr int kGroup = kPromoted == 1 ? 1 : 2;
  constexpr std::uint32_t kLo = descriptor_step(64);
  static_assert(!F::kSplitsInner && kPromoted % kGroup == 0);
  RingPlace<F::kStages> oldest = ring;  // that is not released
  const auto release = [&](int count) {
#pragma unroll
    for (int s = 0; s < count; ++s) {
      release_stage<F>(at.empty + oldest.stage * 8, lane);
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
      barrier_wait(at.full + ring.stage * 8, ring.phase);
      if (s == 0) turns.begin();
      wgmma_fence();
      rows[s] = swizzled_lines(at.rows + ring.stage * F::kStageBytes);
      columns[s] = swizzled_lines(at.columns + ring.stage * F::kStageBytes);
      ring.next();
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const std::uint32_t step = descriptor_step(part * 32);
        wgmma_ec<EcFormat::kF16>(acc, rows[s] + step, columns[s] + kLo + step, accumulate);
        accumulate = 1;
        wgmma_ec<EcFormat::kF16>(acc, rows[s] + kLo + step, columns[s] + step, accumulate);
      }
    }
#pragma unroll
    for (int s = 0; s < kGroup; ++s) {
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const std::uint32_t step = descriptor_step(part * 32);
        wgmma_ec<EcFormat::kF16>(acc, rows[s] + step, columns[s] + step, accumulate);
      }
      wgmma_commit();
    }
    turns.end();
    if (group > 0) {
      wgmma_wait<kGroup>();  // the group before has been read
      release(kGroup);
    }
  }
  pin(acc);
  if constexpr (kGroup == 2) {
    wgmma_wait<1>();
    release(1);
  }
  wgmma_wait<0>();
  release(1);
  pin(acc);
}

/// The same with rows in registers. Those of a group are free when it is done, so it is waited for: the other consumer has
/// the tensor cores then, or stages of its own.
template <class F, int kPromoted>
__device__ __forceinline__ void multiply_rows(float (&acc)[F::kSums], RingPlace<F::kStages>& ring, const StagesAt& at,
                                              std::uint32_t lane, const RowScalings& scalings,
                                              const ConsumerTurns& turns) {
  constexpr int kGroup = kPromoted == 1 ? 1 : 2;
  constexpr std::uint32_t kLo = descriptor_step(64);
  static_assert(kPromoted % kGroup == 0);
  std::int32_t accumulate = 0;
#pragma unroll
  for (int group = 0; group < kPromoted / kGroup; ++group) {
    RowParts rows[kGroup];
    std::uint32_t columns[kGroup];
    std::uint32_t empty[kGroup];
#pragma unroll
    for (int s = 0; s < kGroup; ++s) {
      barrier_wait(at.full + ring.stage * 8, ring.phase);
      split_rows(rows[s], at.rows + ring.stage * F::kStageBytes, scalings);
      columns[s] = swizzled_lines(at.columns + ring.stage * F::kStageBytes);
      empty[s] = at.empty + ring.stage * 8;
      ring.next();
    }
    if constexpr (!F::kSplitsInner) turns.begin();
    pin(acc);
#pragma unroll
    for (int s = 0; s < kGroup; ++s) rows[s].pin();
    wgmma_fence();
#pragma unroll
    for (int s = 0; s < kGroup; ++s) {
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const std::uint32_t step = descriptor_step(part * 32);
        wgmma_rows(acc, rows[s].hi[part], columns[s] + kLo + step, accumulate);
        accumulate = 1;
        wgmma_rows(acc, rows[s].lo[part], columns[s] + step, accumulate);
      }
    }
#pragma unroll
    for (int s = 0; s < kGroup; ++s) {
#pragma unroll
      for (int part = 0; part < 2; ++part)
        wgmma_rows(acc, rows[s].hi[part], columns[s] + descriptor_step(part * 32), accumulate);
    }
    wgmma_commit();
    if constexpr (!F::kSplitsInner) turns.end();
    wgmma_wait<0>();
    pin(acc);
#pragma unroll
    for (int s = 0; s < kGroup; ++s) {
      rows[s].pin();
      release_stage<F>(empty[s], lane);
    }
  }
}

/// consume_stages() of FP16 parts.
template <class F, int kPromoted, bool kInRegisters, bool kHasBlocks>
__device__ __forceinline__ void consume_in_turns(const EcParams& params, const EcPlace& at, std::uint32_t consumer,
                                                 int num_k_blocks, int block_promotions) {
  const int warp_in_group = static_cast<int>(threadIdx.x % 128 / 32);
  const auto lane = static_cast<int>(threadIdx.x % 32);
  // Rows in registers are in another order, and C's columns with them.
  const int thread = warp_in_group * 32 + (kInRegisters ? lane_of_lines(lane) : lane);
  const int num_promotions = num_k_blocks / kPromoted;
  StagesAt stages{at.ring_at + F::kBytesA + (F::kSplitsInner ? 0 : consumer * F::kGroupJ * F::kBlockK), at.ring_at,
                  at.full_at, at.empty_at};
  if constexpr (kInRegisters)
    stages.rows += static_cast<std::uint32_t>(warp_in_group) * 2 * kEightLines + pair_offset(lane, 0);
  float acc[F::kSums];
  PromotedSums<F::kSums, kHasBlocks> promoted;
  RingPlace<F::kStages> ring;
  std::uint32_t turn = 0;  // counts promotions, of all tiles
  const ConsumerTurns turns{consumer == 0};
  if constexpr (!F::kSplitsInner) turns.start();

  for (std::uint32_t tile = at.first_tile; tile < params.tiles_per_plane; tile += at.tile_step) {
    const TilePlace place = place_of<F>(tile, params);
    const int i_first = place.i_first + (F::kSplitsInner ? static_cast<int>(consumer) * F::kStoredI : 0);
    const int j_first = place.j_first + static_cast<int>(at.rank) * F::kTileJ +
                        (F::kSplitsInner ? 0 : static_cast<int>(consumer) * F::kGroupJ);
    const TileScales<F::kStoredI, EcParams> scales(params, i_first, j_first, thread);
    const RowScalings scalings(scales.rows);
    promoted.clear();
#pragma unroll 1
    for (int p = 0; p < num_promotions; ++p, ++turn) {
      if (F::kSplitsInner && turn % 2 != consumer) {
        ring.skip(kPromoted);
        continue;
      }
      if constexpr (kInRegisters) {
        multiply_rows<F, kPromoted>(acc, ring, stages, static_cast<std::uint32_t>(lane), scalings, turns);
      } else {
        multiply_planes<F, kPromoted>(acc, ring, stages, static_cast<std::uint32_t>(lane), turns);
      }
      promoted.promote(acc, block_promotions);
    }
    promoted.finish(num_promotions > (F::kSplitsInner ? 2 : 1) * block_promotions);
    const EcFactors factors(params);
    if constexpr (F::kSplitsInner) {
      store_halves<F>(promoted.sums, at.ring_at + F::kRingBytes, params, factors, scales, i_first, j_first, consumer,
                      thread);
    } else {
      store_ec_tile<F::kStoredI>(promoted.sums, params, factors, scales, i_first, j_first, thread);
    }
  }
}

/// produce_stages() at the pace of the others.
template <class F>
__device__ __forceinline__ void produce_paced(const WayParams& params, const EcPlace& at, int num_k_blocks) {
  const EcSplitParams& split = params.splits[0];
  const kizami::engines::Turns<false> tiles{at.first_tile, at.tile_step};
  PacedWalk walk{tiles, params.words->epochs, Pace(Epochs::of(params.tiles_per_plane, at.tile_step, num_k_blocks)),
                 at.rank};
  RingPlace<F::kStages> ring;
  for (std::uint32_t tile = at.first_tile; tile < params.tiles_per_plane; tile += at.tile_step) {
    const TilePlace place = place_of<F>(tile, params);
#pragma unroll 1
    for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
      walk.begin_block();
      const std::uint32_t full = at.full_at + ring.stage * 8;
      barrier_wait(at.empty_at + ring.stage * 8, ring.phase ^ 1);
      barrier_arrive_expect(full, F::kStageBytes);
      copy_stage<F, kizami::engines::LineOrder::kInOrder>(split.a_map, split.b_map, place, at.rank,
                                                          source_of<F>(params, place, k_block),
                                                          at.ring_at + ring.stage * F::kStageBytes, full);
      ring.next();
    }
  }
}

/// produce_stages() from the ring's first round on, of which the first `asked` blocks of k have been asked for; or asks
/// for those. @return how many blocks the ring holds, of the first tile
template <class F, bool kFirst>
__device__ __forceinline__ int produce_eagerly(const EcParams& params, const EcPlace& at, int num_k_blocks, int asked) {
  const EcSplitParams& split = params.splits[0];
  RingPlace<F::kStages> ring;
  if constexpr (!kFirst) ring.skip(static_cast<std::uint32_t>(asked));
  for (std::uint32_t tile = at.first_tile; tile < params.tiles_per_plane; tile += at.tile_step) {
    const TilePlace place = place_of<F>(tile, params);
    const int end = kFirst ? min(num_k_blocks, F::kStages) : num_k_blocks;
#pragma unroll 1
    for (int k_block = kFirst ? 0 : asked; k_block < end; ++k_block) {
      const std::uint32_t full = at.full_at + ring.stage * 8;
      if constexpr (!kFirst) barrier_wait(at.empty_at + ring.stage * 8, ring.phase ^ 1);
      barrier_arrive_expect(full, F::kStageBytes);
      copy_stage<F, kizami::engines::LineOrder::kInOrder>(split.a_map, split.b_map, place, at.rank,
                                                          source_of<F>(params, place, k_block),
                                                          at.ring_at + ring.stage * F::kStageBytes, full);
      ring.next();
    }
    if constexpr (kFirst) return end;
    asked = 0;
  }
  return 0;
}

/// @range as of product_ec_sm90()
template <class F, int kPromoted, EcWay way, bool kHasBlocks>
__global__ void __launch_bounds__(kizami::engines::hopper::kNumThreads, 1)
    product_ways_sm90(const __grid_constant__ WayParams params) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) std::uint8_t shared_memory[];
  const CtaPlace cta =
      begin_cta<F>(shared_memory, F::kRingBytes + F::kExchangeBytes, params.splits[0].a_map, params.splits[0].b_map);
  const EcPlace at{cta, blockIdx.x / F::kCluster, gridDim.x / F::kCluster};
  kizami::base::follow_previous_kernel();
  asm volatile("fence.proxy.async;\n" ::: "memory");
  const EcSplitParams& split = params.splits[0];
  const int num_k_blocks = has_product(params) ? split.num_k_blocks : 0;
  const std::uint32_t warpgroup = __shfl_sync(kWholeWarp, threadIdx.x / 128, 0);
  int asked = 0;
  if constexpr (way == EcWay::kEager) {
    if (threadIdx.x == 0) asked = produce_eagerly<F, true>(params, at, num_k_blocks, 0);
    if (*params.decision != 0) {  // all CTAs
      for (int stage = 0; stage < asked; ++stage) barrier_wait(at.full_at + static_cast<std::uint32_t>(stage) * 8, 0);
      __syncwarp();
      if constexpr (F::kCluster > 1) cluster_sync();
      return;
    }
  }
  if (warpgroup == 0) {
    give_registers_back<40>();
    if (threadIdx.x == 0) {
      if constexpr (way == EcWay::kPaced) {
        produce_paced<F>(params, at, num_k_blocks);
      } else if constexpr (way == EcWay::kEager) {
        produce_eagerly<F, false>(params, at, num_k_blocks, asked);
      } else {
        produce_stages<F>(static_cast<const EcParams&>(params), split, at, num_k_blocks);
      }
    }
    __syncwarp();
  } else {
    take_registers<232>();
    if constexpr (way == EcWay::kPaced || way == EcWay::kEager) {
      consume_stages<F, EcFormat::kF16, kPromoted>(static_cast<const EcParams&>(params), at, warpgroup - 1,
                                                   num_k_blocks, split.block_promotions);
    } else {
      consume_in_turns<F, kPromoted, way == EcWay::kRegisters, kHasBlocks>(params, at, warpgroup - 1, num_k_blocks,
                                                                           split.block_promotions);
    }
  }
  if constexpr (F::kCluster > 1) cluster_sync();
#else
  __trap();
#endif
}

template <kizami::engines::EcForm form, kizami::product::EcPromotion promotion, EcWay way, bool kHasBlocks>
EcKernel way_kernel() {
  using F = EcShapeOf<form>;
  return {reinterpret_cast<const void*>(&product_ways_sm90<F, stages_of(promotion), way, kHasBlocks>), F::kSharedBytes};
}

}  // namespace bench::ec_ways

#define KIZAMI_INSTANTIATE_EC_WAY(form, promotion, way, has_blocks)                                  \
  template kizami::engines::hopper::EcKernel                                                         \
  bench::ec_ways::way_kernel<kizami::engines::EcForm::form, kizami::product::EcPromotion::promotion, \
                             bench::ec_ways::EcWay::way, has_blocks>()
