// SPDX-License-Identifier: MIT
// The convolution of split FP32 images in one persistent launch, on the tensor cores of sm_90a: the product of
// product_ec_sm90.cuh, of whose second operand (product/ec_convolution.hpp) the producer makes each stage from lines of
// planes of pixels. With three columns of filters in a stage these share its pixels, of which column s begins s
// dilations of a line later: a descriptor may begin at any line, for the swizzle is one of addresses.
// What is summed how: ec_convolution_sums().
#pragma once

#include <cstdint>

#include "base/overlapped_launch.hpp"
#include "engines/hopper/convolution_params.hpp"
#include "engines/hopper/product_ec_sm90.cuh"
#include "engines/hopper/store_convolution_sm90.cuh"

namespace kizami::engines::hopper {

/// Tables of the tile that is multiplied and of the next one.
template <int kCells>
struct CellTables {
  static constexpr int kSlots = 2;
  CellTable<kCells> tables[kSlots];
  std::uint64_t full[kSlots];   ///< mbarrier: one arrival, of the warp that makes a table
  std::uint64_t empty[kSlots];  ///< of the warps that read it
};

/// A form as constants. A warpgroup has 64 filters and all cells of a tile, or half of them where the tile has only 64
/// filters; filters are rows of wgmma, and cells columns, of which any multiple of 8 will do. With kHasCellRows it has 64
/// cells, which are rows, and all filters.
template <int tile_i, int tile_j, int columns, int stages, bool has_cell_rows = false>
struct ConvolutionTile {
  static constexpr int kTileI = tile_i;
  static constexpr int kTileJ = tile_j;
  static constexpr int kCluster = kConvolutionCluster;
  static constexpr int kStages = stages;
  static constexpr int kColumns = columns;
  static constexpr int kPromoted = columns == 1 ? 2 : 1;  ///< stages
  static constexpr bool kHasCellRows = has_cell_rows;
  static constexpr bool kSplitsInner = false;

  static constexpr int kBlockK = 128;  ///< bytes of k in a column of a stage: one swizzle atom
  static constexpr int kReaders = 2;   ///< warpgroups that read one stage
  static constexpr int kPartI = tile_i / kCluster;
  static constexpr int kCopyJ = cells_of_copy(tile_i, tile_j);
  static constexpr int kGroupJ = has_cell_rows ? 64 : kCopyJ;             ///< cells of a warpgroup
  static constexpr int kGroupI = has_cell_rows ? tile_i : 64;             ///< filters of a warpgroup
  static constexpr int kFirstI = has_cell_rows || tile_i == 64 ? 0 : 64;  ///< of the second one
  static constexpr int kFirstJ = kGroupJ == tile_j ? 0 : kGroupJ;         ///< likewise
  static constexpr int kExtraJ = columns > 1 ? product::kEcConvolutionMostShift : 0;
  static constexpr int kSums = kGroupI * kGroupJ / 128;  ///< of one thread
  static constexpr int kBytesA = tile_i * kBlockK;       ///< of one column
  static constexpr int kFilterBytes = columns * kBytesA;
  static constexpr int kStageBytes = kFilterBytes + (tile_j + kExtraJ) * kBlockK;
  static constexpr int kCopies = tile_j / kCopyJ;  ///< of cells, each with the extra ones of its own
  static constexpr int kCopiedBytes = kFilterBytes + kCopies * (kCopyJ + kExtraJ) * kBlockK;
  static constexpr int kRingBytes = stages * kStageBytes;
  static constexpr int kBarrierBytes = 2 * stages * 8;
  static constexpr int kAlignment = 1024;  ///< of a swizzled group of 8 lines
  static constexpr int kTableBytes = has_cell_rows ? 0 : sizeof(CellTables<tile_j>);
  static constexpr int kSharedBytes = kAlignment + kRingBytes + kTableBytes + kBarrierBytes;

