// SPDX-License-Identifier: MIT
// The product of windows of floating-point slices in one persistent launch, on the tensor cores of sm_90a: whole
// numbers in FP16, BF16 or FP8, whose products sum exactly.
//
//   acc(i, j) = sum over k of A(i, k) B(j, k) of window l, in INT32, tile by tile.
//
// The tensor core sums in FP32 as much of k as its accumulator holds exactly; a warpgroup then adds that to sums of its
// own, while the other one multiplies. Those are INT32, but for FP8 FP32, which holds all that FP8 slices sum to
// (product.hpp) and takes one instruction where the way to INT32 takes two. In wgmma's words B gives the rows and A the
// columns. tile_pipeline_sm90.cuh says how stages go from the producer (warpgroup 0) to the consumers (1 and 2).
//
// A CTA ends when its whole cluster has: until then others may send to its memory and arrive at its barriers.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/overlapped_launch.hpp"
#include "engines/hopper/float_product.hpp"
#include "engines/hopper/product_params.hpp"
#include "engines/hopper/ptx_sm90.cuh"
#include "engines/hopper/wgmma_ec_sm90.cuh"
#include "engines/hopper/wgmma_float_sm90.cuh"
#include "engines/hopper/window_tiles_sm90.cuh"
#include "engines/store_tile.cuh"

namespace kizami::engines::hopper {

struct FloatShape : TileShape<kFloatTileI, kFloatTileJ, kFloatTileJ / 2, kFloatCluster, 5> {
  static constexpr int kSums = kTileI / 2;  ///< of one thread
  static constexpr int kSharedBytes = kAlignment + kRingBytes + kBarrierBytes;

  static_assert(kGroupJ == 64, "one wgmma makes a warpgroup's lines of B");
  static_assert(kSharedBytes <= kMostSharedBytes);
  static_assert(2 * kSums <= 192, "accumulators and sums in registers of one thread");
};

/// FP8 numbers have so few bits that FP32 holds the sums of a whole window.
[[nodiscard]] constexpr bool sums_in_fp32(SliceFormat format) {
  return format == SliceFormat::kE4m3 || format == SliceFormat::kE5m2;
}
/// Bytes of k of a stage that are summed before the next promotion, at most: of E4M3 64, as many as sum exactly.
[[nodiscard]] constexpr int promoted_bytes(SliceFormat format) { return format == SliceFormat::kE4m3 ? 64 : 128; }

/// Sums of one window, of a tile's part in one thread.
template <SliceFormat kFormat>
struct ExactSums {
  using Sum = std::conditional_t<sums_in_fp32(kFormat), float, std::int32_t>;
  Sum sums[FloatShape::kSums];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int e = 0; e < FloatShape::kSums; ++e) sums[e] = 0;
  }
  __device__ __forceinline__ void promote(const float (&acc)[FloatShape::kSums]) {
#pragma unroll
    for (int e = 0; e < FloatShape::kSums; ++e) {
      if constexpr (sums_in_fp32(kFormat)) {
        sums[e] += acc[e];
      } else {
        sums[e] += __float2int_rn(acc[e]);
      }
    }
  }
};

/// sums += the products of `count` stages from `ring` on, which moves past them.
template <SliceFormat kFormat>
__device__ __forceinline__ void multiply_window_block(float (&acc)[FloatShape::kSums], ExactSums<kFormat>& sums,
                                                      RingPlace<FloatShape::kStages>& ring, int count,
                                                      std::uint32_t rows_at, std::uint32_t columns_at,
                                                      std::uint32_t full_at, std::uint32_t empty_at,
                                                      std::uint32_t lane) {
  using F = FloatShape;
  constexpr int kParts = F::kBlockK / promoted_bytes(kFormat);  // of a stage
  const auto release = [&](std::uint32_t stage) { release_stage<F>(empty_at + stage * 8, lane); };
  const auto multiply = [&](int part, std::int32_t accumulate) {
    const std::uint32_t rows = swizzled_lines(rows_at + ring.stage * F::kStageBytes);
    const std::uint32_t columns = swizzled_lines(columns_at + ring.stage * F::kStageBytes);
    pin(acc);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < promoted_bytes(kFormat) / 32; ++step) {
      const std::uint32_t at = descriptor_step(part * promoted_bytes(kFormat) + step * 32);
      wgmma_float<kFormat>(acc, rows + at, columns + at, accumulate);
      accumulate = 1;
    }
    wgmma_commit();
    pin(acc);
  };
  if constexpr (kParts > 1) {
#pragma unroll 1
    for (int s = 0; s < count; ++s) {
      barrier_wait(full_at + ring.stage * 8, ring.phase);
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        multiply(part, 0);
        wgmma_wait<0>();
        pin(acc);
        if (part == kParts - 1) release(ring.stage);
        sums.promote(acc);
      }
      ring.next();
    }
  } else {
    std::uint32_t last_stage = 0;
#pragma unroll 1
    for (int s = 0; s < count; ++s) {
      barrier_wait(full_at + ring.stage * 8, ring.phase);
      multiply(0, s > 0 ? 1 : 0);
      wgmma_wait<1>();  // the former stage has been read
      if (s > 0) release(last_stage);
      last_stage = ring.stage;
      ring.next();
    }
    wgmma_wait<0>();
    pin(acc);
    release(last_stage);
    sums.promote(acc);
  }
}

