// SPDX-License-Identifier: MIT
// AVX-512 VNNI: vpdpbusd adds four products (unsigned byte times signed byte) to each INT32 lane, without saturation.
// A is made unsigned by adding 128 (xor 0x80) while packing. Modulo 2^32
//   sum_k (a + 128) b = sum_k a b + 128 sum_k b,
// so each column of acc starts at correction(j) = -128 sum_k b(j, k). The raw sum may wrap; the corrected one is exact
// modulo 2^32 all the same. Padding: a = 0 is packed as 128, but the b beside it is 0.
//
// Tile 48 x 8 (three vectors of 16 rows): 24 accumulators, 3 vectors of A, 1 broadcast of B = 28 of 32 registers.
// Disassembly (g++ 12, -O3): the inner loop, unrolled four times, holds 96 vpdpbusd, 12 loads of A, 32 vpbroadcastd
// from memory, 12 prefetches, and neither a spill nor a register move. Per step of 4 in k that is 24 vpdpbusd on ports
// 0 and 5 (12 clocks) against 11 loads on ports 2 and 3 (5.5 clocks) and 38 issued instructions of the 48 that 12
// clocks allow. Measured alone, the tile reaches 0.96 of the two-port peak; the other tiles tried are in
// docs/perf/cpu_int8.md.
#include "engines/cpu_simd/micro_kernel.hpp"

#if defined(__x86_64__)

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC bug 105593: its own _mm512_undefined_epi32
#endif
#include <immintrin.h>

#include <cstring>

#include "engines/cpu_simd/symmetric_residue.hpp"

// Function by function, so that no inline function of a header is compiled for AVX-512 and then chosen by the linker.
#define KIZAMI_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))

namespace kizami::engines {
namespace {

constexpr int kLanes = 16;
constexpr int kTileVectors = 3;
constexpr int kTileRows = kTileVectors * kLanes;
constexpr int kTileCols = 8;
constexpr int kGroup = 4;  // bytes of k per lane
static_assert(kTileRows * kTileCols <= kMaxTileElems);

/// Steps of k ahead that A is prefetched into L1: it streams from L2, B stays in L1. See docs/perf/cpu_int8.md.
constexpr int kPrefetchSteps = 8;

/// Transposes 4 rows of 64 bytes into 16 groups of 4 x 4 bytes: group g at packed + g * group_stride.
KIZAMI_VNNI inline void transpose_4x64(__m512i x0, __m512i x1, __m512i x2, __m512i x3, std::int64_t group_stride,
                                       std::byte* packed) {
  const __m512i lo01 = _mm512_unpacklo_epi32(x0, x1);
  const __m512i hi01 = _mm512_unpackhi_epi32(x0, x1);
  const __m512i lo23 = _mm512_unpacklo_epi32(x2, x3);
  const __m512i hi23 = _mm512_unpackhi_epi32(x2, x3);
  const __m512i y[4] = {_mm512_unpacklo_epi64(lo01, lo23), _mm512_unpackhi_epi64(lo01, lo23),
                        _mm512_unpacklo_epi64(hi01, hi23), _mm512_unpackhi_epi64(hi01, hi23)};
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {  // 128-bit lane q of y[c] is group 4 q + c of the four rows
    std::byte* const at = packed + c * group_stride;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at), _mm512_castsi512_si128(y[c]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at + 4 * group_stride), _mm512_extracti32x4_epi32(y[c], 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at + 8 * group_stride), _mm512_extracti32x4_epi32(y[c], 2));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at + 12 * group_stride), _mm512_extracti32x4_epi32(y[c], 3));
  }
}

