// SPDX-License-Identifier: MIT
// Products of digits by wgmma, for sm_90a. A block of threads owns a tile of 128 x 192 pairs, a warpgroup 128 x 64 of it; of
// complex types 192 x 96, a warpgroup 64 x 96. The sums of a block of 64 elements are in registers only as long as it takes to
// add them: while a warpgroup adds some, the tensor cores make the next ones, or work for another warpgroup.
// No kernel with these calls a function that is not inlined: ptxas would wait after each wgmma.
// Bytes of complex types: device_block_sums_sm80.cuh.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "base/cluster_sm90.cuh"
#include "certify/device_block_sums.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900 && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "wgmma is of sm_90a: CMAKE_CUDA_ARCHITECTURES must be 90a, not 90"
#endif

namespace kizami::certify::second_look {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// d (64 x N) = or += 64 lines times N lines, 32 bytes of k, both from shared memory in the 128-byte swizzle. Registers of
// thread t of the warpgroup, warp w = t / 32 and lane x = t % 32: d[4 g + 2 h + b] is row 16 w + 8 h + x / 4, column
// 8 g + 2 (x % 4) + b. Low words of descriptors: address / 16, and a leading offset that this layout does not use; the high word says 1024 bytes
// between groups of 8 lines, and the swizzle.

// clang-format off
__device__ __forceinline__ void wgmma_s8(std::int32_t (&d)[32], std::uint32_t rows, std::uint32_t columns, int accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      ".reg .b64 rows, columns;\n"
      "setp.ne.b32 p, %34, 0;\n"
      "mov.b64 rows, {%32, 0x40000040};\n"
      "mov.b64 columns, {%33, 0x40000040};\n"
      "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
      "}, rows, columns, p;\n"
      "}\n"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
        "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]),
        "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]),
        "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31])
      : "r"(rows), "r"(columns), "r"(accumulate));
}
__device__ __forceinline__ void wgmma_s8(std::int32_t (&d)[16], std::uint32_t rows, std::uint32_t columns, int accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      ".reg .b64 rows, columns;\n"
      "setp.ne.b32 p, %18, 0;\n"
      "mov.b64 rows, {%16, 0x40000040};\n"
      "mov.b64 columns, {%17, 0x40000040};\n"
      "wgmma.mma_async.sync.aligned.m64n32k32.s32.s8.s8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
      "}, rows, columns, p;\n"
      "}\n"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
        "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15])
      : "r"(rows), "r"(columns), "r"(accumulate));
}
__device__ __forceinline__ void wgmma_u8(std::int32_t (&d)[16], std::uint32_t rows, std::uint32_t columns, int accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      ".reg .b64 rows, columns;\n"
      "setp.ne.b32 p, %18, 0;\n"
      "mov.b64 rows, {%16, 0x40000040};\n"
      "mov.b64 columns, {%17, 0x40000040};\n"
      "wgmma.mma_async.sync.aligned.m64n32k32.s32.u8.u8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
      "}, rows, columns, p;\n"
      "}\n"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
        "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15])
      : "r"(rows), "r"(columns), "r"(accumulate));
}
// clang-format on

__device__ __forceinline__ std::uint32_t swizzled_lines(const void* lines) {
  return shared_address(lines) >> 4 | 1u << 16;
}
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most kPending groups are in flight; their registers d are not to be read before.
template <int kPending, int kRegisters>
__device__ __forceinline__ void wgmma_wait(std::int32_t (&d)[kRegisters]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
#pragma unroll
  for (std::int32_t& x : d) asm volatile("" : "+r"(x)::"memory");
}
#endif

template <int parts>
struct WgmmaCore {
  static constexpr int kParts = parts;
  static constexpr int kStages = 4;
  static constexpr bool kIsWgmma = true;
  static constexpr int kRows = kParts == 1 ? 128 : 192;  ///< lines of A
  static constexpr int kCols = kParts == 1 ? 192 : 96;   ///< lines of B
  /// A warpgroup's part of a tile is made of pieces: two of 64 x 64, or of complex types three of 64 x 32.
  static constexpr int kNumPieces = kParts == 1 ? 2 : 3;
  static constexpr int kPiecePairs = kParts == 1 ? 32 : 16;  ///< of a thread
  static constexpr int kPairs = kNumPieces * kPiecePairs;

  /// Place of a thread's pairs in a tile: pieces are 64 rows apart, of complex types 32 columns.
  struct Place {
    int first_row;
    int first_col;

    __device__ Place() {
      const int warpgroup = static_cast<int>(threadIdx.x) / 128;
      const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
      first_row = (kParts == 1 ? 0 : warpgroup * 64) + 16 * warp + lane() / 4;
      first_col = (kParts == 1 ? warpgroup * 64 : 0) + lane() % 4 * 2;
    }
    [[nodiscard]] __device__ int row_of(int pair) const {
      return first_row + pair / 2 % 2 * 8 + (kParts == 1 ? pair / kPiecePairs * 64 : 0);
    }
    [[nodiscard]] __device__ int col_of(int pair) const {
      return first_col + pair % kPiecePairs / 4 * 8 + pair % 2 + (kParts == 1 ? 0 : pair / kPiecePairs * 32);
    }
  };

