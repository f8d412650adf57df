// SPDX-License-Identifier: MIT
// Products of digits by mma.sync m16n8k32, for devices from sm_80 on. A block of threads owns a tile of 192 x 128 pairs,
// and a warp 64 x 32 of it; half as many rows for complex types, whose pairs have two sums. Where a block has less than
// 138 KB of shared memory (8.6, 8.9, 12.x) its tile is half as wide.
//
// Complex: with the digits r, s of |re| and |im|, the products
//   P = sum (r + s)(r' + s') of bytes without sign,   M = sum (r - s)(r' - s') of bytes with sign
// give twice those of both parts exactly: P + M = 2 sum (r r' + s s'), P - M = 2 sum (r s' + s r'); two products for
// four.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "base/load_matrices.cuh"
#include "certify/device_block_sums.cuh"

namespace kizami::certify::second_look {

#define KIZAMI_MMA(type, from)                                 \
  asm("mma.sync.aligned.m16n8k32.row.col.s32." type "." type   \
      ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "              \
      "{%8, %9}, " from ";"                                    \
      : "+r"(acc[0]), "+r"(acc[1]), "+r"(acc[2]), "+r"(acc[3]) \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(0))

/// acc = 16 x 32 bytes times 32 x 8 bytes, and acc += the next ones.
template <bool kIsSigned, bool kAdds>
__device__ inline void multiply(std::int32_t (&acc)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                std::uint32_t b1) {
  if constexpr (kIsSigned && kAdds) KIZAMI_MMA("s8", "{%0, %1, %2, %3}");
  if constexpr (kIsSigned && !kAdds) KIZAMI_MMA("s8", "{%10, %10, %10, %10}");
  if constexpr (!kIsSigned && kAdds) KIZAMI_MMA("u8", "{%0, %1, %2, %3}");
  if constexpr (!kIsSigned && !kAdds) KIZAMI_MMA("u8", "{%10, %10, %10, %10}");
}
#undef KIZAMI_MMA

template <int parts, bool kIsNarrow = false>
struct MmaSyncCore {
  static constexpr int kParts = parts;
  static constexpr int kStages = kIsNarrow && parts == 1 ? 2 : 3;
  static constexpr bool kIsWgmma = false;
  static constexpr int kThreads = second_look::kThreads;
  static constexpr int kBlockThreads = kThreads;
  static constexpr int kWarpRows = 64 / kParts;
  static constexpr int kWarpCols = kIsNarrow ? 16 : 32;
  static constexpr int kWarpsDown = 3;
  static constexpr int kRows = kWarpsDown * kWarpRows;                  ///< lines of A
  static constexpr int kCols = kThreads / 32 / kWarpsDown * kWarpCols;  ///< lines of B
  static constexpr int kStrips = kWarpRows / 16;                        ///< of mma.sync
  static constexpr int kColumns = kWarpCols / 8;                        ///< likewise
  static constexpr int kPairs = kWarpRows * kWarpCols / 32;  ///< of a thread: (strip * kColumns + column) * 4 + element

  /// Place of a thread's pairs in a tile, of the elements that mma.sync m16n8k32 gives a lane.
  struct Place {
    int warp_row;
    int warp_col;

    __device__ Place() {
      const int warp = static_cast<int>(threadIdx.x) / 32;
      warp_row = warp % kWarpsDown * kWarpRows;
      warp_col = warp / kWarpsDown * kWarpCols;
    }
    [[nodiscard]] __device__ int first_row() const { return warp_row + lane() / 4; }
    [[nodiscard]] __device__ int first_col() const { return warp_col + lane() % 4 * 2; }
    [[nodiscard]] __device__ int row_of(int pair) const {
      return first_row() + pair / (4 * kColumns) * 16 + (pair >> 1 & 1) * 8;
    }
    [[nodiscard]] __device__ int col_of(int pair) const { return first_col() + pair / 4 % kColumns * 8 + (pair & 1); }
  };

  __device__ static __forceinline__ void sync() { __syncthreads(); }

  /// Adds the products of the blocks of a step to the sums of this thread's pairs, `blocks_of_term` at a time.
  __device__ __forceinline__ void add_step(const Stage<MmaSyncCore>& stage, int blocks_of_term,
                                           float (&sums)[kParts][kPairs]) const {
    if constexpr (kParts == 1) {
      if (blocks_of_term == 2) return add_term_of_blocks<2>(stage, 0, sums);
    }
#pragma unroll 1
    for (int block = 0; block < kStepBlocks<kParts>; ++block) add_term_of_blocks<1>(stage, block, sums);
  }

 private:
  template <int kBlocks>
  __device__ static __forceinline__ void add_term_of_blocks(const Stage<MmaSyncCore>& stage, int block,
                                                            float (&sums)[kParts][kPairs]) {
    const Place place;
    // The rows of a lane are those of one remainder by 8, so that a strip or a column more is a constant distance.
    const int swizzle = lane() % 8;
    const std::uint32_t a_rows = shared_address(stage.a) + (place.warp_row + lane() % 16) * kStepBytes;
    const std::uint32_t b_rows = shared_address(stage.b) + (place.warp_col + lane() % 8) * kStepBytes;
    constexpr int kHalves = 2 * kParts * kBlocks;
    std::uint32_t a[kStrips][kHalves][4];  // strips of 16 rows, 32 bytes at a time
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      const std::uint32_t at = a_rows + 16 * ((block * 4 + half * 2 + lane() / 16) ^ swizzle);
#pragma unroll
      for (int strip = 0; strip < kStrips; ++strip) base::load_matrices(a[strip][half], at + strip * 16 * kStepBytes);
    }
    float a_scales[2 * kStrips];
    const float* const of_rows = &stage.a_scales[block][scale_place(place.first_row())];
    const float* const of_cols = &stage.b_scales[block][scale_place(place.first_col())];
#pragma unroll
    for (int r = 0; r < 2 * kStrips; ++r) a_scales[r] = of_rows[r / 2 * 16 + r % 2 * 2];
#pragma unroll
    for (int column = 0; column < kColumns; ++column) {
      std::uint32_t b[kParts * kBlocks][4];
#pragma unroll
      for (int part = 0; part < kParts * kBlocks; ++part) {
        base::load_matrices(b[part],
                            b_rows + 16 * (((block + part) * 4 + lane() / 8) ^ swizzle) + column * 8 * kStepBytes);
      }
      const float2 b_scales = *reinterpret_cast<const float2*>(of_cols + column / 2 * 16 + column % 2 * 2);
#pragma unroll
      for (int strip = 0; strip < kStrips; ++strip) {
        std::int32_t acc[4];
        multiply<kParts == 1, false>(acc, a[strip][0], b[0][0], b[0][1]);
        multiply<kParts == 1, true>(acc, a[strip][1], b[0][2], b[0][3]);
        if constexpr (kBlocks == 2) {
          multiply<true, true>(acc, a[strip][2], b[1][0], b[1][1]);
          multiply<true, true>(acc, a[strip][3], b[1][2], b[1][3]);
        }
        std::int32_t other[4] = {};
        if constexpr (kParts == 2) {
          multiply<true, false>(other, a[strip][2], b[1][0], b[1][1]);
          multiply<true, true>(other, a[strip][3], b[1][2], b[1][3]);
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float of_a = a_scales[strip * 2 + e / 2];
          const float of_b = e % 2 == 0 ? b_scales.x : b_scales.y;
          const int pair = (strip * kColumns + column) * 4 + e;
          sums[0][pair] = add_term(sums[0][pair], acc[e] + other[e], of_a, of_b);
          if constexpr (kParts == 2) sums[1][pair] = add_term(sums[1][pair], acc[e] - other[e], of_a, of_b);
        }
      }
    }
  }
};

}  // namespace kizami::certify::second_look