/// @range blockDim = kNumThreads; grid a multiple of FloatShape::kCluster; FloatShape::kSharedBytes of dynamic shared
///        memory
template <SliceFormat kFormat>
__global__ void __launch_bounds__(kNumThreads, 1) product_float_sm90(const __grid_constant__ ProductParams params) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using F = FloatShape;
  extern __shared__ __align__(1024) std::uint8_t shared_memory[];
  const auto [ring_at, full_at, empty_at, rank] =
      begin_cta<F>(shared_memory, F::kRingBytes, params.a_map, params.b_map);
  base::follow_previous_kernel();
  int num_planes = params.num_products;
  if (params.num_products_at != nullptr) num_planes = max(0, min(num_planes, *params.num_products_at));
  const std::uint32_t num_tiles = params.tiles_per_plane * static_cast<std::uint32_t>(num_planes);
  const Turns<true> turns{blockIdx.x / F::kCluster, gridDim.x / F::kCluster};
  const std::uint32_t warpgroup = __shfl_sync(kWholeWarp, threadIdx.x / 128, 0);  // uniform, for the compiler

  if (warpgroup == 0) {
    give_registers_back<40>();
    if (threadIdx.x == 0)
      produce_tiles<F, LineOrder::kInOrder, true>(params, turns, num_tiles, rank, ring_at, full_at, empty_at);
    __syncwarp();
  } else {
    take_registers<232>();
    const std::uint32_t consumer = warpgroup - 1;
    const int thread = static_cast<int>(threadIdx.x % 128);
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t rows_at = ring_at + F::kBytesA + consumer * F::kGroupJ * F::kBlockK;
    RingPlace<F::kStages> ring;
    std::uint32_t round = 0;
    for (std::uint32_t tile = turns.tile(0); tile < num_tiles; tile = turns.tile(++round)) {
      const TilePlace place = place_of<F>(tile, params);
      float acc[F::kSums];
      ExactSums<kFormat> sums;
      sums.clear();
      int left = num_blocks_of<true>(params, place.plane);
#pragma unroll 1
      while (left > 0) {
        const int count = min(left, params.blocks_per_sum);
        multiply_window_block<kFormat>(acc, sums, ring, count, rows_at, ring_at, full_at, empty_at, lane);
        left -= count;
      }
      std::int32_t whole[F::kSums];
#pragma unroll
      for (int e = 0; e < F::kSums; ++e) {
        if constexpr (sums_in_fp32(kFormat)) {
          whole[e] = __float2int_rn(sums.sums[e]);
        } else {
          whole[e] = sums.sums[e];
        }
      }
      const int j_first = place.j_first + static_cast<int>(rank) * F::kTileJ + static_cast<int>(consumer) * F::kGroupJ;
      store_tile<F::kTileI, LineOrder::kInOrder, product::Epilogue::kStoreAcc>(whole, params, params, place.plane,
                                                                               place.i_first, j_first, thread);
    }
  }
  cluster_sync();
#else
  __trap();  // built for another architecture
#endif
}

template <SliceFormat kFormat>
FloatKernel float_kernel() {
  return {reinterpret_cast<const void*>(&product_float_sm90<kFormat>), FloatShape::kSharedBytes};
}

}  // namespace kizami::engines::hopper

#define KIZAMI_INSTANTIATE_FLOAT_KERNEL(format) \
  template ::kizami::engines::hopper::FloatKernel kizami::engines::hopper::float_kernel<kizami::SliceFormat::format>()
