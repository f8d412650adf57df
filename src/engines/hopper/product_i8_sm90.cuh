// SPDX-License-Identifier: MIT
// The product of all planes in one persistent launch, on the tensor cores of sm_90a.
//
//   acc(i, j) = sum over k of A(i, k) B(j, k) of plane l, then the epilogue, tile by tile; a tile is kTileI lines of A by
//   kTileJ lines of B. In wgmma's words B gives the rows and A the columns (store_tile_sm90.cuh says why).
//
// Work: clusters take tiles in turn. Planes are outermost; inside a plane, raster_tiles tiles along i are walked before
// the next j, so that what runs at one time shares lines that the L2 cache holds. The CTAs of a cluster have the same lines
// of A: each copies its part of them and sends it to all. Each has lines of B of its own.
//
// Roles: warpgroup 0 copies (one thread does all), warpgroups 1 and 2 multiply and store. A ring of kStages stages, each
// 128 bytes of k of all lines of a tile, in the 128-byte swizzle:
//   full[s]   the bytes of stage s have come. One arrival (our producer, which says how many) and their count, whichever
//             CTA sent them.
//   empty[s]  the warps that read stage s have done so, in every CTA of the cluster, for our producer writes to all.
//             kCluster * (warps that read a stage) arrivals.
// The phase bit of both flips each time the ring comes round. Bytes beyond a line's end, lines beyond m or n, and whole
// tiles beyond n (the last cluster's) come as zeros, and count as bytes.
//
// A CTA ends when its whole cluster has: until then others may send to its memory and arrive at its barriers.
#pragma once

#include <cstdint>

#include "base/overlapped_launch.hpp"
#include "engines/hopper/forms.hpp"
#include "engines/hopper/product_params.hpp"
#include "engines/hopper/ptx_sm90.cuh"
#include "engines/hopper/store_tile_sm90.cuh"
#include "engines/hopper/wgmma_sm90.cuh"

namespace kizami::engines::hopper {

/// A form as constants.
template <HopperSchedule schedule, LineOrder line_order, int tile_i, int tile_j, int cluster, int stages>
struct Form {
  static constexpr HopperSchedule kSchedule = schedule;
  static constexpr LineOrder kLineOrder = line_order;
  static constexpr int kTileI = tile_i;
  static constexpr int kTileJ = tile_j;
  static constexpr int kCluster = cluster;
  static constexpr int kStages = stages;

  static constexpr bool kIsPingPong = schedule == HopperSchedule::kPingPong;
  static constexpr int kBlockK = 128;                                ///< bytes of k in a stage: one swizzle atom
  static constexpr int kConsumers = 2;                               ///< warpgroups
  static constexpr int kReaders = kIsPingPong ? 1 : kConsumers;      ///< warpgroups that read one stage
  static constexpr int kGroupJ = kIsPingPong ? tile_j : tile_j / 2;  ///< lines of B of one warpgroup
  static constexpr int kRowBlocks = kGroupJ / 64;                    ///< wgmmas that make them
  static constexpr int kPartI = tile_i / cluster;                    ///< lines of A that one CTA copies
  static constexpr int kBytesA = tile_i * kBlockK;
  static constexpr int kBytesB = tile_j * kBlockK;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  static constexpr int kBarrierBytes = 2 * stages * 8;
  static constexpr int kAlignment = 1024;  ///< of a swizzled group of 8 lines
  static constexpr int kSharedBytes = kAlignment + stages * kStageBytes + kBarrierBytes;