/// Packs panel_rows rows as [k / 4][panel_rows][4]; xors every byte with `flip`; writes the sum of each row unless
/// null.
/// @exact a row's sum is at most 2^17 * 128 = 2^24.
KIZAMI_VNNI void pack(const std::int8_t* rows, std::int64_t row_stride, int num_rows, int panel_rows,
                      std::int64_t k_bytes, std::uint8_t flip, std::byte* packed, std::int32_t* row_sums) {
  alignas(64) static constexpr std::int8_t kZeros[kPackStep] = {};
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  const __m512i ones = _mm512_set1_epi8(1);
  for (int r = 0; r < panel_rows; r += 4) {
    const std::int8_t* row[4];
    std::int64_t step[4];
    for (int i = 0; i < 4; ++i) {
      const bool exists = r + i < num_rows;
      row[i] = exists ? rows + (r + i) * row_stride : kZeros;
      step[i] = exists ? kPackStep : 0;
    }
    __m512i sums[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
    std::byte* to = packed + r * kGroup;
    for (std::int64_t k = 0; k < k_bytes; k += kPackStep) {
      __m512i x[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        x[i] = _mm512_loadu_si512(row[i]);
        row[i] += step[i];
        if (row_sums != nullptr) sums[i] = _mm512_dpbusd_epi32(sums[i], ones, x[i]);
        x[i] = _mm512_xor_si512(x[i], flips);
      }
      transpose_4x64(x[0], x[1], x[2], x[3], std::int64_t{panel_rows} * kGroup, to);
      to += panel_rows * kPackStep;
    }
    if (row_sums != nullptr) {
      for (int i = 0; i < 4; ++i) row_sums[r + i] = _mm512_reduce_add_epi32(sums[i]);
    }
  }
}

KIZAMI_VNNI void pack_a(const std::int8_t* rows, std::int64_t row_stride, int num_rows, std::int64_t k_bytes,
                        std::byte* packed) {
  pack(rows, row_stride, num_rows, kTileRows, k_bytes, 0x80, packed, nullptr);
}

KIZAMI_VNNI void pack_b(const std::int8_t* rows, std::int64_t row_stride, int num_rows, std::int64_t k_bytes,
                        std::byte* packed, std::int32_t* correction) {
  pack(rows, row_stride, num_rows, kTileCols, k_bytes, 0, packed, correction);
  for (int j = 0; j < kTileCols; ++j) {  // modulo 2^32: -128 times a sum of -2^24 is 2^31
    correction[j] = static_cast<std::int32_t>(std::uint32_t{0} - 128U * static_cast<std::uint32_t>(correction[j]));
  }
}

/// @shape packed_a: [num_groups][kTileVectors][16 rows][4], packed_b: [num_groups][kTileCols][4], acc:
/// [kTileCols][kTileRows]
template <int kVectors, int kCols>
KIZAMI_VNNI void multiply_tile(std::int64_t num_groups, const std::byte* packed_a, const std::byte* packed_b,
                               const std::int32_t* correction, bool add, std::int32_t* acc) {
  __m512i sum[kCols][kVectors];
#pragma GCC unroll 8
  for (int j = 0; j < kCols; ++j) {
    const __m512i start = _mm512_set1_epi32(correction[j]);
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) {
      sum[j][v] = add ? _mm512_add_epi32(start, _mm512_load_si512(acc + j * kTileRows + v * kLanes)) : start;
    }
  }
#pragma GCC unroll 4
  for (std::int64_t g = 0; g < num_groups; ++g) {
    __m512i a[kVectors];
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) {
      a[v] = _mm512_loadu_si512(packed_a + v * 64);
      _mm_prefetch(reinterpret_cast<const char*>(packed_a) + kPrefetchSteps * kTileRows * kGroup + v * 64, _MM_HINT_T0);
    }
#pragma GCC unroll 8
    for (int j = 0; j < kCols; ++j) {
      std::int32_t group;  // four consecutive k of column j
      std::memcpy(&group, packed_b + j * kGroup, kGroup);
      __m512i b = _mm512_set1_epi32(group);
      // Keeps the broadcast in a register: one load for three products instead of an embedded broadcast in each.
      asm("" : "+v"(b));
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) sum[j][v] = _mm512_dpbusd_epi32(sum[j][v], a[v], b);
    }
    packed_a += kTileRows * kGroup;
    packed_b += kTileCols * kGroup;
  }