  static_assert(kGroupI * kGroupJ * 2 == tile_i * tile_j);
  static_assert(kPartI % 16 == 0 && kCopyJ % 8 == 0 && kStageBytes % kAlignment == 0, "whole groups of the swizzle");
  static_assert(kCopyJ + kExtraJ <= 256 && stages >= kPromoted);
  static_assert(kSharedBytes <= kMostSharedBytes);
};

/// acc = the products of kPromoted stages from `ring` on, which moves past them: the small ones of all columns first.
template <class F, product::EcFormat kFormat>
__device__ __forceinline__ void multiply_promotion(float (&acc)[F::kSums], RingPlace<F::kStages>& ring,
                                                   std::uint32_t pixels_at, std::uint32_t filters_at,
                                                   std::uint32_t dilation, const EcPlace& at, std::uint32_t lane,
                                                   const ConsumerTurns& turns) {
  constexpr std::uint32_t kLo = descriptor_step(64);
  const std::uint32_t shift = dilation * descriptor_step(F::kBlockK);
  std::int32_t accumulate = 0;
  const auto multiply = [&](std::uint32_t of_pixels, std::uint32_t of_filters) {
    if constexpr (F::kHasCellRows) {
      wgmma_ec<kFormat>(acc, of_pixels, of_filters, accumulate);
    } else {
      wgmma_ec<kFormat>(acc, of_filters, of_pixels, accumulate);
    }
    accumulate = 1;
  };
  std::uint32_t pixels[F::kPromoted];
  std::uint32_t filters[F::kPromoted];
  std::uint32_t empty[F::kPromoted];
  pin(acc);
#pragma unroll
  for (int stage = 0; stage < F::kPromoted; ++stage) {
    barrier_wait(at.full_at + ring.stage * 8, ring.phase);
    if (stage == 0) turns.begin();
    wgmma_fence();
    pixels[stage] = swizzled_lines(pixels_at + ring.stage * F::kStageBytes);
    filters[stage] = swizzled_lines(filters_at + ring.stage * F::kStageBytes);
    empty[stage] = at.empty_at + ring.stage * 8;
    ring.next();
#pragma unroll
    for (int s = 0; s < F::kColumns; ++s) {
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const std::uint32_t of_pixels = pixels[stage] + s * shift + descriptor_step(part * 32);
        const std::uint32_t of_filters = filters[stage] + s * descriptor_step(F::kBytesA) + descriptor_step(part * 32);
        multiply(of_pixels, of_filters + kLo);
        multiply(of_pixels + kLo, of_filters);
      }
    }
  }
#pragma unroll
  for (int stage = 0; stage < F::kPromoted; ++stage) {
#pragma unroll
    for (int s = 0; s < F::kColumns; ++s) {
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        multiply(pixels[stage] + s * shift + descriptor_step(part * 32),
                 filters[stage] + s * descriptor_step(F::kBytesA) + descriptor_step(part * 32));
      }
    }
    wgmma_commit();
  }
  turns.end();
  pin(acc);
#pragma unroll
  for (int stage = 0; stage < F::kPromoted; ++stage) {
    if (stage + 1 < F::kPromoted) {
      wgmma_wait<F::kPromoted - 1>();
    } else {
      wgmma_wait<0>();
    }
    release_stage<F>(empty[stage], lane);
  }
  pin(acc);
}

/// Taps from tables, which take no divisions: each stage waits for this thread.
[[nodiscard]] __device__ __forceinline__ TapPlace height_tap(const ConvolutionParams& params, int tap) {
  if (tap < kTabledTaps) return params.h_taps[tap];
  return tap_of_height(params.direct.h, params.direct.w, static_cast<std::int32_t>(params.by_row.divisor), tap);
}
[[nodiscard]] __device__ __forceinline__ TapPlace width_tap(const ConvolutionParams& params, int tap) {
  return tap < kTabledTaps ? params.w_taps[tap] : tap_of_width(params.direct.w, tap);
}

/// The producer's part, by one thread.
template <class F>
__device__ __forceinline__ void produce_cells(const ConvolutionParams& params, const EcPlace& at) {
  constexpr auto kAll = static_cast<std::uint16_t>((1 << F::kCluster) - 1);
  const int part = static_cast<int>(at.rank) * F::kPartI;
  RingPlace<F::kStages> ring;
  for (std::uint32_t tile = at.first_tile; tile < params.num_tiles; tile += at.tile_step) {
    const TilePlace place = place_of<F>(tile, params);
    const int first_cell = place.j_first + static_cast<int>(at.rank) * F::kTileJ;
    const int first_byte = place.plane * params.blocks * F::kBlockK;
    TapPlace height = height_tap(params, 0);
    int r = 0;
    int block = 0;
    int s = 0;
#pragma unroll 1
    for (int stage = 0; stage < params.num_k_blocks; ++stage) {
      const TapPlace width = width_tap(params, s);
      const std::uint32_t full = at.full_at + ring.stage * 8;
      const std::uint32_t to = at.ring_at + ring.stage * F::kStageBytes;
      const int cell = first_cell + height.offset + width.offset;
      const int plane = height.plane + width.plane;
      barrier_wait(at.empty_at + ring.stage * 8, ring.phase ^ 1);  // at once in the first round
      barrier_arrive_expect(full, F::kCopiedBytes);
#pragma unroll
      for (int copy = 0; copy < F::kCopies; ++copy) {  // the extra cells of one are the first of the next, and equal
        copy_box(to + F::kFilterBytes + copy * F::kCopyJ * F::kBlockK, params.b_map, full,
                 first_byte + block * F::kBlockK, cell + copy * F::kCopyJ, plane);
      }
#pragma unroll
      for (int c = 0; c < F::kColumns; ++c) {
        const int k = (stage * F::kColumns + c) * F::kBlockK;
        const std::uint32_t part_at = to + c * F::kBytesA + part * F::kBlockK;
        if (!F::kHasCellRows && params.filter_step == 1) {
          copy_box_to_all(part_at, params.a_map, full, kAll, k, 0, 0, (place.i_first + part) / 16, place.plane);
        } else {
          copy_box_to_all(part_at, params.a_map, full, kAll, k, place.i_first + part, place.plane);
        }
      }
      ring.next();
      s += F::kColumns;
      if (s < params.direct.w.filter) continue;
      s = 0;
      if (++block < params.blocks) continue;
      block = 0;
      if (++r == params.direct.h.filter) r = 0;  // stages that fill a promotion: their filters are zeros
      height = height_tap(params, r);
    }
  }
}

