// SPDX-License-Identifier: MIT
// The product of all planes in one persistent launch, on the tensor cores of sm_90a.
//
//   acc(i, j) = sum over k of A(i, k) B(j, k) of plane l, then the epilogue, tile by tile; a tile is kTileI lines of A
//   by kTileJ lines of B. In wgmma's words B gives the rows and A the columns (store_tile.cuh says why).
//
// Work: clusters take tiles in turn. Planes are outermost; inside a plane, raster_tiles tiles along i are walked before
// the next j, so that what runs at one time shares lines that the L2 cache holds. window_tiles_sm90.cuh has the order
// of windows.
//
// Roles: warpgroup 0 copies (one thread does all), warpgroups 1 and 2 multiply and store. tile_pipeline_sm90.cuh says
// how stages go from one to the others.
//
// A CTA ends when its whole cluster has: until then others may send to its memory and arrive at its barriers.
#pragma once

#include <cstdint>

#include "base/overlapped_launch.hpp"
#include "engines/compare_tile.cuh"
#include "engines/hopper/forms.hpp"
#include "engines/hopper/product_params.hpp"
#include "engines/hopper/ptx_sm90.cuh"
#include "engines/hopper/tile_pipeline_sm90.cuh"
#include "engines/hopper/triangle_params.hpp"
#include "engines/hopper/window_tiles_sm90.cuh"
#include "engines/store_tile.cuh"

namespace kizami::engines::hopper {

/// A form as constants.
template <HopperSchedule schedule, LineOrder line_order, int tile_i, int tile_j, int cluster, int stages>
struct Form : TileShape<tile_i, tile_j, schedule == HopperSchedule::kPingPong ? tile_j : tile_j / 2, cluster, stages> {
  using Shape = TileShape<tile_i, tile_j, schedule == HopperSchedule::kPingPong ? tile_j : tile_j / 2, cluster, stages>;
  static constexpr LineOrder kLineOrder = line_order;
  static constexpr bool kIsPingPong = schedule == HopperSchedule::kPingPong;
  static constexpr int kRowBlocks = Shape::kGroupJ / 64;  ///< wgmmas that make the lines of B of a warpgroup
  static constexpr int kSharedBytes = Shape::kAlignment + Shape::kRingBytes + Shape::kBarrierBytes;