#pragma GCC unroll 8
  for (int j = 0; j < kCols; ++j) {
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) _mm512_store_si512(acc + j * kTileRows + v * kLanes, sum[j][v]);
  }
}

using MultiplyTile = void (*)(std::int64_t, const std::byte*, const std::byte*, const std::int32_t*, bool,
                              std::int32_t*);
constexpr MultiplyTile kMultiply[kTileVectors][kTileCols] = {
    {multiply_tile<1, 1>, multiply_tile<1, 2>, multiply_tile<1, 3>, multiply_tile<1, 4>, multiply_tile<1, 5>,
     multiply_tile<1, 6>, multiply_tile<1, 7>, multiply_tile<1, 8>},
    {multiply_tile<2, 1>, multiply_tile<2, 2>, multiply_tile<2, 3>, multiply_tile<2, 4>, multiply_tile<2, 5>,
     multiply_tile<2, 6>, multiply_tile<2, 7>, multiply_tile<2, 8>},
    {multiply_tile<3, 1>, multiply_tile<3, 2>, multiply_tile<3, 3>, multiply_tile<3, 4>, multiply_tile<3, 5>,
     multiply_tile<3, 6>, multiply_tile<3, 7>, multiply_tile<3, 8>},
};

void multiply(int num_rows, int num_cols, std::int64_t num_k, const std::byte* packed_a, const std::byte* packed_b,
              const std::int32_t* correction, bool add, std::int32_t* acc) {
  kMultiply[(num_rows - 1) / kLanes][num_cols - 1]((num_k + kGroup - 1) / kGroup, packed_a, packed_b, correction, add,
                                                   acc);
}

KIZAMI_VNNI void reduce(const std::int32_t* acc, int num_rows, int num_cols, int p, bool add, std::int8_t* c,
                        std::int64_t c_col_stride) {
  const ResidueConstants constants = residue_constants(p);
  const __m512i modulus = _mm512_set1_epi32(constants.p);
  const __m512i multiplier = _mm512_set1_epi32(constants.multiplier);
  const __m512i top = _mm512_set1_epi32(constants.top);
  constexpr __mmask16 kOddLanes = 0xAAAA;
  for (int i = 0; i < num_rows; i += kLanes) {
    const int num_lanes = num_rows - i < kLanes ? num_rows - i : kLanes;
    const auto lanes = static_cast<__mmask16>((1U << num_lanes) - 1);
    for (int j = 0; j < num_cols; ++j) {
      std::int8_t* const to = c + j * c_col_stride + i;
      __m512i x = _mm512_load_si512(acc + j * kTileRows + i);
      if (add) x = _mm512_add_epi32(x, _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(lanes, to)));
      const __m512i even = _mm512_srli_epi64(_mm512_mul_epi32(x, multiplier), 32);
      const __m512i odd = _mm512_mul_epi32(_mm512_srli_epi64(x, 32), multiplier);
      const __m512i q = _mm512_mask_mov_epi32(even, kOddLanes, odd);
      __m512i r = _mm512_sub_epi32(x, _mm512_mullo_epi32(q, modulus));
      r = _mm512_mask_sub_epi32(r, _mm512_cmpgt_epi32_mask(r, top), r, modulus);
      _mm_mask_storeu_epi8(to, lanes, _mm512_cvtepi32_epi8(r));
    }
  }
}

}  // namespace

MicroKernel avx512_vnni_kernel() {
  __builtin_cpu_init();
  const bool is_supported = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                            __builtin_cpu_supports("avx512vnni");
  return {.name = "avx512_vnni",
          .isa = Isa::kAvx512Vnni,
          .is_supported = is_supported,
          .tile_rows = kTileRows,
          .tile_cols = kTileCols,
          .packed_bytes = 1,
          .macs_per_second = 250e9,
          .pack_a = pack_a,
          .pack_b = pack_b,
          .multiply = multiply,
          .reduce = reduce};
}

}  // namespace kizami::engines

#endif  // x86-64
