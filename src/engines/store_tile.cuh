// SPDX-License-Identifier: MIT
// From accumulators in registers to C. In the words of mma and wgmma a line of B (index j) is a row and a line of A
// (index i) is a column, so that neighbours in a thread's registers are neighbours along i, the contiguous index of C. A
// quad, four lanes with the same row, has 64 consecutive i of it in registers, 16 a lane:
//   LineOrder::kPermuted  a lane's 16 bytes are consecutive already, for the kernel has put line 16 x + 2 g + b of each
//                         64 into column 8 g + 2 x + b, which lane x holds;
//   LineOrder::kInOrder   lane x holds columns 8 g + 2 x + b, and the quad transposes.
// Either way lane x then stores the 16 bytes i = 16 x .. 16 x + 15, and the quad 64 bytes in a row. Bytes beyond m, and
// columns that do not begin on 16 bytes, are stored one by one. Nothing outside C is written.
#pragma once

#include <cstdint>

#include "engines/residue.cuh"
#include "engines/result_params.hpp"
#include "engines/tile_place.cuh"

namespace kizami::engines {

/// Sixteen bytes, in the order of memory.
struct SixteenBytes {
  std::uint32_t word[4];
};

/// Lane x of a quad gives words y = 0..3, each bytes {2x, 2x+1, 8+2x, 8+2x+1} of the y-th sixteen bytes; it gets the
/// x-th sixteen bytes in order.
__device__ __forceinline__ SixteenBytes transpose_quad(const SixteenBytes& mine, int lane) {
  const bool is_odd = (lane & 1) != 0;
  const bool is_upper = (lane & 2) != 0;
  // Lanes 2u and 2u+1 exchange: the even one keeps words 0 and 2, the odd one 1 and 3, and halves are put side by side.
  const std::uint32_t in_order = is_odd ? 0x1054U : 0x5410U;
  const std::uint32_t in_order_high = is_odd ? 0x3276U : 0x7632U;
  std::uint32_t low[2];   // bytes 4u .. 4u+3 of sixteen y = 2 h + (lane & 1), h = 0 and 1
  std::uint32_t high[2];  // bytes 8 + 4u .. 8 + 4u+3
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const std::uint32_t keep = is_odd ? mine.word[2 * h + 1] : mine.word[2 * h];
    const std::uint32_t give = is_odd ? mine.word[2 * h] : mine.word[2 * h + 1];
    const std::uint32_t got = __shfl_xor_sync(kWholeWarp, give, 1);
    low[h] = __byte_perm(keep, got, in_order);
    high[h] = __byte_perm(keep, got, in_order_high);
  }
  // Lanes x and x ^ 2 exchange: the lower one keeps h = 0, the upper one h = 1.
  const std::uint32_t keep_low = is_upper ? low[1] : low[0];
  const std::uint32_t keep_high = is_upper ? high[1] : high[0];
  const std::uint32_t got_low = __shfl_xor_sync(kWholeWarp, is_upper ? low[0] : low[1], 2);
  const std::uint32_t got_high = __shfl_xor_sync(kWholeWarp, is_upper ? high[0] : high[1], 2);
  return {{is_upper ? got_low : keep_low, is_upper ? keep_low : got_low, is_upper ? got_high : keep_high,
           is_upper ? keep_high : got_high}};
}

/// Stores the first `num_valid` of sixteen bytes, one by one.
__device__ __forceinline__ void store_bytes(std::int8_t* to, SixteenBytes bytes, int num_valid) {
#pragma unroll 1
  for (int e = 0; e < 16 && e < num_valid; ++e) {
    to[e] = static_cast<std::int8_t>(bytes.word[0] & 0xFFU);
    bytes.word[0] = __funnelshift_r(bytes.word[0], bytes.word[1], 8);
    bytes.word[1] = __funnelshift_r(bytes.word[1], bytes.word[2], 8);
    bytes.word[2] = __funnelshift_r(bytes.word[2], bytes.word[3], 8);
    bytes.word[3] >>= 8;
  }
}

/// Planes that a kernel makes (product::Pointers::num_products).
template <product::Epilogue kEpilogue>
[[nodiscard]] __device__ __forceinline__ int num_planes_of(const ResultParams& params) {
  if (params.num_products_at == nullptr) return params.num_products;
  const int wanted = *params.num_products_at;
  if constexpr (kEpilogue == product::Epilogue::kCompare) return wanted > 0 ? params.num_products : 0;
  return max(0, min(params.num_products, wanted));
}