  static_assert(kSharedBytes <= kMostSharedBytes);
  static_assert(kRowBlocks * tile_i / 2 <= 192, "accumulators in registers of one thread");
};

/// The same of one triangle of C.
template <class Shape>
__device__ __forceinline__ TilePlace place_of(std::uint32_t tile, const TriangleParams& params) {
  static_assert(Shape::kTileI == kTriangleTile && Shape::kTileJ * Shape::kCluster == kTriangleTile);
  const std::uint32_t plane = divide(tile, params.by_plane);
  const TileAt at = tile_in_triangle(tile - plane * params.tiles_per_plane, params.triangle);
  return {static_cast<int>(plane), static_cast<int>(at.i) * kTriangleTile, static_cast<int>(at.j) * kTriangleTile};
}

[[nodiscard]] __device__ __forceinline__ SourceOfB source_of_b(const TriangleParams& params, std::uint32_t num_tiles) {
  if (num_tiles > params.swapped_tiles) return {&params.b_map, 0};
  return {&params.swapped_map, 1};
}

/// Params: ProductParams for all tiles of C, TriangleParams for those of a triangle. Bytes: without sign, or with.
/// @range blockDim = kNumThreads; grid a multiple of F::kCluster; F::kSharedBytes of dynamic shared memory
template <class F, product::Epilogue kEpilogue, bool kHasWindows = false, class Params = ProductParams,
          bool kIsUnsigned = false>
__global__ void __launch_bounds__(kNumThreads, 1) product_i8_sm90(const __grid_constant__ Params params) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) std::uint8_t shared_memory[];
  const auto [ring_at, full_at, empty_at, rank] =
      begin_cta<F>(shared_memory, F::kRingBytes, params.a_map, params.b_map);
  base::wait_for_previous_kernel();
  const int num_planes = num_planes_of<kEpilogue>(params);
  const std::uint32_t num_tiles = params.tiles_per_plane * static_cast<std::uint32_t>(num_planes);
  const Turns<kHasWindows> turns{blockIdx.x / F::kCluster, gridDim.x / F::kCluster};
  const std::uint32_t warpgroup = __shfl_sync(kWholeWarp, threadIdx.x / 128, 0);  // uniform, for the compiler

  if (warpgroup == 0) {
    give_registers_back<40>();
    if (threadIdx.x == 0)
      produce_tiles<F, F::kLineOrder, kHasWindows>(params, turns, num_tiles, rank, ring_at, full_at, empty_at);
    __syncwarp();
  } else {
    take_registers<232>();
    const std::uint32_t consumer = warpgroup - 1;
    const int thread = static_cast<int>(threadIdx.x % 128);
    const std::uint32_t lane = threadIdx.x % 32;
    std::int32_t acc[F::kRowBlocks][F::kTileI / 2];
    RingPlace<F::kStages> ring;
    std::uint32_t round = 0;
    const auto skip_tile_of = [&](std::uint32_t other_round) {
      if constexpr (kHasWindows) {
        const std::uint32_t tile = turns.tile(other_round);
        if (tile < num_tiles) ring.skip(num_blocks_of<true>(params, place_of<F>(tile, params).plane));
      } else {
        ring.skip(params.num_k_blocks);
      }
    };
    [[maybe_unused]] std::uint32_t num_refused = 0;  // by kCompare
    // Descriptors: within a stage, lines of A come first.
    std::uint32_t rows_at = ring_at + F::kBytesA;
    if constexpr (F::kIsPingPong) {
      round = consumer;
      if (consumer == 1) {
        skip_tile_of(0);
        named_barrier_arrive(1, 2 * 128);  // the first turn is consumer 0's
      }
    } else {
      rows_at += consumer * F::kGroupJ * F::kBlockK;
    }
    const auto release = [&](std::uint32_t stage) { release_stage<F>(empty_at + stage * 8, lane); };

    constexpr std::uint32_t kRounds = F::kIsPingPong ? F::kConsumers : 1;
    for (std::uint32_t tile = turns.tile(round); tile < num_tiles; tile = turns.tile(round)) {
      const TilePlace place = place_of<F>(tile, params);
      const int num_k_blocks = num_blocks_of<kHasWindows>(params, place.plane);
      const auto first_line_of_b = [&] {
        return place.j_first + static_cast<int>(rank) * F::kTileJ +
               (F::kIsPingPong ? 0 : static_cast<int>(consumer) * F::kGroupJ);
      };
      // On their way while the product is made: in its epilogue nothing would cover them.
      using Weights = TileWeights<F::kTileI, F::kRowBlocks, 64>;
      [[maybe_unused]] const auto weights = [&] {
        if constexpr (kEpilogue == product::Epilogue::kCompare)
          return Weights(params, params, place.i_first, first_line_of_b(), thread);
        else
          return 0;
      }();
      // Turns: one warpgroup at a time feeds the tensor cores, so that the other's stores fall under its work.
      if constexpr (F::kIsPingPong) named_barrier_sync(1 + static_cast<int>(consumer), 2 * 128);
      std::int32_t accumulate = 0;
      std::uint32_t last_stage = 0;
#pragma unroll 1
      for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
        barrier_wait(full_at + ring.stage * 8, ring.phase);
        const std::uint32_t stage_offset = ring.stage * F::kStageBytes;
        const std::uint32_t rows = swizzled_lines(rows_at + stage_offset);
        const std::uint32_t columns = swizzled_lines(ring_at + stage_offset);
#pragma unroll
        for (int b = 0; b < F::kRowBlocks; ++b) pin(acc[b]);
        wgmma_fence();
#pragma unroll
        for (int k32 = 0; k32 < F::kBlockK / 32; ++k32) {
#pragma unroll
          for (int b = 0; b < F::kRowBlocks; ++b) {
            const std::uint32_t of_b = rows + descriptor_step(b * 64 * F::kBlockK + k32 * 32);
            const std::uint32_t of_a = columns + descriptor_step(k32 * 32);
            if constexpr (kIsUnsigned) {
              wgmma_u8(acc[b], of_b, of_a, accumulate);
            } else {
              wgmma_s8(acc[b], of_b, of_a, accumulate);
            }
          }
          accumulate = 1;
        }
        wgmma_commit();
#pragma unroll
        for (int b = 0; b < F::kRowBlocks; ++b) pin(acc[b]);
        wgmma_wait<1>();  // the former stage has been read
        if (k_block > 0) release(last_stage);
        last_stage = ring.stage;
        ring.next();
      }
      if constexpr (F::kIsPingPong) {
        named_barrier_arrive(2 - static_cast<int>(consumer), 2 * 128);
        skip_tile_of(round + 1);  // the other's
      }
      round += kRounds;
#pragma unroll
      for (int b = 0; b < F::kRowBlocks; ++b) pin(acc[b]);
      wgmma_wait<0>();
#pragma unroll
      for (int b = 0; b < F::kRowBlocks; ++b) pin(acc[b]);
      release(last_stage);
      if (turns.tile(round) >= num_tiles) base::let_next_kernel_begin();

      if constexpr (kEpilogue == product::Epilogue::kCompare) {
        num_refused += weights.num_refused(params.allowance, acc);
      } else {
        const int j_first = first_line_of_b();
#pragma unroll
        for (int b = 0; b < F::kRowBlocks; ++b) {
          store_tile<F::kTileI, F::kLineOrder, kEpilogue, kIsUnsigned>(acc[b], params, params, place.plane,
                                                                       place.i_first, j_first + b * 64, thread);
        }
      }
    }
    if constexpr (kEpilogue == product::Epilogue::kCompare) add_refused(params, num_refused, lane);
  }
  if constexpr (F::kCluster > 1) cluster_sync();