/// Tables of cells for the store, by one warp of the producer.
template <class F>
__device__ __forceinline__ void make_cell_tables(const ConvolutionParams& params, const EcPlace& at,
                                                 CellTables<F::kTileJ>& shared) {
  const std::uint32_t lane = threadIdx.x % 32;
  RingPlace<CellTables<F::kTileJ>::kSlots> slot;
  for (std::uint32_t tile = at.first_tile; tile < params.num_tiles; tile += at.tile_step) {
    const TilePlace place = place_of<F>(tile, params);
    barrier_wait(shared_address(&shared.empty[slot.stage]), slot.phase ^ 1);  // at once in the first round
    make_cell_table(params, place.j_first + static_cast<int>(at.rank) * F::kTileJ, lane, shared.tables[slot.stage]);
    if (lane == 0) barrier_arrive(shared_address(&shared.full[slot.stage]));
    slot.next();
  }
}

/// A consumer warpgroup's part.
template <class F, product::EcFormat kFormat>
__device__ __forceinline__ void consume_cells(const ConvolutionParams& params, const EcPlace& at,
                                              std::uint32_t consumer, [[maybe_unused]] CellTables<F::kTileJ>* shared) {
  const int thread = static_cast<int>(threadIdx.x % 128);
  const std::uint32_t lane = threadIdx.x % 32;
  const int num_promotions = params.num_k_blocks / F::kPromoted;
  const std::uint32_t pixels_at = at.ring_at + F::kFilterBytes + consumer * F::kFirstJ * F::kBlockK;
  const std::uint32_t filters_at = at.ring_at + consumer * F::kFirstI * F::kBlockK;
  float acc[F::kSums];
  PromotedSums<F::kSums, true> promoted;
  RingPlace<F::kStages> ring;
  const ConsumerTurns turns{consumer == 0};
  [[maybe_unused]] RingPlace<CellTables<F::kTileJ>::kSlots> slot;

  turns.start();
  for (std::uint32_t tile = at.first_tile; tile < params.num_tiles; tile += at.tile_step) {
    const TilePlace place = place_of<F>(tile, params);
    // What this warpgroup stores begins here.
    const int i_first = place.i_first + static_cast<int>(consumer) * F::kFirstI;
    const int j_first = place.j_first + static_cast<int>(at.rank) * F::kTileJ + static_cast<int>(consumer) * F::kFirstJ;
    const FilterPlace lane_place(params, place.plane, i_first, j_first, thread);
    promoted.clear();
#pragma unroll 1
    for (int p = 0; p < num_promotions; ++p) {
      multiply_promotion<F, kFormat>(acc, ring, pixels_at, filters_at,
                                     static_cast<std::uint32_t>(params.direct.w.dilation), at, lane, turns);
      promoted.promote(acc, params.block_promotions);
    }
    promoted.finish(num_promotions > params.block_promotions);
    if constexpr (!F::kHasCellRows) {
      barrier_wait(shared_address(&shared->full[slot.stage]), slot.phase);
      store_filters<F::kGroupJ>(promoted.sums, params, lane_place, place.plane, shared->tables[slot.stage],
                                static_cast<int>(consumer) * F::kFirstJ);
      __syncwarp();
      if (lane == 0) barrier_arrive(shared_address(&shared->empty[slot.stage]));
      slot.next();
    } else if (params.factors.beta != 0) {
      store_cells<F::kTileI, true>(promoted.sums, params, params.factors, place.plane, i_first, j_first, thread);
    } else {
      store_cells<F::kTileI, false>(promoted.sums, params, params.factors, place.plane, i_first, j_first, thread);
    }
  }
}

