// SPDX-License-Identifier: MIT
// The portable kernels: bytes are widened to INT16 while packing, and pairs of products are added to INT32 lanes by
// ReorderWidenMulAccumulate (pmaddwd on x86, smlal on Arm). |a b| <= 2^14, so a pair fits INT16 x INT16 -> INT32
// without saturation (pmaddwd's only overflow needs two products of (-2^15)^2). Sums are modulo 2^32. This file is
// compiled once per target by Highway; highway_kernels() lists the results.
//
// Tiles, with accumulators + vectors of A + broadcast of B + product = registers:
//   AVX3 48 x 8: 24 + 3 + 1 + 1 = 29 of 32.  AVX2 16 x 6: 12 + 2 + 1 + 1 = 16 of 16.  NEON 8 x 4, two accumulators
//   each: 16 + 2 + 1 = 19 of 32.
// Disassembly (g++ 12, -O3) of the inner loops of AVX3 and AVX2: products, sums, broadcasts and loads only; no spill,
// no move.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "engines/cpu_simd/micro_kernel.hpp"
#include "engines/cpu_simd/symmetric_residue.hpp"

// Vectors of unknown size cannot form arrays. Anything below AVX2 or NEON is served by kernel_portable.cpp.
#define HWY_DISABLED_TARGETS                                                                                       \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_WASM | HWY_WASM_EMU256 | \
   HWY_PPC8)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engines/cpu_simd/kernels_highway.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include <hwy/highway.h>

// The baseline that Highway always compiles; it has no kernel here.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON

HWY_BEFORE_NAMESPACE();
namespace kizami::engines::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3
constexpr int kTileVectors = 3;
constexpr int kTileCols = 8;
constexpr double kMacsPerSecond = 60e9;
constexpr const char* kName = "avx512_int16";
constexpr Isa kIsa = Isa::kAvx512;
#elif HWY_TARGET == HWY_AVX2
constexpr int kTileVectors = 2;
constexpr int kTileCols = 6;
constexpr double kMacsPerSecond = 45e9;
constexpr const char* kName = "avx2_int16";
constexpr Isa kIsa = Isa::kAvx2;
#else
constexpr int kTileVectors = 2;
constexpr int kTileCols = 4;
constexpr double kMacsPerSecond = 15e9;  // unmeasured
constexpr const char* kName = "neon_int16";
constexpr Isa kIsa = Isa::kNeon;
#endif

using I32 = hn::ScalableTag<std::int32_t>;
using I16 = hn::Repartition<std::int16_t, I32>;
using VecI32 = hn::Vec<I32>;
using VecI16 = hn::Vec<I16>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(I32()));
constexpr int kTileRows = kTileVectors * kLanes;
constexpr int kGroup = 2;  // elements of k per INT32 lane
static_assert(kTileRows * kTileCols <= kMaxTileElems);
static_assert(kTileVectors <= 8 && kTileCols <= 8);  // loops over both are unrolled at most 8 times

/// Packs panel_rows rows, widened, as [k / 2][panel_rows][2].
/// Four rows of 8 elements are a 4 x 4 matrix of INT32 pairs, transposed in 128-bit vectors.
HWY_INLINE void pack(const std::int8_t* rows, std::int64_t row_stride, int num_rows, int panel_rows,
                     std::int64_t k_bytes, std::byte* packed) {
  constexpr int kStep = 8;
  const hn::CappedTag<std::int8_t, kStep> bytes;
  const hn::CappedTag<std::int16_t, kStep> words;
  const hn::CappedTag<std::int32_t, kStep / 2> pairs;
  const hn::CappedTag<std::int64_t, kStep / 4> quads;
  static constexpr std::int8_t kZeros[kStep] = {};
  const std::int64_t group_stride = std::int64_t{panel_rows} * kGroup * 2;  // bytes
  for (int r = 0; r < panel_rows; r += 4) {
    const std::int8_t* row[4];
    std::int64_t step[4];
    for (int i = 0; i < 4; ++i) {
      const bool exists = r + i < num_rows;
      row[i] = exists ? rows + (r + i) * row_stride : kZeros;
      step[i] = exists ? kStep : 0;
    }
    const std::size_t width =
        panel_rows - r >= 4 ? 16 : 4 * static_cast<std::size_t>(panel_rows - r);  // bytes per group
    std::byte* to = packed + r * kGroup * 2;
    for (std::int64_t k = 0; k < k_bytes; k += kStep) {
      const auto x0 = hn::BitCast(pairs, hn::PromoteTo(words, hn::LoadU(bytes, row[0])));
      const auto x1 = hn::BitCast(pairs, hn::PromoteTo(words, hn::LoadU(bytes, row[1])));
      const auto x2 = hn::BitCast(pairs, hn::PromoteTo(words, hn::LoadU(bytes, row[2])));
      const auto x3 = hn::BitCast(pairs, hn::PromoteTo(words, hn::LoadU(bytes, row[3])));
      for (int i = 0; i < 4; ++i) row[i] += step[i];
      const auto lo01 = hn::BitCast(quads, hn::InterleaveLower(pairs, x0, x1));
      const auto hi01 = hn::BitCast(quads, hn::InterleaveUpper(pairs, x0, x1));
      const auto lo23 = hn::BitCast(quads, hn::InterleaveLower(pairs, x2, x3));
      const auto hi23 = hn::BitCast(quads, hn::InterleaveUpper(pairs, x2, x3));
      HWY_ALIGN std::int64_t groups[4][2];
      hn::Store(hn::InterleaveLower(quads, lo01, lo23), quads, groups[0]);
      hn::Store(hn::InterleaveUpper(quads, lo01, lo23), quads, groups[1]);
      hn::Store(hn::InterleaveLower(quads, hi01, hi23), quads, groups[2]);
      hn::Store(hn::InterleaveUpper(quads, hi01, hi23), quads, groups[3]);
      if (width == 16) {
        for (int g = 0; g < 4; ++g) std::memcpy(to + g * group_stride, groups[g], 16);
      } else {
        for (int g = 0; g < 4; ++g) std::memcpy(to + g * group_stride, groups[g], width);
      }
      to += 4 * group_stride;
    }
  }
}

