// SPDX-License-Identifier: MIT
// The CRT beside the product whose residues it reads (product/block_reports.hpp): the arithmetic of device_crt_pieces.cuh
// for rungs of two and three pieces, which are the lowest ones of all types. Others are left to reconstruct_device(), and
// so is C <- beta C.
//
// Why not in the product's kernel: whoever calls a function there makes ptxas wait after every wgmma, and the epilogue of
// any alpha, beta and scale is one. Beside it, a kernel of its own has the registers that the product leaves: one warp in
// three of a multiprocessor's four parts, and more in the end, when blocks of the product have left. So the grid is larger
// than what runs at first.
//
// Warps work alone. A warp claims a run of columns (beside_runs.hpp), waits until its block is whole, and has the words of
// the next column on their way while it rebuilds one; with a single warp a scheduler nothing else hides them. Words are
// read past L1, which knows nothing of other multiprocessors' stores.
//
// The last block of the grid to end clears the words of the reports, for the next launch.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/cluster_sm90.cuh"
#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "product/block_reports.hpp"
#include "schemes/ozaki2/beside_runs.hpp"
#include "schemes/ozaki2/device_crt.cuh"

namespace kizami::ozaki2::kernels {

/// A multiprocessor has registers for at least so many blocks of kMostBesideThreads: 65536 / 384 = 170 a thread, rounded
/// down to 168, as many as the product's.
inline constexpr int kBesideBlocks = 3;

template <class T>
struct BesideTask {
  DeviceReconstruction<T> crt;
  product::BlockReports reports;
  std::uint64_t* times =
      nullptr;  ///< device memory: [2] for each block, when it began and ended in nanoseconds; or null
};

[[nodiscard]] __device__ __forceinline__ std::uint32_t load_word_past_l1(const std::int8_t* at) {
  std::uint32_t word;
  asm volatile("ld.global.cg.L2::256B.u32 %0, [%1];" : "=r"(word) : "l"(at) : "memory");
  return word;
}
[[nodiscard]] __device__ __forceinline__ std::uint32_t load_acquired(const std::uint32_t* count) {
  std::uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];\n" : "=r"(value) : "l"(count) : "memory");
  return value;
}
[[nodiscard]] __device__ __forceinline__ std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// Waits until a count has come to `wanted`, as barrier_wait() does: after 10 s it is a defect, and the launch ends.
__device__ __forceinline__ void wait_for_count(const std::uint32_t* count, std::uint32_t wanted) {
  if (load_acquired(count) >= wanted) return;
  constexpr long long kMostCycles = 1LL << 34;
  const long long start = clock64();
  for (int tries = 0; load_acquired(count) < wanted; ++tries) {
    __nanosleep(200);
    if (tries > 1000 && clock64() - start > kMostCycles) __trap();
  }
}