/// @range blockDim = kNumThreads; grid a multiple of F::kCluster; F::kSharedBytes of dynamic shared memory
template <class F>
__global__ void __launch_bounds__(kNumThreads, 1)
    convolution_ec_sm90(const __grid_constant__ ConvolutionParams params) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) std::uint8_t shared_memory[];
  const CtaPlace cta = begin_cta<F>(shared_memory, F::kRingBytes + F::kTableBytes, params.a_map, params.b_map);
  auto* const tables = reinterpret_cast<CellTables<F::kTileJ>*>(
      shared_memory + (cta.ring_at - shared_address(shared_memory)) + F::kRingBytes);
  if constexpr (!F::kHasCellRows) {
    if (threadIdx.x == 0) {
      for (int slot = 0; slot < CellTables<F::kTileJ>::kSlots; ++slot) {
        barrier_init(shared_address(&tables->full[slot]), 1);
        barrier_init(shared_address(&tables->empty[slot]), F::kReaders * 4);
      }
    }
    __syncthreads();
  }
  const EcPlace at{cta, blockIdx.x / F::kCluster, gridDim.x / F::kCluster};
  base::follow_previous_kernel();                     // the split, of whose planes and scales nothing is read before
  asm volatile("fence.proxy.async;\n" ::: "memory");  // nothing is read by the copy engine before, either
  const std::uint32_t warpgroup = __shfl_sync(kWholeWarp, threadIdx.x / 128, 0);  // uniform, for the compiler

  if (warpgroup == 0) {
    give_registers_back<40>();
    if (threadIdx.x == 0) produce_cells<F>(params, at);
    if constexpr (!F::kHasCellRows) {
      if (threadIdx.x / 32 == 1) make_cell_tables<F>(params, at, *tables);
    }
    __syncwarp();
  } else {
    take_registers<232>();
    using product::EcFormat;
    if (params.is_tf32 != 0) {
      consume_cells<F, EcFormat::kTf32>(params, at, warpgroup - 1, tables);
    } else {
      consume_cells<F, EcFormat::kF16>(params, at, warpgroup - 1, tables);
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
struct ConvolutionTileOf<product::EcConvolutionForm::kOneColumn64x128> : ConvolutionTile<64, 128, 1, 8, true> {};
template <>
struct ConvolutionTileOf<product::EcConvolutionForm::kOneColumn128x128> : ConvolutionTile<128, 128, 1, 6, true> {};
template <>
struct ConvolutionTileOf<product::EcConvolutionForm::kThreeColumns64x128> : ConvolutionTile<64, 128, 3, 5, true> {};
template <>
struct ConvolutionTileOf<product::EcConvolutionForm::kThreeColumns128x128> : ConvolutionTile<128, 128, 3, 3, true> {};
template <>
struct ConvolutionTileOf<product::EcConvolutionForm::kThreeColumns64x256> : ConvolutionTile<64, 256, 3, 3> {};
template <>
struct ConvolutionTileOf<product::EcConvolutionForm::kThreeColumns64x224> : ConvolutionTile<64, 224, 3, 4> {};
template <>
struct ConvolutionTileOf<product::EcConvolutionForm::kThreeColumns64x208> : ConvolutionTile<64, 208, 3, 4> {};
template <>
struct ConvolutionTileOf<product::EcConvolutionForm::kThreeColumns128x112> : ConvolutionTile<128, 112, 3, 3> {};
template <>
struct ConvolutionTileOf<product::EcConvolutionForm::kThreeColumns128x104> : ConvolutionTile<128, 104, 3, 3> {};
template <>
struct ConvolutionTileOf<product::EcConvolutionForm::kOneColumn128x112> : ConvolutionTile<128, 112, 1, 7> {};
template <>
struct ConvolutionTileOf<product::EcConvolutionForm::kOneColumn128x104> : ConvolutionTile<128, 104, 1, 7> {};

template <product::EcConvolutionForm form>
ConvolutionKernel convolution_kernel() {
  using F = ConvolutionTileOf<form>;
  static_assert(F::kPromoted == product::ec_convolution_promoted_stages(form) &&
                F::kColumns == product::traits_of(form).columns && F::kTileI == product::traits_of(form).tile_i &&
                F::kTileJ == product::traits_of(form).tile_j);
  return {reinterpret_cast<const void*>(&convolution_ec_sm90<F>), F::kSharedBytes, !F::kHasCellRows};
}

}  // namespace kizami::engines::hopper

#define KIZAMI_INSTANTIATE_CONVOLUTION(form)            \
  template ::kizami::engines::hopper::ConvolutionKernel \
  kizami::engines::hopper::convolution_kernel<kizami::product::EcConvolutionForm::form>()