void pack_a(const std::int8_t* rows, std::int64_t row_stride, int num_rows, std::int64_t k_bytes, std::byte* packed) {
  pack(rows, row_stride, num_rows, kTileRows, k_bytes, packed);
}

void pack_b(const std::int8_t* rows, std::int64_t row_stride, int num_rows, std::int64_t k_bytes, std::byte* packed,
            std::int32_t* correction) {
  pack(rows, row_stride, num_rows, kTileCols, k_bytes, packed);
  for (int j = 0; j < kTileCols; ++j) correction[j] = 0;  // signed products need none
}

/// @shape packed_a: [num_groups][kTileRows][2], packed_b: [num_groups][kTileCols][2], acc: [kTileCols][kTileRows]
template <int kVectors, int kCols>
void multiply_tile(std::int64_t num_groups, const std::byte* packed_a, const std::byte* packed_b, bool add,
                   std::int32_t* acc) {
  const I32 i32;
  const I16 i16;
  // Targets differ in how they share the two products of a pair between the two sums; x86 leaves the second at zero,
  // and it takes no register there. Starting from acc, rather than adding it at the end, also keeps g++ 12 from copying
  // every accumulator in each turn of the loop.
  VecI32 sum[kCols][kVectors];
  VecI32 sum_odd[kCols][kVectors];
  HWY_UNROLL(8)
  for (int j = 0; j < kCols; ++j) {
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      const VecI32 start = add ? hn::Load(i32, acc + j * kTileRows + v * kLanes) : hn::Zero(i32);
#if HWY_TARGET == HWY_NEON  // RearrangeToOddPlusEven adds neighbours of sum, then neighbours of sum_odd
      sum[j][v] = hn::InterleaveLower(i32, start, hn::Zero(i32));
      sum_odd[j][v] = hn::InterleaveUpper(i32, start, hn::Zero(i32));
#else
      sum[j][v] = start;
      sum_odd[j][v] = hn::Zero(i32);
#endif
    }
  }
  const auto* a_at = reinterpret_cast<const std::int16_t*>(packed_a);
  HWY_UNROLL(4)
  for (std::int64_t g = 0; g < num_groups; ++g) {
    VecI16 a[kVectors];
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) a[v] = hn::LoadU(i16, a_at + v * kLanes * kGroup);
    HWY_UNROLL(8)
    for (int j = 0; j < kCols; ++j) {
      std::int32_t pair;  // two consecutive k of column j
      std::memcpy(&pair, packed_b + j * 4, 4);
      const VecI16 b = hn::BitCast(i16, hn::Set(i32, pair));
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        sum[j][v] = hn::ReorderWidenMulAccumulate(i32, a[v], b, sum[j][v], sum_odd[j][v]);
      }
    }
    a_at += kTileRows * kGroup;
    packed_b += kTileCols * 4;
  }
  HWY_UNROLL(8)
  for (int j = 0; j < kCols; ++j) {
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(hn::RearrangeToOddPlusEven(sum[j][v], sum_odd[j][v]), i32, acc + j * kTileRows + v * kLanes);
    }
  }
}

