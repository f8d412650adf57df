// SPDX-License-Identifier: MIT
// The product of all planes in the order of product/block_walk.hpp, which tells for each block of C how much of it is
// stored, so that the CRT of finished blocks can run beside it on the same multiprocessors.
//
// The tiles, stages and stores are those of product_i8_sm90.cuh in the form of 256 x 128 with permuted lines; a block
// is what a cluster has, 256 x 256. What differs:
//   Room.    Eight warps multiply, one copies: nine warps of 168 registers, without setmaxnreg, for what is given back to
//            a CTA's pool is no other kernel's. Of each quarter of the register file that leaves one warp of as many
//            registers, in three of the four. (A CTA of twelve warps of which three idle would take them all.)
//   Reports. A warp that has stored its rows adds one to the count of the block, behind a fence of the device. That
//            waits until the stores have come to the L2 cache, so it is done under the next tile's multiplications.
//   Start.   let_next_run_beside(): all blocks of this grid run when the next kernel begins, so that it may wait for
//            them.
//   Pace.    Planes of a group are read once only if clusters keep together. Every kPaceBlocks blocks of k the producer
//            of a cluster adds one to the count of the epoch that it begins, and waits until all have begun the one
//            kPaceAhead before; a hint, which ends after kPacePolls looks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "engines/hopper/current_device.hpp"
#include "engines/hopper/drift_control_sm90.cuh"
#include "engines/hopper/forms.hpp"
#include "engines/hopper/product_i8_sm90.cuh"
#include "engines/hopper/tensor_maps.hpp"
#include "engines/shared_memory.hpp"
#include "engines/store_tile.cuh"
#include "product/block_reports.hpp"

namespace kizami::engines::hopper {

using ReportingForm = Form<HopperSchedule::kCooperative, LineOrder::kPermuted, 256, 128, 2, 4>;
inline constexpr int kReportingBlock = 256;
static_assert(ReportingForm::kTileI == kReportingBlock &&
              ReportingForm::kTileJ * ReportingForm::kCluster == kReportingBlock);
inline constexpr int kCopyingWarp = 8;
inline constexpr int kReportingWarps = 9;
/// Warps that report a block, of each plane.
inline constexpr std::uint32_t kReportsOfPlane = ReportingForm::kCluster * 8;
/// With launch bounds of so many threads a thread has 65536 / 384 = 170 registers, rounded down to 168.
inline constexpr int kBoundThreads = 384;
/// The block of k of the next tile under which a tile is reported: its stores have arrived by then. unmeasured
inline constexpr int kReportAt = 2;

inline constexpr std::uint32_t kPaceBlocks = 16;  ///< of k. unmeasured
inline constexpr std::uint32_t kPaceAhead = 2;    ///< epochs. unmeasured
inline constexpr int kPacePolls = 4;              ///< of one wait, each 0.6 microseconds or more. unmeasured

struct ReportingParams : TileWalk, ResultParams {  ///< of TileOrder: what does not number tiles
  product::BlockReports reports;
};
static_assert(sizeof(ReportingParams) <= 4096, "the limit of kernel parameters");

/// Adds one, after all that the threads that have met this one's warp wrote.
__device__ __forceinline__ void add_released(std::uint32_t* count) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;\n" ::"l"(count) : "memory");
}
__device__ __forceinline__ void add_relaxed(std::uint32_t* count) {
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;\n" ::"l"(count) : "memory");
}

[[nodiscard]] __device__ __forceinline__ TilePlace place_of_tile(std::uint32_t number, std::uint32_t planes,
                                                                 const product::BlockWalk& walk, std::uint32_t& block) {
  const product::BlockWalk::Tile tile = walk.tile(number, planes);
  const product::BlockWalk::Place at = walk.place(tile.block);
  block = tile.block;
  return {static_cast<int>(tile.plane), static_cast<int>(at.i) * kReportingBlock,
          static_cast<int>(at.j) * kReportingBlock};
}