/// By each warp: all runs that it can claim. kIsAhead: the words of the next column are on their way meanwhile.
template <class T, int kPieces, bool kIsWhole, bool kIsAhead>
__device__ __forceinline__ void reconstruct_runs(const BesideTask<T>& task, const DeviceCrtTable* tables,
                                                 const double* constants) {
  constexpr unsigned kWholeWarp = 0xFFFFFFFFU;
  constexpr int kParts = kIsComplex<T> ? 2 : 1;
  constexpr int kPlanes = most_piece_planes(kIsComplex<T>, kPieces);
  using Layout = PieceLayout<kPieces, kPlanes>;
  const DeviceReconstruction<T>& crt = task.crt;
  const BesideRuns runs{task.reports.walk};
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int num_planes = kIsWhole ? kPlanes : tables->num_planes;
  const std::uint32_t wanted = task.reports.reports_of_plane * static_cast<std::uint32_t>(num_planes);
  const auto load = [&](std::int64_t i, std::int64_t j, std::uint32_t(&to)[kPlanes]) {
    const std::int8_t* at = crt.planes.data + j * crt.planes.col_stride + i;
#pragma unroll
    for (int q = 0; q < kPlanes; ++q, at += crt.planes.plane_stride) to[q] = q < num_planes ? load_word_past_l1(at) : 0;
  };
  const auto claim = [&] {
    return lane == 0 ? atomicAdd(task.reports.words + product::BlockReports::kClaims, 1U) : 0U;
  };

  NumberEpilogue<T, false> epilogue(crt, crt.c.rows);  // of no rows yet
  std::uint32_t number = __shfl_sync(kWholeWarp, claim(), 0);
  while (number < runs.num_runs()) {
    const BesideRuns::Run run = runs.run(number);
    const std::uint32_t next = claim();  // on its way meanwhile
    const std::int64_t i = run.first_row + 4 * lane;
    const std::int64_t end = min(run.end_col, crt.c.cols);
    epilogue.take_rows(crt, i);
    wait_for_count(task.reports.counts() + run.block, wanted);
    if (i < crt.c.rows && run.first_col < end) {
      std::uint32_t words[kPlanes];
      if constexpr (kIsAhead) load(i, run.first_col, words);
      epilogue.judge_scales();
#pragma unroll 1
      for (std::int64_t j = run.first_col; j < end; ++j) {
        const int col_scale = crt.col_scale[j];
        std::uint32_t ahead[kPlanes];
        if constexpr (kIsAhead) {
          if (j + 1 < end) load(i, j + 1, ahead);
        } else {
          load(i, j, words);
        }
        double x[kParts][4];
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
          rebuild_from_pieces<kPieces, kPlanes>(words, num_planes, constants + part * Layout::kSize,
                                                tables[part].pieces, x[part]);
        }
        epilogue.write(crt, j, col_scale, x);
        if constexpr (kIsAhead) {
#pragma unroll
          for (int q = 0; q < kPlanes; ++q) words[q] = ahead[q];
        }
      }
    }
    __syncwarp();
    number = __shfl_sync(kWholeWarp, next, 0);
  }
}

/// Some warps of a block: `thread` of `threads`, which meet at a named barrier.
struct BesideWarps {
  int thread;
  int threads;
  int barrier;
};

template <class T, int kPieces>
__device__ __forceinline__ void share_beside_constants(const DeviceCrtTable* tables, const BesideWarps& warps,
                                                       double* shared) {
  constexpr int kParts = kIsComplex<T> ? 2 : 1;
  using Layout = PieceLayout<kPieces, most_piece_planes(kIsComplex<T>, kPieces)>;
  for (int at = warps.thread; at < kParts * Layout::kSize; at += warps.threads)
    shared[at] = Layout::value(tables[at / Layout::kSize].pieces, at % Layout::kSize);
  base::named_barrier_sync(warps.barrier, warps.threads);
}

template <class T>
inline constexpr int kBesideNumbers =
    (kIsComplex<T> ? 2 : 1) * PieceLayout<3, most_piece_planes(kIsComplex<T>, 3)>::kSize;

/// By some warps of a block, all of which come here. numbers: [kBesideNumbers], aligned to 16 bytes.
/// kPieces: of rungs that are taken here; 0: two and three. kMostAhead: planes whose words are loaded a column ahead
template <class T, int kPieces, int kMostAhead>
__device__ __forceinline__ void reconstruct_blocks(const BesideTask<T>& task, const BesideWarps& warps,
                                                   double* numbers) {
  const DeviceCrtTable* const tables = tables_of_rung<T, false>(task.crt, /*scales=*/false);
  const int pieces = tables == nullptr ? 0 : tables->pieces.count;
  constexpr bool kIsAheadOfThree = most_piece_planes(kIsComplex<T>, 3) <= kMostAhead;
  if (kPieces != 3 && pieces == 2) {
    share_beside_constants<T, 2>(tables, warps, numbers);
    reconstruct_runs<T, 2, false, most_piece_planes(kIsComplex<T>, 2) <= kMostAhead>(task, tables, numbers);
  } else if (kPieces != 2 && pieces == 3) {
    share_beside_constants<T, 3>(tables, warps, numbers);
    if (tables->num_planes == most_piece_planes(kIsComplex<T>, 3)) {
      reconstruct_runs<T, 3, true, kIsAheadOfThree>(task, tables, numbers);
    } else if (kPieces == 0) {
      reconstruct_runs<T, 3, false, kIsAheadOfThree>(task, tables, numbers);
    }
  }
}

