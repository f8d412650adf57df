// SPDX-License-Identifier: MIT
// A whole product of 2 to 4 INT8 slices in one persistent launch, on the tensor cores of sm_90a: k is outermost, each
// anti-diagonal of pairs of slices has an accumulator in registers, and elements of C are rebuilt from them there.
//
// A stage is 128 bytes of k of every slice of all lines of a tile, slice by slice, so that each slice that is copied
// meets several others. In wgmma's words B gives the rows and A the columns. tile_pipeline_sm90.cuh says how stages go
// from the producer (warpgroup 0) to the consumers (1 and 2).
//
// A CTA ends when its whole cluster has: until then others may send to its memory and arrive at its barriers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/overlapped_launch.hpp"
#include "engines/hopper/fused_slices_params.hpp"
#include "engines/hopper/fused_store_sm90.cuh"
#include "engines/hopper/ptx_sm90.cuh"
#include "engines/hopper/tile_pipeline_sm90.cuh"

namespace kizami::engines::hopper {

/// Stages that fit.
[[nodiscard]] constexpr int fused_stages(int num_slices) {
  const int stage = num_slices * (kFusedTileI + kFusedTileJ) * 128;
  return std::min(4, (kMostSharedBytes - 1024 - 2 * 4 * 8) / stage);
}

/// kStageBytes are those of one slice.
template <int slices>
struct FusedShape : TileShape<kFusedTileI, kFusedTileJ, kFusedTileJ / 2, kFusedCluster, fused_stages(slices)> {
  using Shape = TileShape<kFusedTileI, kFusedTileJ, kFusedTileJ / 2, kFusedCluster, fused_stages(slices)>;
  static constexpr int kSlices = slices;
  static constexpr int kSums = kFusedTileI / 2;  ///< of one thread and anti-diagonal
  static constexpr int kAllBytes = slices * Shape::kStageBytes;
  static constexpr int kSharedBytes = Shape::kAlignment + Shape::kStages * kAllBytes + Shape::kBarrierBytes;