  static_assert(kGroupJ % 64 == 0 && tile_i % 64 == 0 && tile_i <= 256 && tile_j <= 256);
  static_assert(kPartI % 8 == 0, "parts are whole groups of the swizzle");
  static_assert(line_order == LineOrder::kInOrder || kPartI % 64 == 0, "a permuted box has 64 lines");
  static_assert(kBytesA % kAlignment == 0 && kBytesB % kAlignment == 0);
  static_assert(kSharedBytes <= 227 * 1024, "what a CTA of sm_90 may have");
  static_assert(kRowBlocks * tile_i / 2 <= 192, "accumulators in registers of one thread");
};

/// Where a tile is.
struct TilePlace {
  int plane;
  int i_first;
  int j_first;  ///< of the cluster's first CTA
};

__device__ __forceinline__ std::uint32_t divide(std::uint32_t x, const Divider& by) {
  return by.divisor == 1 ? x : __umulhi(x, by.multiplier) >> by.shift;
}

template <class F>
__device__ __forceinline__ TilePlace place_of(std::uint32_t tile, const ProductParams& params) {
  const std::uint32_t plane = divide(tile, params.by_plane);
  const std::uint32_t in_plane = tile - plane * params.tiles_per_plane;
  const std::uint32_t band = divide(in_plane, params.by_band);
  const std::uint32_t in_band = in_plane - band * params.by_band.divisor;
  const Divider& by_width = band == params.last_band ? params.by_last_width : params.by_raster;
  const std::uint32_t j = divide(in_band, by_width);
  const std::uint32_t i = band * params.raster_tiles + (in_band - j * by_width.divisor);
  return {static_cast<int>(plane), static_cast<int>(i) * F::kTileI, static_cast<int>(j) * F::kTileJ * F::kCluster};
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

/// Copies the lines of one stage.
template <class F>
__device__ __forceinline__ void copy_stage(const ProductParams& params, const TilePlace& place, std::uint32_t rank,
                                           int k_block, std::uint32_t stage_at, std::uint32_t full) {
  const int k0 = k_block * F::kBlockK;
  const int plane_a = place.plane * params.a_plane_step;
  const int plane_b = place.plane * params.b_plane_step;
  constexpr auto kAll = static_cast<std::uint16_t>((1 << F::kCluster) - 1);
  const int part = static_cast<int>(rank) * F::kPartI;
  if constexpr (F::kLineOrder == LineOrder::kPermuted) {
#pragma unroll
    for (int box = 0; box < F::kPartI / 64; ++box) {
      const int line = part + box * 64;
      const std::uint32_t to = stage_at + line * F::kBlockK;
      const int sixteens = (place.i_first + line) / 16;
      if constexpr (F::kCluster == 1) {
        copy_box(to, params.a_map, full, k0, 0, sixteens, 0, plane_a);
      } else {
        copy_box_to_all(to, params.a_map, full, kAll, k0, 0, sixteens, 0, plane_a);
      }
    }
  } else {
    const std::uint32_t to = stage_at + part * F::kBlockK;
    if constexpr (F::kCluster == 1) {
      copy_box(to, params.a_map, full, k0, place.i_first, plane_a);
    } else {
      copy_box_to_all(to, params.a_map, full, kAll, k0, place.i_first + part, plane_a);
    }
  }
  copy_box(stage_at + F::kBytesA, params.b_map, full, k0, place.j_first + static_cast<int>(rank) * F::kTileJ, plane_b);
}

/// @range blockDim = kNumThreads; grid a multiple of F::kCluster; F::kSharedBytes of dynamic shared memory
template <class F, product::Epilogue kEpilogue>
__global__ void __launch_bounds__(kNumThreads, 1) product_i8_sm90(const __grid_constant__ ProductParams params) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) std::uint8_t shared_memory[];
  std::uint32_t ring_at = (shared_address(shared_memory) + F::kAlignment - 1) / F::kAlignment * F::kAlignment;
  asm volatile("" : "+r"(ring_at));  // keep it, instead of asking for the CTA's window in every round
  const std::uint32_t full_at = ring_at + F::kStages * F::kStageBytes;
  const std::uint32_t empty_at = full_at + F::kStages * 8;
  const std::uint32_t rank = F::kCluster == 1 ? 0 : cluster_rank();

  if (threadIdx.x == 0) {
    prefetch_map(params.a_map);
    prefetch_map(params.b_map);
    for (int s = 0; s < F::kStages; ++s) {
      barrier_init(full_at + s * 8, 1);
      barrier_init(empty_at + s * 8, F::kCluster * F::kReaders * 4);
    }
    barrier_init_fence();
  }
  __syncthreads();
  if constexpr (F::kCluster > 1) cluster_sync();  // nobody arrives at a barrier that is not initialised

  base::follow_previous_kernel();
  int num_planes = params.num_products;
  if (params.num_products_at != nullptr) num_planes = max(0, min(num_planes, *params.num_products_at));
  const std::uint32_t num_tiles = params.tiles_per_plane * static_cast<std::uint32_t>(num_planes);
  const std::uint32_t first_tile = blockIdx.x / F::kCluster;
  const std::uint32_t tile_step = gridDim.x / F::kCluster;
  const int num_k_blocks = params.num_k_blocks;
  const std::uint32_t warpgroup = __shfl_sync(kWholeWarp, threadIdx.x / 128, 0);  // uniform, for the compiler