  __device__ WgmmaCore() : warpgroup_(__shfl_sync(kFullWarp, static_cast<int>(threadIdx.x) / 128, 0)) {}

  /// Adds the products of the blocks of a step to the sums of this thread's pairs.
  __device__ __forceinline__ void add_step(const Stage<WgmmaCore>& stage, float (&sums)[kParts][kPairs]) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    if constexpr (kParts == 1) {
      // Always one piece on its way while another one is added.
      constexpr std::uint32_t kRowPiece = 64 * kStepBytes / 16;
      constexpr std::uint32_t kBlock = 64 / 16;
      const std::uint32_t rows = swizzled_lines(stage.a);
      const std::uint32_t columns = swizzled_lines(stage.b + warpgroup_ * 64 * kStepBytes);
      std::int32_t first[kPiecePairs];
      std::int32_t second[kPiecePairs];
      multiply(first, rows, columns);
      multiply(second, rows + kRowPiece, columns);
      PieceScales scales(stage, 0, place_);
      wgmma_wait<1>(first);
      add_piece(
          0, scales, [&](int i) { return first[i]; }, sums[0]);
      multiply(first, rows + kBlock, columns + kBlock);
      scales.next_rows(stage, 0, place_);
      wgmma_wait<1>(second);
      add_piece(
          1, scales, [&](int i) { return second[i]; }, sums[0]);
      multiply(second, rows + kRowPiece + kBlock, columns + kBlock);
      scales = PieceScales(stage, 1, place_);
      wgmma_wait<1>(first);
      add_piece(
          0, scales, [&](int i) { return first[i]; }, sums[0]);
      scales.next_rows(stage, 1, place_);
      wgmma_wait<0>(second);
      add_piece(
          1, scales, [&](int i) { return second[i]; }, sums[0]);
    } else {
      constexpr std::uint32_t kColumnPiece = 32 * kStepBytes / 16;
      const std::uint32_t rows = swizzled_lines(stage.a + warpgroup_ * 64 * kStepBytes);
      const std::uint32_t columns = swizzled_lines(stage.b);
#pragma unroll
      for (int piece = 0; piece < kNumPieces; ++piece) {
        const std::uint32_t of_piece = columns + static_cast<std::uint32_t>(piece) * kColumnPiece;
        std::int32_t p[kPiecePairs];
        std::int32_t m[kPiecePairs];
        wgmma_fence();
        wgmma_u8(p, rows, of_piece, 0);
        wgmma_u8(p, rows + kStep, of_piece + kStep, 1);
        wgmma_s8(m, rows + 2 * kStep, of_piece + 2 * kStep, 0);
        wgmma_s8(m, rows + 3 * kStep, of_piece + 3 * kStep, 1);
        wgmma_commit();
        const PieceScales scales(stage, 0, place_, piece);
        wgmma_wait<0>(p);
        wgmma_wait<0>(m);
        add_piece(
            piece, scales, [&](int i) { return p[i] + m[i]; }, sums[0]);
        add_piece(
            piece, scales, [&](int i) { return p[i] - m[i]; }, sums[kParts - 1]);
      }
    }
#endif
  }

 private:
  static constexpr std::uint32_t kStep = 32 / 16;  ///< of descriptors, from 32 bytes of k to the next

  /// The scales of a piece's pairs, in registers before its products are there.
  struct PieceScales {
    float rows[2];
    float2 columns[kPiecePairs / 4];

    __device__ PieceScales(const Stage<WgmmaCore>& stage, int block, const Place& place, int piece = 0) {
      const int first = piece * kPiecePairs;
      rows[0] = stage.a_scales[block][place.row_of(first)];
      rows[1] = stage.a_scales[block][place.row_of(first + 2)];
#pragma unroll
      for (int group = 0; group < kPiecePairs / 4; ++group)
        columns[group] = *reinterpret_cast<const float2*>(&stage.b_scales[block][place.col_of(first + 4 * group)]);
    }
    /// Those of the piece of the next rows, with the same columns.
    __device__ void next_rows(const Stage<WgmmaCore>& stage, int block, const Place& place) {
      rows[0] = stage.a_scales[block][place.row_of(kPiecePairs)];
      rows[1] = stage.a_scales[block][place.row_of(kPiecePairs + 2)];
    }
  };

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  /// Begins the products of a block of 64 elements.
  __device__ static __forceinline__ void multiply(std::int32_t (&d)[32], std::uint32_t rows, std::uint32_t columns) {
    wgmma_fence();
    wgmma_s8(d, rows, columns, 0);
    wgmma_s8(d, rows + kStep, columns + kStep, 1);
    wgmma_commit();
  }