/// The producer's part, by one thread.
__device__ __forceinline__ void produce_reported(const ReportingParams& params, std::uint32_t cluster,
                                                 std::uint32_t num_clusters, std::uint32_t num_tiles,
                                                 std::uint32_t planes, const CtaPlace& cta) {
  using F = ReportingForm;
  RingPlace<F::kStages> ring;
  const std::uint32_t num_epochs =
      cta.rank == 0 ? params.reports.num_epochs(num_tiles / num_clusters * params.num_k_blocks, kPaceBlocks) : 0;
  std::uint32_t epoch = 0;
  std::uint32_t blocks_left = 0;  // of the epoch
  for (std::uint32_t number = cluster; number < num_tiles; number += num_clusters) {
    std::uint32_t block = 0;
    const TilePlace place = place_of_tile(number, planes, params.reports.walk, block);
#pragma unroll 1
    for (int k_block = 0; k_block < params.num_k_blocks; ++k_block) {
      if (blocks_left == 0 && epoch < num_epochs) {
        std::uint32_t* const counts = params.reports.epochs();
        add_relaxed(counts + epoch);
        if (epoch >= kPaceAhead) {
          for (int polls = 0; polls < kPacePolls; ++polls) {
            if (load_relaxed(counts + (epoch - kPaceAhead)) >= num_clusters) break;
          }
        }
        ++epoch;
        blocks_left = kPaceBlocks;
      }
      --blocks_left;
      const std::uint32_t full = cta.full_at + ring.stage * 8;
      barrier_wait(cta.empty_at + ring.stage * 8, ring.phase ^ 1);  // at once in the first round
      barrier_arrive_expect(full, F::kStageBytes);
      copy_stage<F, F::kLineOrder>(params.a_map, params.b_map, place, cta.rank, source_of<F>(params, place, k_block),
                                   cta.ring_at + ring.stage * F::kStageBytes, full);
      ring.next();
    }
  }
}

/// What further warps of each block do meanwhile: nothing, for there are none.
struct NoCompanion {
  static constexpr int kWarps = 0;
  __device__ void run(std::uint32_t /*warp*/) const {}
};

/// Companion: plain data; run() is called by kWarps warps, at most three, behind let_next_run_beside(). It calls no
/// function that is not inlined, for ptxas would then wait after every wgmma.
/// @range blockDim = 32 (kReportingWarps + Companion::kWarps); grid a multiple of the cluster; F::kSharedBytes of dynamic
///        shared memory; counts of reports and epochs are zero
template <class Companion>
__global__ void __launch_bounds__(kBoundThreads, 1)
    reporting_product_sm90(const __grid_constant__ ReportingParams params,
                           const __grid_constant__ Companion companion) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using F = ReportingForm;
  extern __shared__ __align__(1024) std::uint8_t shared_memory[];
  const CtaPlace cta = begin_cta<F>(shared_memory, F::kRingBytes, params.a_map, params.b_map);
  base::let_next_run_beside();
  int num_planes = params.num_products;
  if (params.num_products_at != nullptr) num_planes = max(0, min(num_planes, *params.num_products_at));
  const auto planes = static_cast<std::uint32_t>(num_planes);
  const std::uint32_t num_tiles = params.reports.walk.num_blocks() * planes;
  const std::uint32_t cluster = blockIdx.x / F::kCluster;
  const std::uint32_t num_clusters = gridDim.x / F::kCluster;
  const std::uint32_t warp = __shfl_sync(kWholeWarp, threadIdx.x / 32, 0);  // uniform, for the compiler

  if (warp == kCopyingWarp) {
    if (threadIdx.x % 32 == 0) produce_reported(params, cluster, num_clusters, num_tiles, planes, cta);
    __syncwarp();
  } else if (Companion::kWarps > 0 && warp > kCopyingWarp) {
    companion.run(warp - kReportingWarps);
    __syncwarp();
  } else {
    const std::uint32_t consumer = warp / 4;
    const int thread = static_cast<int>(threadIdx.x % 128);
    const std::uint32_t lane = threadIdx.x % 32;
    std::int32_t acc[F::kTileI / 2];
    static_assert(F::kRowBlocks == 1);
    RingPlace<F::kStages> ring;
    const std::uint32_t rows_at = cta.ring_at + F::kBytesA + consumer * F::kGroupJ * F::kBlockK;
    const auto release = [&](std::uint32_t stage) { release_stage<F>(cta.empty_at + stage * 8, lane); };
    const int report_at = min(kReportAt, params.num_k_blocks - 1);
    std::uint32_t* unreported = nullptr;
    const auto report = [&] {
      __syncwarp();
      if (lane == 0 && unreported != nullptr) add_released(unreported);
    };

    for (std::uint32_t number = cluster; number < num_tiles; number += num_clusters) {
      std::int32_t accumulate = 0;
      std::uint32_t last_stage = 0;
#pragma unroll 1
      for (int k_block = 0; k_block < params.num_k_blocks; ++k_block) {
        barrier_wait(cta.full_at + ring.stage * 8, ring.phase);
        const std::uint32_t stage_offset = ring.stage * F::kStageBytes;
        const std::uint32_t rows = swizzled_lines(rows_at + stage_offset);
        const std::uint32_t columns = swizzled_lines(cta.ring_at + stage_offset);
        pin(acc);
        wgmma_fence();
#pragma unroll
        for (int k32 = 0; k32 < F::kBlockK / 32; ++k32) {
          wgmma_s8(acc, rows + descriptor_step(k32 * 32), columns + descriptor_step(k32 * 32), accumulate);
          accumulate = 1;
        }
        wgmma_commit();
        pin(acc);
        if (k_block == report_at) report();
        wgmma_wait<1>();  // the former stage has been read
        if (k_block > 0) release(last_stage);
        last_stage = ring.stage;
        ring.next();
      }
      pin(acc);
      wgmma_wait<0>();
      pin(acc);
      release(last_stage);

      std::uint32_t block = 0;
      const TilePlace place = place_of_tile(number, planes, params.reports.walk, block);
      const int j_first =
          place.j_first + static_cast<int>(cta.rank) * F::kTileJ + static_cast<int>(consumer) * F::kGroupJ;
      store_tile<F::kTileI, F::kLineOrder, product::Epilogue::kReduce>(acc, params, params, place.plane, place.i_first,
                                                                       j_first, thread);
      unreported = params.reports.counts() + block;
    }
    report();
  }
  cluster_sync();