  if (warpgroup == 0) {
    give_registers_back<40>();
    if (threadIdx.x == 0) {
      RingPlace<F::kStages> ring;
      for (std::uint32_t tile = first_tile; tile < num_tiles; tile += tile_step) {
        const TilePlace place = place_of<F>(tile, params);
#pragma unroll 1
        for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
          const std::uint32_t full = full_at + ring.stage * 8;
          barrier_wait(empty_at + ring.stage * 8, ring.phase ^ 1);  // at once in the first round
          barrier_arrive_expect(full, F::kStageBytes);
          copy_stage<F>(params, place, rank, k_block, ring_at + ring.stage * F::kStageBytes, full);
          ring.next();
        }
      }
    }
    __syncwarp();
  } else {
    take_registers<232>();
    const std::uint32_t consumer = warpgroup - 1;
    const int thread = static_cast<int>(threadIdx.x % 128);
    const std::uint32_t lane = threadIdx.x % 32;
    std::int32_t acc[F::kRowBlocks][F::kTileI / 2];
    RingPlace<F::kStages> ring;
    std::uint32_t tile = first_tile;
    std::uint32_t step = tile_step;
    // Descriptors: within a stage, lines of A come first.
    std::uint32_t rows_at = ring_at + F::kBytesA;
    if constexpr (F::kIsPingPong) {
      tile += consumer * tile_step;
      step *= F::kConsumers;
      if (consumer == 1) {
        ring.skip(num_k_blocks);
        named_barrier_arrive(1, 2 * 128);  // the first turn is consumer 0's
      }
    } else {
      rows_at += consumer * F::kGroupJ * F::kBlockK;
    }
    const auto release = [&](std::uint32_t stage) {
      if constexpr (F::kCluster == 1) {
        if (lane == 0) barrier_arrive(empty_at + stage * 8);
      } else {
        if (lane < F::kCluster) barrier_arrive_at(empty_at + stage * 8, lane);
      }
    };

    for (; tile < num_tiles; tile += step) {
      const TilePlace place = place_of<F>(tile, params);
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
            wgmma_s8(acc[b], rows + descriptor_step(b * 64 * F::kBlockK + k32 * 32),
                     columns + descriptor_step(k32 * 32), accumulate);
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
        ring.skip(num_k_blocks);  // the other's tile
      }
#pragma unroll
      for (int b = 0; b < F::kRowBlocks; ++b) pin(acc[b]);
      wgmma_wait<0>();
#pragma unroll
      for (int b = 0; b < F::kRowBlocks; ++b) pin(acc[b]);
      release(last_stage);

      const int j_first = place.j_first + static_cast<int>(rank) * F::kTileJ +
                          (F::kIsPingPong ? 0 : static_cast<int>(consumer) * F::kGroupJ);
#pragma unroll
      for (int b = 0; b < F::kRowBlocks; ++b) {
        store_tile<F::kTileI, F::kLineOrder, kEpilogue>(acc[b], params, place.plane, place.i_first, j_first + b * 64,
                                                        thread);
      }
    }
  }
  if constexpr (F::kCluster > 1) cluster_sync();
#else
  __trap();  // built for another architecture
#endif
}

/// The kernels of a form: every epilogue, or kReduce alone where the lines are permuted or registers are short.
template <class F>
[[nodiscard]] FormKernels kernels_of() {
  using product::Epilogue;
  FormKernels kernels{};
  kernels.reduce = reinterpret_cast<const void*>(&product_i8_sm90<F, Epilogue::kReduce>);
  if constexpr (F::kLineOrder == LineOrder::kInOrder && F::kRowBlocks * F::kTileI / 2 <= 128) {
    kernels.store_acc = reinterpret_cast<const void*>(&product_i8_sm90<F, Epilogue::kStoreAcc>);
    kernels.reduce_add = reinterpret_cast<const void*>(&product_i8_sm90<F, Epilogue::kReduceAdd>);
  }
  kernels.shared_bytes = F::kSharedBytes;
  return kernels;
}

}  // namespace kizami::engines::hopper