  static_assert(Shape::kGroupJ == 64, "one wgmma makes a warpgroup's lines of B");
  static_assert(Shape::kStages >= 2 && kSharedBytes <= kMostSharedBytes);
};

/// @range blockDim = kNumThreads; grid a multiple of F::kCluster; F::kSharedBytes of dynamic shared memory
template <class F>
__global__ void __launch_bounds__(kNumThreads, 1) fused_slices_sm90(const __grid_constant__ FusedSliceParams params) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) std::uint8_t shared_memory[];
  const auto [ring_at, full_at, empty_at, rank] =
      begin_cta<F>(shared_memory, F::kStages * F::kAllBytes, params.a_map, params.b_map);
  base::follow_previous_kernel();
  const bool is_scaling_only = *params.is_scaling_only != 0;
  const bool takes_signs = *params.takes_signs != 0;
  const int num_k_blocks = is_scaling_only || takes_signs ? 0 : params.num_k_blocks;
  const std::uint32_t first_tile = blockIdx.x / F::kCluster;
  const std::uint32_t tile_step = gridDim.x / F::kCluster;
  const std::uint32_t warpgroup = __shfl_sync(kWholeWarp, threadIdx.x / 128, 0);  // uniform, for the compiler

  if (warpgroup == 0) {
    give_registers_back<40>();
    if (threadIdx.x == 0) {
      RingPlace<F::kStages> ring;
      for (std::uint32_t tile = first_tile; tile < params.tiles_per_plane; tile += tile_step) {
        const TilePlace place = place_of<F>(tile, params);
#pragma unroll 1
        for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
          const std::uint32_t full = full_at + ring.stage * 8;
          barrier_wait(empty_at + ring.stage * 8, ring.phase ^ 1);  // at once in the first round
          barrier_arrive_expect(full, F::kAllBytes);
#pragma unroll
          for (int s = 0; s < F::kSlices; ++s) {
            const int k = k_block * F::kBlockK;
            const StageSource from{0, k + s * params.slice_stride, 0, k + (F::kSlices - 1 - s) * params.slice_stride};
            copy_stage<F, LineOrder::kInOrder>(params.a_map, params.b_map, place, rank, from,
                                               ring_at + ring.stage * F::kAllBytes + s * F::kStageBytes, full);
          }
          ring.next();
        }
      }
    }
    __syncwarp();
  } else if (is_scaling_only) {
    for (std::uint32_t tile = first_tile; tile < params.tiles_per_plane; tile += tile_step) {
      const TilePlace place = place_of<F>(tile, params);
      scale_tile<F::kTileI>(
          params, place.i_first,
          place.j_first + static_cast<int>(rank) * F::kTileJ + static_cast<int>(warpgroup - 1) * F::kGroupJ,
          static_cast<int>(threadIdx.x % 128));
    }
  } else if (!takes_signs) {
    take_registers<232>();
    const std::uint32_t consumer = warpgroup - 1;
    const int thread = static_cast<int>(threadIdx.x % 128);
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t rows_at = ring_at + F::kBytesA + consumer * F::kGroupJ * F::kBlockK;
    RingPlace<F::kStages> ring;
    for (std::uint32_t tile = first_tile; tile < params.tiles_per_plane; tile += tile_step) {
      const TilePlace place = place_of<F>(tile, params);
      std::int32_t acc[F::kSlices][F::kSums];
      std::int32_t accumulate = 0;
      std::uint32_t last_stage = 0;
#pragma unroll 1
      for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
        barrier_wait(full_at + ring.stage * 8, ring.phase);
        const std::uint32_t rows = swizzled_lines(rows_at + ring.stage * F::kAllBytes);
        const std::uint32_t columns = swizzled_lines(ring_at + ring.stage * F::kAllBytes);
#pragma unroll
        for (int s = 0; s < F::kSlices; ++s) pin(acc[s]);
        wgmma_fence();
#pragma unroll
        for (int k32 = 0; k32 < F::kBlockK / 32; ++k32) {
#pragma unroll
          for (int q = 0; q < F::kSlices; ++q) {
#pragma unroll
            for (int p = 0; p + q < F::kSlices; ++p) {
              wgmma_s8(acc[p + q], rows + descriptor_step(q * F::kStageBytes + k32 * 32),
                       columns + descriptor_step(p * F::kStageBytes + k32 * 32), q == 0 ? accumulate : 1);
            }
          }
          accumulate = 1;
        }
        wgmma_commit();
#pragma unroll
        for (int s = 0; s < F::kSlices; ++s) pin(acc[s]);
        wgmma_wait<1>();  // the former stage has been read
        if (k_block > 0) release_stage<F>(empty_at + last_stage * 8, lane);
        last_stage = ring.stage;
        ring.next();
      }
      const int j_first = place.j_first + static_cast<int>(rank) * F::kTileJ + static_cast<int>(consumer) * F::kGroupJ;
#pragma unroll
      for (int s = 0; s < F::kSlices; ++s) pin(acc[s]);
      wgmma_wait<0>();
#pragma unroll
      for (int s = 0; s < F::kSlices; ++s) pin(acc[s]);
      release_stage<F>(empty_at + last_stage * 8, lane);
      store_fused_tile<F::kSlices, F::kTileI>(acc, params, place.i_first, j_first, thread);
    }
  }
  cluster_sync();
#else
  __trap();  // built for another architecture
#endif
}

template <int kSlices>
FusedSliceKernel fused_slice_kernel() {
  using F = FusedShape<kSlices>;
  return {reinterpret_cast<const void*>(&fused_slices_sm90<F>), F::kSharedBytes};
}

}  // namespace kizami::engines::hopper

#define KIZAMI_INSTANTIATE_FUSED_SLICES(slices) \
  template ::kizami::engines::hopper::FusedSliceKernel kizami::engines::hopper::fused_slice_kernel<slices>()
