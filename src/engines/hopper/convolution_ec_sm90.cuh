// SPDX-License-Identifier: MIT
// The convolution of split FP32 images in one persistent launch, on the tensor cores of sm_90a: the product of
// product_ec_sm90.cuh, of whose second operand (product/ec_convolution.hpp) the producer makes each stage from lines of
// planes of pixels. With three columns of filters in a stage these share its pixels, of which column s begins s
// dilations of a line later: a descriptor may begin at any line, for the swizzle is one of addresses.
// What is summed how: ec_convolution_sums().
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/overlapped_launch.hpp"
#include "engines/hopper/convolution_params.hpp"
#include "engines/hopper/product_ec_sm90.cuh"
#include "engines/hopper/store_convolution_sm90.cuh"

namespace kizami::engines::hopper {

/// A form as constants, also as multiply_stages() takes it.
template <int tile_i, int tile_j, int columns, int stages>
struct ConvolutionTile : TileShape<tile_i, tile_j, tile_j / 2, kEcConvolutionCluster, stages> {
  using Shape = TileShape<tile_i, tile_j, tile_j / 2, kEcConvolutionCluster, stages>;
  static constexpr int kColumns = columns;
  static constexpr int kPromoted = columns == 1 ? 2 : 1;
  static constexpr bool kSplitsInner = false;
  static constexpr bool kHasFilterRows = Shape::kGroupJ > 64;  ///< filters are rows of wgmma, cells columns
  static constexpr int kSums = tile_i * Shape::kGroupJ / 128;  ///< of one thread
  static constexpr int kExtraJ = columns > 1 ? product::kEcConvolutionMostShift : 0;
  static constexpr int kFilterBytes = columns * Shape::kBytesA;
  static constexpr int kPixelBytes = Shape::kBytesB + kExtraJ * Shape::kBlockK;
  static constexpr int kStageBytes = kFilterBytes + kPixelBytes;
  static constexpr int kBoxes = tile_j / kConvolutionBoxJ;  ///< of cells, each with the extra ones of its own
  static constexpr int kCopiedBytes = kFilterBytes + kBoxes * (kConvolutionBoxJ + kExtraJ) * Shape::kBlockK;
  static constexpr int kRingBytes = stages * kStageBytes;
  static constexpr int kSharedBytes = Shape::kAlignment + kRingBytes + Shape::kBarrierBytes;

  static_assert(kStageBytes % Shape::kAlignment == 0);
  static_assert(kSharedBytes <= kMostSharedBytes);
  static_assert(kHasFilterRows ? tile_i == 64 && columns > 1 : Shape::kGroupJ == 64);
};

/// acc = the products of a stage of three columns, the small ones first.
template <class F, product::EcFormat kFormat>
__device__ __forceinline__ void multiply_columns(float (&acc)[F::kSums], std::uint32_t pixels_at,
                                                 std::uint32_t filters_at, std::uint32_t dilation) {
  constexpr std::uint32_t kLo = descriptor_step(64);
  std::int32_t accumulate = 0;
  const std::uint32_t pixels = swizzled_lines(pixels_at);
  const std::uint32_t filters = swizzled_lines(filters_at);
  const std::uint32_t shift = dilation * descriptor_step(F::kBlockK);
  const auto multiply = [&](std::uint32_t of_pixels, std::uint32_t of_filters) {
    if constexpr (F::kHasFilterRows) {
      wgmma_ec<kFormat>(acc, of_filters, of_pixels, accumulate);
    } else {
      wgmma_ec<kFormat>(acc, of_pixels, of_filters, accumulate);
    }
    accumulate = 1;
  };
  pin(acc);
  wgmma_fence();
#pragma unroll
  for (int s = 0; s < F::kColumns; ++s) {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const std::uint32_t of_pixels = pixels + s * shift + descriptor_step(part * 32);
      const std::uint32_t of_filters = filters + s * descriptor_step(F::kBytesA) + descriptor_step(part * 32);
      multiply(of_pixels, of_filters + kLo);
      multiply(of_pixels + kLo, of_filters);
    }
  }
#pragma unroll
  for (int s = 0; s < F::kColumns; ++s) {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      multiply(pixels + s * shift + descriptor_step(part * 32),
               filters + s * descriptor_step(F::kBytesA) + descriptor_step(part * 32));
    }
  }
  wgmma_commit();
  pin(acc);
  wgmma_wait<0>();
  pin(acc);
}