/// As warps of the product's own blocks (reporting_product_sm90.cuh): where the registers that it leaves are nobody
/// else's. They take the lowest rung alone, and reconstruct_beside() behind the product the others, and what is left.
template <class T, int kPieces>
struct CrtCompanion {
  static constexpr int kWarps = 3;
  BesideTask<T> task;

  __device__ __forceinline__ void run(std::uint32_t warp) const {
    __shared__ __align__(16) double numbers[kBesideNumbers<T>];
    const BesideWarps warps{static_cast<int>(warp * 32 + threadIdx.x % 32), 32 * kWarps, /*barrier=*/1};
    reconstruct_blocks<T, kPieces, /*kMostAhead=*/18>(task, warps, numbers);
  }
};

/// @range blockDim.x a multiple of 32, at most kMostBesideThreads; enqueued behind the product of the reports
template <class T>
__global__ void __launch_bounds__(kMostBesideThreads, kBesideBlocks)
    reconstruct_beside(const __grid_constant__ BesideTask<T> task) {
  __shared__ __align__(16) double numbers[kBesideNumbers<T>];
  __shared__ bool is_last;
  base::run_beside_previous();
  if (task.times != nullptr && threadIdx.x == 0) task.times[2 * blockIdx.x] = nanoseconds();
  const int threads = static_cast<int>(blockDim.x);
  reconstruct_blocks<T, 0, /*kMostAhead=*/30>(task, {static_cast<int>(threadIdx.x), threads, /*barrier=*/1}, numbers);
  if (task.times != nullptr && threadIdx.x == 0) task.times[2 * blockIdx.x + 1] = nanoseconds();
  base::join_previous();  // the product reports no more
  __syncthreads();
  std::uint32_t* const words = task.reports.words;
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(words + product::BlockReports::kEnded, 1U) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!is_last) return;
  for (std::uint32_t at = threadIdx.x; at < task.reports.num_words(); at += blockDim.x) words[at] = 0;
}

}  // namespace kizami::ozaki2::kernels

namespace kizami::ozaki2 {

/// Enqueues the CRT of what the product that was enqueued last reports. Rungs that are not of two or three pieces are
/// left to reconstruct_device(), which the caller enqueues behind it where the ladder has any, with task.done or a ladder
/// of those rungs.
/// @range  as of reconstruct_by_numbers(); all of C; reports.walk has blocks of BesideRuns::kBlock
/// @queue  enqueues one kernel
template <class T>
Status reconstruct_beside_product(const DeviceReconstruction<T>& crt, const product::BlockReports& reports, int num_sms,
                                  product::Queue queue, const BesideShape& shape = {}, std::uint64_t* times = nullptr) {
  // The product's blocks have all shared memory that there is: with another division of L1 this kernel would wait for them.
  const auto* const kernel = reinterpret_cast<const void*>(&kernels::reconstruct_beside<T>);
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(
      cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
      "the division of L1"));
  const kernels::BesideTask<T> task{crt, reports, times};
  return base::launch_overlapped("reconstruct_beside", kernels::reconstruct_beside<T>,
                                 dim3(shape.blocks_per_sm * static_cast<unsigned>(num_sms)), dim3(shape.threads), 0,
                                 queue, task);
}

}  // namespace kizami::ozaki2