#endif

  /// Adds the products of a piece: products(i) is that of its i-th pair.
  template <class Products>
  __device__ static __forceinline__ void add_piece(int piece, const PieceScales& scales, const Products& products,
                                                   float (&sums)[kPairs]) {
#pragma unroll
    for (int i = 0; i < kPiecePairs; ++i) {
      float& sum = sums[piece * kPiecePairs + i];
      const float2 columns = scales.columns[i / 4];
      sum = add_term(sum, products(i), scales.rows[i / 2 % 2], i % 2 == 0 ? columns.x : columns.y);
    }
  }

  int warpgroup_;  ///< the same in all threads of a warp, and known to be
  Place place_;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
__device__ __forceinline__ void copy_bulk(void* to, const void* from, std::uint32_t bytes, std::uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
#endif

/// The steps of all tiles of a block of threads, one stream through the stages: copies run ahead over the ends of tiles. One
/// thread begins them, a few bulk copies a step; warps wait for what they need and for nobody else.
template <class Core>
class Pipeline {
  static constexpr int kBlocks = kStepBlocks<Core::kParts>;

 public:
  /// @param place_of gives the first lines of A and B of the n-th tile of this block
  template <class PlaceOf>
  __device__ Pipeline(const DigitLines& a, const DigitLines& b, int steps_of_tile, int num_tiles, Shared<Core>& shared,
                      const PlaceOf& place_of)
      : a_(a), b_(b), steps_of_tile_(steps_of_tile), num_steps_(steps_of_tile * num_tiles), shared_(shared) {
    if (threadIdx.x == 0) {
      for (int stage = 0; stage < Core::kStages; ++stage) {
        base::barrier_init(shared_address(&shared.full[stage]), 1);
        base::barrier_init(shared_address(&shared.empty[stage]), kThreads / 32);
      }
      base::barrier_init_fence();
      shared.ahead = {};
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int step = 0; step < Core::kStages - 1; ++step) begin_copies(place_of);
    }
    __syncwarp();
  }

  /// Adds all blocks of the next tile.
  template <class PlaceOf>
  __device__ __forceinline__ void sum_tile(const PlaceOf& place_of, float (&sums)[Core::kParts][Core::kPairs]) {
    const Core core;
#pragma unroll 1
    for (int step = 0; step < steps_of_tile_; ++step) {
      base::barrier_wait(shared_address(&shared_.full[stage_]), parity_);
      core.add_step(shared_.stages[stage_], sums);
      __syncwarp();
      if (lane() == 0) base::barrier_arrive(shared_address(&shared_.empty[stage_]));
      if (threadIdx.x == 0) begin_copies(place_of);  // into the stage of the step before this one
      __syncwarp();
      if (++stage_ == Core::kStages) {
        stage_ = 0;
        parity_ ^= 1;
      }
    }
  }

 private:
  /// Thread 0: begins the copies of the next step that has none yet.
  template <class PlaceOf>
  __device__ __forceinline__ void begin_copies(const PlaceOf& place_of) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    Ahead& ahead = shared_.ahead;
    const int next = ahead.next;
    if (next >= num_steps_) return;
    const int step = ahead.step;
    if (step == 0) place_of(ahead.tile, ahead.a_line, ahead.b_line);
    const int stage = next % Core::kStages;
    if (next >= Core::kStages)
      base::barrier_wait(shared_address(&shared_.empty[stage]), (next / Core::kStages - 1) & 1);
    Stage<Core>& to = shared_.stages[stage];
    const std::uint32_t barrier = shared_address(&shared_.full[stage]);
    constexpr std::uint32_t kBytesA = Core::kRows * kStepBytes;
    constexpr std::uint32_t kBytesB = Core::kCols * kStepBytes;
    base::barrier_arrive_expect(barrier, kBytesA + kBytesB + kBlocks * 4 * (Core::kRows + Core::kCols));
    copy_bulk(to.a, a_.digits_of(step, ahead.a_line), kBytesA, barrier);
    copy_bulk(to.b, b_.digits_of(step, ahead.b_line), kBytesB, barrier);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      copy_bulk(to.a_scales[block], a_.scales_of(step * kBlocks + block, ahead.a_line), 4 * Core::kRows, barrier);
      copy_bulk(to.b_scales[block], b_.scales_of(step * kBlocks + block, ahead.b_line), 4 * Core::kCols, barrier);
    }
    ahead.next = next + 1;
    ahead.step = step + 1 == steps_of_tile_ ? 0 : step + 1;
    ahead.tile += step + 1 == steps_of_tile_ ? 1 : 0;
#endif
  }

  const DigitLines& a_;
  const DigitLines& b_;
  const int steps_of_tile_;
  const int num_steps_;
  Shared<Core>& shared_;
  int stage_ = 0;
  std::uint32_t parity_ = 0;
};

}  // namespace kizami::certify::second_look