/// The constants of a plane's modulus.
[[nodiscard]] __device__ __forceinline__ const ModulusConstants& modulus_of_plane(const ResultParams& params,
                                                                                  int plane) {
  return params.moduli[params.planes_of_modulus == 1 ? plane : plane / params.planes_of_modulus];
}

/// Stores 64 rows (lines j_first.. of B) by kTileI columns (lines i_first.. of A) that a warpgroup holds, or 16 rows
/// that a warp holds.
/// @param kIsUnsigned  sums have no sign
/// @range all 128 threads of the warpgroup take part, or all 32 of the warp; thread: the number within it
template <int kTileI, LineOrder kOrder, product::Epilogue kEpilogue, bool kIsUnsigned = false>
__device__ __forceinline__ void store_tile(const std::int32_t (&acc)[kTileI / 2], const TileOrder& order,
                                           const ResultParams& params, int plane, int i_first, int j_first,
                                           int thread) {
  static_assert(kTileI % 64 == 0);
  static_assert(kOrder == LineOrder::kInOrder || kEpilogue != product::Epilogue::kStoreAcc);
  const int lane = thread % 32;
  const int x = lane % 4;
  const ModulusConstants modulus = modulus_of_plane(params, plane);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int j = j_first + thread / 32 * 16 + h * 8 + lane / 4;
    const bool has_row = j < order.n;
    const std::int64_t row = plane * params.c_plane_stride + j * params.c_col_stride;
    if constexpr (kEpilogue == product::Epilogue::kStoreAcc) {
      auto* const to = static_cast<std::int32_t*>(params.c) + row;
      if (!has_row) continue;
#pragma unroll
      for (int g = 0; g < kTileI / 8; ++g) {
        const int i = i_first + 8 * g + 2 * x;
        if (params.has_aligned_c != 0 && i + 1 < order.m) {
          *reinterpret_cast<int2*>(to + i) = make_int2(acc[4 * g + 2 * h], acc[4 * g + 2 * h + 1]);
        } else {
          if (i < order.m) to[i] = acc[4 * g + 2 * h];
          if (i + 1 < order.m) to[i + 1] = acc[4 * g + 2 * h + 1];
        }
      }
    } else {
      // This lane's part of row j.
      const int i_lane = i_first + 16 * x;
      auto* const to = static_cast<std::int8_t*>(params.c) + row + i_lane;
      const int num_valid = has_row ? order.m - i_lane : 0;
      const int num_aligned = params.has_aligned_c != 0 ? num_valid : 0;
#pragma unroll
      for (int i64 = 0; i64 < kTileI / 64; ++i64) {
        std::int32_t r[16];
#pragma unroll
        for (int e = 0; e < 16; ++e) {
          const int g = e / 2;
          r[e] = acc[i64 * 32 + 4 * g + 2 * h + e % 2];
          if constexpr (kEpilogue == product::Epilogue::kReduceAdd) {
            // Read before any lane of the quad stores here: the exchange below is between.
            const int of_lane = kOrder == LineOrder::kInOrder ? 8 * g + 2 * x + e % 2 - 16 * x : e;
            const int i = i64 * 64 + of_lane;  // from this lane's first
            if (has_row && i < num_valid) {
              r[e] = static_cast<std::int32_t>(static_cast<std::uint32_t>(r[e]) + static_cast<std::uint32_t>(to[i]));
            }
          }
        }
        take_residues<!kIsUnsigned>(modulus, r);
        SixteenBytes bytes;
#pragma unroll
        for (int y = 0; y < 4; ++y) bytes.word[y] = pack_bytes(r[4 * y], r[4 * y + 1], r[4 * y + 2], r[4 * y + 3]);
        if constexpr (kOrder == LineOrder::kInOrder) bytes = transpose_quad(bytes, lane);
        if (num_aligned >= i64 * 64 + 16) {
          *reinterpret_cast<uint4*>(to + i64 * 64) =
              make_uint4(bytes.word[0], bytes.word[1], bytes.word[2], bytes.word[3]);
        } else {
          store_bytes(to + i64 * 64, bytes, num_valid - i64 * 64);
        }
      }
    }
  }
}

}  // namespace kizami::engines