using MultiplyTile = void (*)(std::int64_t, const std::byte*, const std::byte*, bool, std::int32_t*);

template <int kVectors, int kCols>
MultiplyTile select_cols(int num_cols) {
  if constexpr (kCols == 1) {
    return multiply_tile<kVectors, 1>;
  } else {
    return num_cols == kCols ? multiply_tile<kVectors, kCols> : select_cols<kVectors, kCols - 1>(num_cols);
  }
}

template <int kVectors>
MultiplyTile select_tile(int num_vectors, int num_cols) {
  if constexpr (kVectors == 1) {
    return select_cols<1, kTileCols>(num_cols);
  } else {
    return num_vectors == kVectors ? select_cols<kVectors, kTileCols>(num_cols)
                                   : select_tile<kVectors - 1>(num_vectors, num_cols);
  }
}

void multiply(int num_rows, int num_cols, std::int64_t num_k, const std::byte* packed_a, const std::byte* packed_b,
              const std::int32_t* /*correction*/, bool add, std::int32_t* acc) {
  const MultiplyTile tile = select_tile<kTileVectors>((num_rows + kLanes - 1) / kLanes, num_cols);
  tile((num_k + kGroup - 1) / kGroup, packed_a, packed_b, add, acc);
}

void reduce(const std::int32_t* acc, int num_rows, int num_cols, int p, bool add, std::int8_t* c,
            std::int64_t c_col_stride) {
  const ResidueConstants constants = residue_constants(p);
  const I32 i32;
  const hn::Repartition<std::uint64_t, I32> u64;
  const hn::Rebind<std::int8_t, I32> i8;
  const VecI32 modulus = hn::Set(i32, constants.p);
  const VecI32 multiplier = hn::Set(i32, constants.multiplier);
  const VecI32 top = hn::Set(i32, constants.top);
  const auto shift_down = [&](auto v) HWY_ATTR { return hn::BitCast(i32, hn::ShiftRight<32>(hn::BitCast(u64, v))); };
  for (int i = 0; i < num_rows; i += kLanes) {
    const auto num_lanes = static_cast<std::size_t>(num_rows - i < kLanes ? num_rows - i : kLanes);
    for (int j = 0; j < num_cols; ++j) {
      std::int8_t* const to = c + j * c_col_stride + i;
      // Elements beyond the last row belong to someone else: they are neither read nor written.
      HWY_ALIGN std::int8_t bytes[kLanes] = {};
      VecI32 x = hn::Load(i32, acc + j * kTileRows + i);
      if (add) {
        std::memcpy(bytes, to, num_lanes);
        x = hn::Add(x, hn::PromoteTo(i32, hn::Load(i8, bytes)));
      }
      const VecI32 even = shift_down(hn::MulEven(x, multiplier));
      const VecI32 odd =
          hn::BitCast(i32, hn::MulEven(shift_down(x), multiplier));  // INT64: the high half is the odd lane
      const VecI32 q = hn::OddEven(odd, even);
      VecI32 r = hn::Sub(x, hn::Mul(q, modulus));
      r = hn::Sub(r, hn::IfThenElseZero(hn::Gt(r, top), modulus));
      hn::Store(hn::DemoteTo(i8, r), i8, bytes);
      std::memcpy(to, bytes, num_lanes);
    }
  }
}

// A constant: a function here would be compiled for this target, and the list below is made on every processor.
constexpr MicroKernel kKernel{.name = kName,
                              .isa = kIsa,
                              .tile_rows = kTileRows,
                              .tile_cols = kTileCols,
                              .packed_bytes = 2,
                              .macs_per_second = kMacsPerSecond,
                              .pack_a = pack_a,
                              .pack_b = pack_b,
                              .multiply = multiply,
                              .reduce = reduce};

}  // namespace kizami::engines::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // a target with a kernel

#if HWY_ONCE

namespace kizami::engines {
namespace {

[[maybe_unused]] MicroKernel with_support(MicroKernel kernel, std::int64_t target) {
  kernel.is_supported = (hwy::SupportedTargets() & target) != 0;
  return kernel;
}

}  // namespace

std::vector<MicroKernel> highway_kernels() {
  return {
#if HWY_TARGETS & HWY_AVX3
    with_support(N_AVX3::kKernel, HWY_AVX3),
#endif
#if HWY_TARGETS & HWY_AVX2
        with_support(N_AVX2::kKernel, HWY_AVX2),
#endif
#if HWY_TARGETS & HWY_NEON
        with_support(N_NEON::kKernel, HWY_NEON),
#endif
  };
}

}  // namespace kizami::engines
#endif  // HWY_ONCE