#else
  __trap();  // built for another architecture
#endif
}

/// Clusters of a kernel that the device, or what of it this process may use, runs at a time.
inline Status find_clusters_at_once(const void* kernel, int threads, std::size_t shared_bytes, int& clusters) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {ReportingForm::kCluster, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(ReportingForm::kCluster);
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared_bytes;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return base::cuda_status(cudaOccupancyMaxActiveClusters(&clusters, kernel, &config), "clusters at once");
}

/// Enqueues the product of a description that HopperForm::kCooperative256x128Permuted accepts, k >= 1.
/// @param reports  its counts are zero; what follows in the queue may run beside this kernel (device_crt_beside.cuh)
template <class Companion = NoCompanion>
Status launch_reporting_product(const product::ProductDesc& d, const product::Pointers& pointers,
                                const product::BlockReports& reports, product::Queue queue, Companion companion = {}) {
  using F = ReportingForm;
  if (!form_accepts(traits_of(HopperForm::kCooperative256x128Permuted), d) || d.k < 1 || d.m < 1 || d.n < 1)
    return {StatusCode::kUnsupported, "no product of permuted lines that reports"};
  CurrentDevice device;
  KIZAMI_RETURN_IF_ERROR(find_current_device(device));
  const auto* const kernel = reinterpret_cast<const void*>(&reporting_product_sm90<Companion>);
  static SharedMemoryGrant grant;
  KIZAMI_RETURN_IF_ERROR(grant.ask(kernel, F::kSharedBytes, device.ordinal));
  ReportingParams params{};
  params.m = static_cast<std::int32_t>(d.m);
  params.n = static_cast<std::int32_t>(d.n);
  params.num_k_blocks = static_cast<std::int32_t>(base::ceil_div(d.k, kBlockBytes));
  set_result(d, pointers, params);
  const auto planes_of = [&](std::int64_t stride) { return stride == 0 ? 1 : d.num_products; };
  const MapLines a{"a", pointers.a, d.m, d.k, d.a_row_stride, d.a_plane_stride, planes_of(d.a_plane_stride)};
  const MapLines b{"b", pointers.b, d.n, d.k, d.b_row_stride, d.b_plane_stride, planes_of(d.b_plane_stride)};
  KIZAMI_RETURN_IF_ERROR(encode_permuted(a, params.a_map));
  KIZAMI_RETURN_IF_ERROR(encode_in_order(b, F::kTileJ, params.b_map));
  params.a_plane_step = a.num_planes > 1 ? 1 : 0;
  params.b_plane_step = b.num_planes > 1 ? 1 : 0;
  params.reports = reports;
  const std::int64_t tiles = std::int64_t{reports.walk.num_blocks()} * d.num_products;
  constexpr int kThreads = 32 * (kReportingWarps + Companion::kWarps);
  static_assert(kThreads <= kBoundThreads);
  int at_once = device.num_sms / F::kCluster;
  // A companion waits for blocks of other clusters: those that run only when its own has ended would never make them.
  if (Companion::kWarps > 0) KIZAMI_RETURN_IF_ERROR(find_clusters_at_once(kernel, kThreads, F::kSharedBytes, at_once));
  const auto clusters = static_cast<unsigned>(std::clamp<std::int64_t>(tiles, 1, std::max(1, at_once)));
  void* arguments[] = {&params, &companion};
  return base::enqueue_overlapped("the launch of the reporting product", kernel, dim3(clusters * F::kCluster),
                                  dim3(kThreads), F::kCluster, F::kSharedBytes, queue, arguments);
}

}  // namespace kizami::engines::hopper