/// The producer's part, by one thread.
template <class F>
__device__ __forceinline__ void produce_cells(const ConvolutionParams& params, const EcPlace& at) {
  constexpr auto kAll = static_cast<std::uint16_t>((1 << F::kCluster) - 1);
  const int part = static_cast<int>(at.rank) * F::kPartI;
  const int cells_of_row = static_cast<int>(params.by_row.divisor);
  RingPlace<F::kStages> ring;
  for (std::uint32_t tile = at.first_tile; tile < params.num_tiles; tile += at.tile_step) {
    const TilePlace place = place_of<F>(tile, params);
    const int cell = place.j_first + static_cast<int>(at.rank) * F::kTileJ;
    int r = 0;
    int block = 0;
    int s = 0;
#pragma unroll 1
    for (int stage = 0; stage < params.num_k_blocks; ++stage) {
      const std::uint32_t full = at.full_at + ring.stage * 8;
      const std::uint32_t to = at.ring_at + ring.stage * F::kStageBytes;
      const int shift = params.h.offset_of(r) * cells_of_row + params.w.offset_of(s);
      const int plane = params.h.plane_of(r) * params.w.num_planes() + params.w.plane_of(s);
      barrier_wait(at.empty_at + ring.stage * 8, ring.phase ^ 1);  // at once in the first round
      barrier_arrive_expect(full, F::kCopiedBytes);
#pragma unroll
      for (int c = 0; c < F::kColumns; ++c) {
        copy_box_to_all(to + c * F::kBytesA + part * F::kBlockK, params.a_map, full, kAll,
                        (stage * F::kColumns + c) * F::kBlockK, place.i_first + part, place.plane);
      }
#pragma unroll
      for (int box = 0; box < F::kBoxes; ++box) {  // the extra cells of one are the first of the next, and equal
        copy_box(to + F::kFilterBytes + box * kConvolutionBoxJ * F::kBlockK, params.b_map, full,
                 (place.plane * params.blocks + block) * F::kBlockK, cell + box * kConvolutionBoxJ + shift, plane);
      }
      ring.next();
      s += F::kColumns;
      if (s < params.w.filter) continue;
      s = 0;
      if (++block < params.blocks) continue;
      block = 0;
      if (++r == params.h.filter) r = 0;  // stages that fill a promotion: their filters are zeros
    }
  }
}

/// A consumer warpgroup's part.
template <class F, product::EcFormat kFormat>
__device__ __forceinline__ void consume_cells(const ConvolutionParams& params, const EcPlace& at,
                                              std::uint32_t consumer) {
  const int thread = static_cast<int>(threadIdx.x % 128);
  const std::uint32_t lane = threadIdx.x % 32;
  const int num_promotions = params.num_k_blocks / F::kPromoted;
  const std::uint32_t pixels_at = at.ring_at + F::kFilterBytes + consumer * F::kGroupJ * F::kBlockK;
  float acc[F::kSums];
  PromotedSums<F::kSums, true> promoted;
  RingPlace<F::kStages> ring;

  for (std::uint32_t tile = at.first_tile; tile < params.num_tiles; tile += at.tile_step) {
    promoted.clear();
#pragma unroll 1
    for (int p = 0; p < num_promotions; ++p) {
      if constexpr (F::kColumns == 1) {
        multiply_stages<F, kFormat, F::kPromoted>(acc, ring, pixels_at, at.ring_at, at.full_at, at.empty_at, lane);
      } else {
        barrier_wait(at.full_at + ring.stage * 8, ring.phase);
        multiply_columns<F, kFormat>(acc, pixels_at + ring.stage * F::kStageBytes,
                                     at.ring_at + ring.stage * F::kStageBytes,
                                     static_cast<std::uint32_t>(params.w.dilation));
        release_stage<F>(at.empty_at + ring.stage * 8, lane);
        ring.next();
      }
      promoted.promote(acc, params.block_promotions);
    }
    promoted.finish(num_promotions > params.block_promotions);
    const TilePlace place = place_of<F>(tile, params);
    const int j_first = place.j_first + static_cast<int>(at.rank) * F::kTileJ + static_cast<int>(consumer) * F::kGroupJ;
    const ConvolutionFactors factors(params);
    const auto store = [&](auto reads_y) {
      constexpr bool kReadsY = decltype(reads_y)::value;
      if constexpr (F::kHasFilterRows) {
        store_filters<F::kGroupJ, kReadsY>(promoted.sums, params, factors, place.plane, place.i_first, j_first, thread);
      } else {
        store_cells<F::kTileI, kReadsY>(promoted.sums, params, factors, place.plane, place.i_first, j_first, thread);
      }
    };
    if (factors.beta != 0) {
      store(std::true_type{});
    } else {
      store(std::false_type{});
    }
  }
}