#else
  __trap();  // built for another architecture
#endif
}

/// The kernels of a form: every epilogue, or kReduce alone where the lines are permuted; where registers are short
/// windows alone, or that.
template <class F>
[[nodiscard]] FormKernels kernels_of() {
  using product::Epilogue;
  constexpr bool kIsPermuted = F::kLineOrder == LineOrder::kPermuted;
  constexpr bool kHasRegisters = F::kRowBlocks * F::kTileI / 2 <= 128;
  FormKernels kernels{};
  if constexpr (kIsPermuted || kHasRegisters) {
    kernels.reduce = reinterpret_cast<const void*>(&product_i8_sm90<F, Epilogue::kReduce>);
    kernels.reduce_unsigned =
        reinterpret_cast<const void*>(&product_i8_sm90<F, Epilogue::kReduce, false, ProductParams, true>);
  }
  if constexpr (!kIsPermuted && kHasRegisters) {
    kernels.store_acc = reinterpret_cast<const void*>(&product_i8_sm90<F, Epilogue::kStoreAcc>);
    kernels.reduce_add = reinterpret_cast<const void*>(&product_i8_sm90<F, Epilogue::kReduceAdd>);
    kernels.compare = reinterpret_cast<const void*>(&product_i8_sm90<F, Epilogue::kCompare>);
  }
  if constexpr (!kIsPermuted)
    kernels.store_windows = reinterpret_cast<const void*>(&product_i8_sm90<F, Epilogue::kStoreAcc, true>);
  kernels.shared_bytes = F::kSharedBytes;
  return kernels;
}

}  // namespace kizami::engines::hopper