/// @range blockDim = kNumThreads; grid a multiple of F::kCluster; F::kSharedBytes of dynamic shared memory
template <class F>
__global__ void __launch_bounds__(kNumThreads, 1)
    convolution_ec_sm90(const __grid_constant__ ConvolutionParams params) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) std::uint8_t shared_memory[];
  const CtaPlace cta = begin_cta<F>(shared_memory, F::kRingBytes, params.a_map, params.b_map);
  const EcPlace at{cta, blockIdx.x / F::kCluster, gridDim.x / F::kCluster};
  base::follow_previous_kernel();                     // the split, of whose planes and scales nothing is read before
  asm volatile("fence.proxy.async;\n" ::: "memory");  // nothing is read by the copy engine before, either
  const std::uint32_t warpgroup = __shfl_sync(kWholeWarp, threadIdx.x / 128, 0);  // uniform, for the compiler

  if (warpgroup == 0) {
    give_registers_back<40>();
    if (threadIdx.x == 0) produce_cells<F>(params, at);
    __syncwarp();
  } else {
    take_registers<232>();
    using product::EcFormat;
    if (params.is_tf32 != 0) {
      consume_cells<F, EcFormat::kTf32>(params, at, warpgroup - 1);
    } else {
      consume_cells<F, EcFormat::kF16>(params, at, warpgroup - 1);
    }
  }
  if constexpr (F::kCluster > 1) cluster_sync();
#else
  __trap();  // built for another architecture
#endif
}

template <product::EcConvolutionForm form>
struct ConvolutionTileOf;
template <>
struct ConvolutionTileOf<product::EcConvolutionForm::kOneColumn64x128> : ConvolutionTile<64, 128, 1, 8> {};
template <>
struct ConvolutionTileOf<product::EcConvolutionForm::kOneColumn128x128> : ConvolutionTile<128, 128, 1, 6> {};
template <>
struct ConvolutionTileOf<product::EcConvolutionForm::kThreeColumns64x128> : ConvolutionTile<64, 128, 3, 5> {};
template <>
struct ConvolutionTileOf<product::EcConvolutionForm::kThreeColumns128x128> : ConvolutionTile<128, 128, 3, 3> {};
template <>
struct ConvolutionTileOf<product::EcConvolutionForm::kThreeColumns64x256> : ConvolutionTile<64, 256, 3, 3> {};

template <product::EcConvolutionForm form>
ConvolutionKernel convolution_kernel() {
  using F = ConvolutionTileOf<form>;
  static_assert(F::kPromoted == product::ec_convolution_promoted_stages(form) &&
                F::kColumns == product::traits_of(form).columns && F::kTileI == product::traits_of(form).tile_i &&
                F::kTileJ == product::traits_of(form).tile_j);
  return {reinterpret_cast<const void*>(&convolution_ec_sm90<F>), F::kSharedBytes};
}

}  // namespace kizami::engines::hopper

#define KIZAMI_INSTANTIATE_CONVOLUTION(form)            \
  template ::kizami::engines::hopper::ConvolutionKernel \
  kizami::engines::hopper::convolution_kernel<kizami::product::EcConvolutionForm::form>()
