// SPDX-License-Identifier: MIT
// The split of FP32 operands on the device. A scale is a maximum over a line, so every element is looked at twice; as many as
// fit are held in registers in between. Two ways, by what is contiguous in memory:
//   along the lines   1, 2, 4 or 8 warps of a CTA take a line, four terms a lane at a time;
//   across them       a cluster takes 32 lines. A lane has a line, a warp a unit of 32 lines x 32 terms, which it exchanges in
//                     shared memory so that whole blocks of 128 bytes go out.
// Where lines are short both operands are one launch: the first blocks are of A, the others of B. Long lines across memory have
// a launch of their own, in which a lane holds twice as much and half as many CTAs share a multiprocessor.
//
// The second split of a call is the same kernel in fewer CTAs, each of which takes blocks until none is left: it reads the
// reports of the first split, and ends if its planes will do.
#pragma once

#include <cooperative_groups.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "num/ec_range.hpp"
#include "num/line_stats.hpp"
#include "split/device_ec_split.hpp"

namespace kizami::split {
namespace {

using base::ceil_div;
using product::EcFormat;

constexpr int kWarps = 8;
constexpr int kThreads = 32 * kWarps;
constexpr int kHeldQuads = 8;  ///< of four elements, a lane holds along the lines
constexpr int kUnit = 32;      ///< lines, and terms, of a unit
constexpr int kMostCluster = 8;
constexpr unsigned kWholeWarp = 0xFFFFFFFFU;
constexpr std::uint32_t kSignBit = 0x80000000U;

/// Strides in FP32 numbers.
struct Operand {
  const float* data;
  std::int64_t num_lines;  ///< that are made
  std::int64_t length;     ///< terms of a line
  std::int64_t line_stride;
  std::int64_t inner_stride;  ///< from one element to the next: complex types have two terms an element
  std::int8_t* planes;
  std::int64_t row_stride;
  std::int32_t* scales;
  num::LineStats* stats;
  std::int32_t forms;  ///< lines that are made of each complex line: 2 of A, 1 of B
  std::int32_t is_conjugated;
  std::int32_t is_across;
  std::int32_t is_aligned;      ///< along: all of a line's terms can be read four at a time
  std::int32_t warps_per_line;  ///< along
};

template <class T>
struct Job {
  Operand a;
  Operand b;
  unsigned blocks_of_a;
  unsigned num_blocks;
  Factor<T> alpha;
  EcObservation observation;  ///< its reports are those of this launch
  EcDecision decision;        ///< state null: of a first split
  std::int32_t writes_state;
};

/// What a lane has seen of its part of a line.
struct Counts {
  std::uint32_t dense = 0;
  std::uint32_t not_full = 0;
};

struct Shared {
  float largest[kWarps][kUnit];  ///< of a warp's part of a line
  std::uint32_t smallest[kWarps][kUnit];
  Counts counts[kWarps][kUnit];
  float parts[kMostCluster][kUnit];   ///< across: of a CTA's part of a line, from every CTA of the cluster
  uint4 exchange[kWarps][kUnit * 8];  ///< across: 16 bytes p of line l of a block at 8 l + (p ^ l % 8)
  std::uint32_t report;               ///< bits of the EcReport of this block
};

/// threadIdx.x, read again wherever it is asked for: what follows from it is not to be kept in registers from one block of the
/// loop in split_ec_smxx() to the next.
[[nodiscard]] __device__ int thread_index() {
  int index = 0;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(index));
  return index;
}

/// The larger magnitude; NaN if either is.
[[nodiscard]] __device__ float larger(float a, float b) {
  float result = 0;
  asm("max.NaN.f32 %0, %1, %2;\n" : "=f"(result) : "f"(fabsf(a)), "f"(fabsf(b)));
  return result;
}

/// The magnitude of an element that is not zero as an integer that orders like it; zeros are the largest of all.
[[nodiscard]] __device__ std::uint32_t small_code(float x) { return (__float_as_uint(x) << 1) - 1; }
constexpr std::uint32_t kAllZero = 0xFFFFFFFFU;

/// ec_scale().
template <EcFormat kFormat>
[[nodiscard]] __device__ std::int32_t scale_of(float largest) {
  const std::uint32_t max_bits = __float_as_uint(largest);
  if (max_bits >= 0x7F800000U) return num::kSkipLine;
  if (max_bits == 0) return 0;
  const int exponent = max_bits >> 23 != 0 ? static_cast<int>(max_bits >> 23) - 127 : 31 - __clz(max_bits) - 149;
  return product::ec_top_exponent(kFormat) - exponent;
}

/// 2^scale in two factors, so that x times both is rounded at most once.
struct Scaling {
  float first;
  float second;

  explicit __device__ Scaling(std::int32_t scale) {
    if (scale == num::kSkipLine) {
      first = second = 0;
      return;
    }
    const int most = min(scale, 126);
    first = __int_as_float((most + 127) << 23);
    second = __int_as_float((scale - most + 127) << 23);
  }
  [[nodiscard]] __device__ float apply(float x) const { return __fmul_rn(__fmul_rn(x, first), second); }
};

/// hi and lo of four elements, 8 or 16 bytes each.
template <EcFormat kFormat>
struct Quad {
  using Bytes = std::conditional_t<kFormat == EcFormat::kF16, uint2, uint4>;
  Bytes hi;
  Bytes lo;
};

[[nodiscard]] __device__ std::uint32_t tf32_bits(float y) {
  std::uint32_t bits = 0;
  asm("cvt.rna.tf32.f32 %0, %1;\n" : "=r"(bits) : "f"(y));
  return bits & 0xFFFFE000U;
}
[[nodiscard]] __device__ std::uint32_t bits_of(__half2 x) {
  std::uint32_t bits = 0;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/// What a lane sees of elements while it splits them: how many are dense, and the least |hi|, which tells whether it is worth
/// while to look at them again (see look_again()). FP16: two of each, for pairs of elements.
template <EcFormat kFormat>
struct Glance {
  using Pair = std::conditional_t<kFormat == EcFormat::kF16, __half2, float>;
  Pair limit;
  Pair least;
  Pair dense;

  explicit __device__ Glance(const num::EcRangeLimits& limits) {
    if constexpr (kFormat == EcFormat::kF16) {
      limit = __float2half2_rn(limits.dense);
      least = __float2half2_rn(65504.0F);
      dense = __float2half2_rn(0.0F);
    } else {
      limit = limits.dense;
      least = __uint_as_float(0x7F7FFFFF);
      dense = 0;
    }
  }
  __device__ void see(Pair hi) {
    if constexpr (kFormat == EcFormat::kF16) {
      const __half2 magnitude = __habs2(hi);
      least = __hmin2(least, magnitude);
      dense = __hadd2(dense, __hge2(magnitude, limit));
    } else {
      least = fminf(least, fabsf(hi));
      dense += fabsf(hi) >= limit ? 1.0F : 0.0F;
    }
  }
  /// The elements that were dense since the last call, of which there may be 2048 at most.
  [[nodiscard]] __device__ std::uint32_t take_dense() {
    std::uint32_t count = 0;
    if constexpr (kFormat == EcFormat::kF16) {
      count = static_cast<std::uint32_t>(__low2float(dense) + __high2float(dense));
      dense = __float2half2_rn(0.0F);
    } else {
      count = static_cast<std::uint32_t>(dense);
      dense = 0;
    }
    return count;
  }
  /// Whether no element is zero or below the limit of fine ones: |y| >= |hi| (1 - 2^-11).
  [[nodiscard]] __device__ bool is_fine(const num::EcRangeLimits& limits) const {
    float low = 0;
    if constexpr (kFormat == EcFormat::kF16) {
      low = fminf(__low2float(least), __high2float(least));
    } else {
      low = least;
    }
    return low * (1.0F - 0x1p-10F) >= limits.fine;
  }
};

/// Splits four elements that are scaled already.
template <EcFormat kFormat>
[[nodiscard]] __device__ Quad<kFormat> split_four(const float (&y)[4], Glance<kFormat>& glance) {
  Quad<kFormat> out;
  if constexpr (kFormat == EcFormat::kF16) {
    std::uint32_t hi_bits[2];
    std::uint32_t lo_bits[2];
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      const __half2 hi = __floats2half2_rn(y[2 * p], y[2 * p + 1]);
      glance.see(hi);
      const float first = __fsub_rn(y[2 * p], __low2float(hi));
      const float second = __fsub_rn(y[2 * p + 1], __high2float(hi));
      const __half2 lo = __floats2half2_rn(first, second);
      hi_bits[p] = bits_of(hi);
      lo_bits[p] = bits_of(lo);
    }
    out.hi = make_uint2(hi_bits[0], hi_bits[1]);
    out.lo = make_uint2(lo_bits[0], lo_bits[1]);
  } else {
    std::uint32_t hi[4];
    std::uint32_t lo[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      hi[e] = tf32_bits(y[e]);
      glance.see(__uint_as_float(hi[e]));
      lo[e] = tf32_bits(__fsub_rn(y[e], __uint_as_float(hi[e])));
    }
    out.hi = make_uint4(hi[0], hi[1], hi[2], hi[3]);
    out.lo = make_uint4(lo[0], lo[1], lo[2], lo[3]);
  }
  return out;
}

/// Adds to what the block will report what one of num_parts parts of a line is: `length` terms of o.length. Parts are judged by
/// themselves, so that nobody has to wait for the others: together they have at most a quarter of elements that are not dense
/// if each has its share of them.
__device__ void judge(std::uint32_t& report, bool is_a, const num::EcRangeLimits& limits, float largest_of_line,
                      std::int32_t scale, std::uint32_t smallest, const Counts& counts, int length, int num_parts,
                      std::int64_t length_of_line) {
  if (largest_of_line == 0 || length <= 0) return;
  num::EcLineSight sight;
  sight.smallest = __uint_as_float(0x7F7FFFFF);  // of a part of zeros
  if (smallest != kAllZero) {
    sight.smallest = fmaxf(Scaling(scale).apply(__uint_as_float((smallest + 1) >> 1)), 0x1p-149F);
  }
  const std::int64_t missing = length - static_cast<std::int64_t>(counts.dense);
  sight.num_dense = missing * num_parts * 4 <= length_of_line ? length : 0;
  sight.num_full = length - static_cast<std::int64_t>(counts.not_full);
  const std::uint32_t flags = num::ec_line_flags(limits, sight, length);
  if (flags != 0) atomicOr(&report, product::EcReport::of(is_a ? flags : 0, is_a ? 0 : flags, 0, 0).bits());
}
/// Looks at an element again, of a part in which one is zero or small: a rare part, so nothing of it was counted before.
__device__ void look_again(float x, bool is_there, const Scaling& scaling, const num::EcRangeLimits& limits,
                           std::uint32_t& smallest, Counts& counts) {
  smallest = min(smallest, small_code(x));
  counts.not_full += is_there && fabsf(scaling.apply(x)) < limits.full ? 1 : 0;
}
/// small_code() of a part without zeros or small elements, of which more need not be known.
constexpr std::uint32_t kNoneSmall = 0xFEFFFFFDU;  // of the largest FP32 number

/// Counts a line with NaN or Inf.
__device__ void count_nonfinite(std::uint32_t& report, bool is_a) {
  atomicAdd(&report, product::EcReport::of(0, 0, is_a ? 1 : 0, is_a ? 0 : 1).bits());
}

/// What the fp64 rung asks of a line: FP32 numbers are multiples of 2^-149.
__device__ void store_stats(const Operand& o, std::int64_t i, std::int32_t scale, int top, bool is_zero) {
  if (o.stats == nullptr || i % o.forms != 0) return;
  num::LineStats stats;
  stats.is_finite = scale != num::kSkipLine;
  if (stats.is_finite && !is_zero) {
    stats.exponent = top - scale;
    stats.lsb = -149;
  }
  o.stats[i / o.forms] = stats;
}

// ---- terms in memory ----

/// Reads terms of one line that is made. Complex: term 2h and 2h + 1 are the parts of element h, which a form exchanges and
/// whose signs it changes (DeviceEcSplit).
template <class T>
struct Reader {
  const float* line;
  std::int64_t inner_stride;
  bool is_swapped = false;
  std::uint32_t even_sign = 0;
  std::uint32_t odd_sign = 0;

  __device__ Reader(const Operand& o, std::int64_t i) : inner_stride(o.inner_stride) {
    line = o.data + (kIsComplex<T> ? i / o.forms : i) * o.line_stride;
    if constexpr (kIsComplex<T>) {
      const std::uint32_t imaginary = o.is_conjugated != 0 ? kSignBit : 0;
      is_swapped = i % o.forms != 0;
      even_sign = is_swapped ? imaginary : 0;
      odd_sign = is_swapped ? 0 : o.forms == 2 ? imaginary ^ kSignBit : imaginary;
    }
  }
  /// The terms of element h of a complex line.
  [[nodiscard]] __device__ float2 element(std::int64_t h) const {
    return formed(*reinterpret_cast<const float2*>(line + h * inner_stride));
  }
  [[nodiscard]] __device__ float2 formed(float2 x) const {
    const float even = is_swapped ? x.y : x.x;
    const float odd = is_swapped ? x.x : x.y;
    return make_float2(__uint_as_float(__float_as_uint(even) ^ even_sign),
                       __uint_as_float(__float_as_uint(odd) ^ odd_sign));
  }
};

// ---- along the lines ----

/// Terms k..k+3 of a line, zeros beyond its end.
template <class T, bool kIsAligned>
[[nodiscard]] __device__ float4 load_four(const Operand& o, const Reader<T>& reader, int k) {
  float4 x = make_float4(0, 0, 0, 0);
  const int left = static_cast<int>(o.length) - k;
  if constexpr (kIsAligned) {
    if (left > 0) x = *reinterpret_cast<const float4*>(reader.line + k);
    if (kIsComplex<T> && left > 0) {
      const float2 first = reader.formed(make_float2(x.x, x.y));
      const float2 second = reader.formed(make_float2(x.z, x.w));
      x = make_float4(first.x, first.y, second.x, second.y);
    }
  } else if constexpr (kIsComplex<T>) {
    const float2 first = left > 0 ? reader.element(k / 2) : make_float2(0, 0);
    const float2 second = left > 2 ? reader.element(k / 2 + 1) : make_float2(0, 0);
    x = make_float4(first.x, first.y, second.x, second.y);
  } else {
    const float* const from = reader.line + k * reader.inner_stride;
    const std::int64_t step = reader.inner_stride;
    if (left > 0) x.x = from[0];
    if (left > 1) x.y = from[step];
    if (left > 2) x.z = from[2 * step];
    if (left > 3) x.w = from[3 * step];
  }
  return x;
}

template <EcFormat kFormat>
__device__ void store_four(std::int8_t* row, int k, const float4& x, const Scaling& scaling, Glance<kFormat>& glance) {
  constexpr int kBlock = static_cast<int>(product::ec_block_length(kFormat));
  constexpr int kBlockBytes = static_cast<int>(product::kEcBlockBytes);
  constexpr int kSize = kFormat == EcFormat::kF16 ? 2 : 4;
  const float y[4] = {scaling.apply(x.x), scaling.apply(x.y), scaling.apply(x.z), scaling.apply(x.w)};
  const Quad<kFormat> quad = split_four<kFormat>(y, glance);
  std::int8_t* const to = row + static_cast<std::int64_t>(k / kBlock) * kBlockBytes + k % kBlock * kSize;
  using Bytes = typename Quad<kFormat>::Bytes;
  *reinterpret_cast<Bytes*>(to) = quad.hi;
  *reinterpret_cast<Bytes*>(to + kBlockBytes / 2) = quad.lo;
}

template <class T, EcFormat kFormat, bool kIsAligned>
__device__ void split_along(const Operand& o, unsigned block, bool is_a, const num::EcRangeLimits& limits,
                            Shared& shared) {
  const int warp = thread_index() / 32;
  const int lane = thread_index() % 32;
  const int width = o.warps_per_line;
  const std::int64_t i = static_cast<std::int64_t>(block) * (kWarps / width) + warp / width;
  const bool has_line = i < o.num_lines;
  const Reader<T> reader(o, i);
  const int first = (warp % width * 32 + lane) * 4;
  const int step = width * 128;
  constexpr std::int64_t kBlock = product::ec_block_length(kFormat);
  const int end = has_line ? static_cast<int>(ceil_div(o.length, kBlock) * kBlock) : 0;  // of the line with its padding

  float4 held[kHeldQuads];
  float largest = 0;
  const auto observe = [&](const float4& x) { largest = larger(larger(largest, larger(x.x, x.y)), larger(x.z, x.w)); };
#pragma unroll
  for (int q = 0; q < kHeldQuads; ++q) {
    held[q] = make_float4(0, 0, 0, 0);
    if (has_line) held[q] = load_four<T, kIsAligned>(o, reader, first + q * step);
  }
#pragma unroll
  for (int q = 0; q < kHeldQuads; ++q) observe(held[q]);
#pragma unroll 4
  for (int k = first + kHeldQuads * step; k < end; k += step) observe(load_four<T, kIsAligned>(o, reader, k));

  // As integers magnitudes, infinity and NaN have the order of their bits.
  largest = __uint_as_float(__reduce_max_sync(kWholeWarp, __float_as_uint(largest)));
  if (width > 1) {
    if (lane == 0) shared.largest[0][warp] = largest;
    __syncthreads();
    for (int w = 0; w < width; ++w) largest = larger(largest, shared.largest[0][warp / width * width + w]);
  }
  const std::int32_t scale = scale_of<kFormat>(largest);
  const bool is_skipped = scale == num::kSkipLine;
  const Scaling scaling(scale);
  std::int8_t* const row = o.planes + i * o.row_stride;
  Counts counts;
  Glance<kFormat> glance(limits);
  const auto store = [&](int k, float4 x) {
    if (is_skipped) x = make_float4(0, 0, 0, 0);
    store_four<kFormat>(row, k, x, scaling, glance);
  };
#pragma unroll
  for (int q = 0; q < kHeldQuads; ++q) {
    if (first + q * step < end) store(first + q * step, held[q]);
  }
  counts.dense = glance.take_dense();
#pragma unroll 4
  for (int k = first + kHeldQuads * step; k < end; k += step) {
    store(k, load_four<T, kIsAligned>(o, reader, k));
    counts.dense += glance.take_dense();
  }

  if (!has_line) return;
  counts.dense = __reduce_add_sync(kWholeWarp, counts.dense);
  std::uint32_t smallest = kNoneSmall;
  if (__any_sync(kWholeWarp, !is_skipped && !glance.is_fine(limits))) {
    smallest = kAllZero;
#pragma unroll 1
    for (int k = first; k < static_cast<int>(o.length); k += step) {
      const float4 x = load_four<T, kIsAligned>(o, reader, k);
      const int left = static_cast<int>(o.length) - k;
      look_again(x.x, true, scaling, limits, smallest, counts);
      look_again(x.y, left > 1, scaling, limits, smallest, counts);
      look_again(x.z, left > 2, scaling, limits, smallest, counts);
      look_again(x.w, left > 3, scaling, limits, smallest, counts);
    }
    smallest = __reduce_min_sync(kWholeWarp, smallest);
    counts.not_full = __reduce_add_sync(kWholeWarp, counts.not_full);
  }
  if (lane != 0) return;
  if (warp % width == 0) {
    o.scales[i] = scale;
    store_stats(o, i, scale, product::ec_top_exponent(kFormat), largest == 0);
    if (is_skipped && i % o.forms == 0) count_nonfinite(shared.report, is_a);
  }
  if (!is_skipped) {
    // Rounds of 128 terms that fall to this warp, the last of which may be cut.
    const std::int64_t before = warp % width * 128;
    const std::int64_t rounds = o.length > before ? (o.length - before - 1) / step + 1 : 0;
    const std::int64_t end_of_last = before + (rounds - 1) * step + 128;
    const std::int64_t length = rounds * 128 - (end_of_last > o.length ? end_of_last - o.length : 0);
    judge(shared.report, is_a, limits, largest, scale, smallest, counts, static_cast<int>(length), width, o.length);
  }
}

// ---- across the lines ----

/// This lane's 32 terms of a unit, zeros beyond the line's end.
template <class T>
__device__ void load_unit(const Operand& o, const Reader<T>& reader, bool has_line, int unit, float (&x)[kUnit]) {
  const int left = has_line ? static_cast<int>(o.length) - unit * kUnit : 0;
  if constexpr (kIsComplex<T>) {
#pragma unroll
    for (int e = 0; e < kUnit; e += 2) {
      const float2 terms = e < left ? reader.element((unit * kUnit + e) / 2) : make_float2(0, 0);
      x[e] = terms.x;
      x[e + 1] = terms.y;
    }
  } else {
    const float* from = reader.line + unit * kUnit * reader.inner_stride;
    if (left >= kUnit) {
#pragma unroll
      for (int e = 0; e < kUnit; ++e, from += reader.inner_stride) x[e] = *from;
      return;
    }
#pragma unroll
    for (int e = 0; e < kUnit; ++e, from += reader.inner_stride) x[e] = e < left ? *from : 0.0F;
  }
}

/// Splits a unit and stores its blocks, 128 bytes of four lines at a time.
template <EcFormat kFormat>
__device__ void store_unit(const Operand& o, int first_line, int unit, const float (&x)[kUnit], bool is_skipped,
                           const Scaling& scaling, uint4 (&exchange)[kUnit * 8], Glance<kFormat>& glance) {
  constexpr int kBlock = static_cast<int>(product::ec_block_length(kFormat));
  constexpr int kPiece = kFormat == EcFormat::kF16 ? 8 : 4;  // elements of 16 bytes
  const int lane = thread_index() % 32;
#pragma unroll
  for (int block = 0; block < kUnit / kBlock; ++block) {
    if (unit * kUnit + block * kBlock >= static_cast<int>(o.length)) break;
    __syncwarp();  // what was there has been read
#pragma unroll
    for (int piece = 0; piece < 4; ++piece) {
      Quad<kFormat> quads[kPiece / 4];
#pragma unroll
      for (int q = 0; q < kPiece / 4; ++q) {
        float y[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float element = x[block * kBlock + piece * kPiece + q * 4 + e];
          y[e] = is_skipped ? 0.0F : scaling.apply(element);
        }
        quads[q] = split_four<kFormat>(y, glance);
      }
      uint4 hi;
      uint4 lo;
      if constexpr (kFormat == EcFormat::kF16) {
        hi = make_uint4(quads[0].hi.x, quads[0].hi.y, quads[1].hi.x, quads[1].hi.y);
        lo = make_uint4(quads[0].lo.x, quads[0].lo.y, quads[1].lo.x, quads[1].lo.y);
      } else {
        hi = quads[0].hi;
        lo = quads[0].lo;
      }
      exchange[8 * lane + (piece ^ lane % 8)] = hi;
      exchange[8 * lane + ((piece + 4) ^ lane % 8)] = lo;
    }
    __syncwarp();
    std::int8_t* to = o.planes + (first_line + lane / 8) * o.row_stride +
                      (unit * (kUnit / kBlock) + block) * product::kEcBlockBytes + lane % 8 * 16;
    const int left = static_cast<int>(o.num_lines) - first_line;
#pragma unroll
    for (int four = 0; four < 8; ++four, to += 4 * o.row_stride) {
      const int l = four * 4 + lane / 8;
      if (l < left) *reinterpret_cast<uint4*>(to) = exchange[8 * l + (lane % 8 ^ l % 8)];
    }
  }
}

template <class T, EcFormat kFormat, int kHeldUnits>
__device__ void split_across(const Operand& o, unsigned block, bool is_a, const num::EcRangeLimits& limits,
                             Shared& shared) {
  const auto cluster = cooperative_groups::this_cluster();
  const unsigned ranks = cluster.num_blocks();
  const unsigned rank = cluster.block_rank();
  const int warp = thread_index() / 32;
  const int lane = thread_index() % 32;
  const int first_line = static_cast<int>(block / ranks) * kUnit;
  const bool has_line = first_line + lane < o.num_lines;
  const Reader<T> reader(o, first_line + lane);
  const int num_units = static_cast<int>(ceil_div(o.length, kUnit));
  const int first = static_cast<int>(rank) * kWarps + warp;
  const int step = static_cast<int>(ranks) * kWarps;

  float held[kHeldUnits][kUnit];
  float largest = 0;
  const auto observe = [&](const float(&x)[kUnit]) {
#pragma unroll
    for (int e = 0; e < kUnit; ++e) largest = larger(largest, x[e]);
  };
#pragma unroll
  for (int u = 0; u < kHeldUnits; ++u) {
    if (first + u * step < num_units) load_unit<T>(o, reader, has_line, first + u * step, held[u]);
  }
#pragma unroll
  for (int u = 0; u < kHeldUnits; ++u) {
    if (first + u * step < num_units) observe(held[u]);
  }
#pragma unroll 1
  for (int unit = first + kHeldUnits * step; unit < num_units; unit += step) {
    float x[kUnit];
    load_unit<T>(o, reader, has_line, unit, x);
    observe(x);
  }

  // The largest of each line over the warps, which warp r gives to CTA r of the cluster.
  shared.largest[warp][lane] = largest;
  __syncthreads();
  if (warp < static_cast<int>(ranks)) {
#pragma unroll
    for (int w = 0; w < kWarps; ++w) largest = larger(largest, shared.largest[w][lane]);
    *cluster.map_shared_rank(&shared.parts[rank][lane], static_cast<unsigned>(warp)) = largest;
  }
  cluster.sync();
  largest = 0;
  for (unsigned r = 0; r < ranks; ++r) largest = larger(largest, shared.parts[r][lane]);
  const std::int32_t scale = scale_of<kFormat>(largest);
  const bool is_skipped = scale == num::kSkipLine;
  const Scaling scaling(scale);

  Counts counts;
  Glance<kFormat> glance(limits);
  const auto store = [&](int unit, const float(&x)[kUnit]) {
    store_unit<kFormat>(o, first_line, unit, x, is_skipped, scaling, shared.exchange[warp], glance);
    counts.dense += glance.take_dense();
  };
#pragma unroll
  for (int u = 0; u < kHeldUnits; ++u) {
    if (first + u * step < num_units) store(first + u * step, held[u]);
  }
#pragma unroll 1
  for (int unit = first + kHeldUnits * step; unit < num_units; unit += step) {
    float x[kUnit];
    load_unit<T>(o, reader, has_line, unit, x);
    store(unit, x);
  }

  std::uint32_t smallest = kNoneSmall;
  if (__any_sync(kWholeWarp, !is_skipped && has_line && !glance.is_fine(limits))) {
    smallest = kAllZero;
#pragma unroll 1
    for (int unit = first; unit < num_units; unit += step) {
      float x[kUnit];
      load_unit<T>(o, reader, has_line, unit, x);
#pragma unroll
      for (int e = 0; e < kUnit; ++e) {
        look_again(x[e], unit * kUnit + e < static_cast<int>(o.length), scaling, limits, smallest, counts);
      }
    }
  }
  shared.counts[warp][lane] = counts;
  shared.smallest[warp][lane] = smallest;
  __syncthreads();
  if (warp != 0 || !has_line) return;
  if (rank == 0) {
    o.scales[first_line + lane] = scale;
    store_stats(o, first_line + lane, scale, product::ec_top_exponent(kFormat), largest == 0);
    if (is_skipped && lane % o.forms == 0) count_nonfinite(shared.report, is_a);
  }
  if (is_skipped) return;
  for (int w = 1; w < kWarps; ++w) {
    counts.dense += shared.counts[w][lane].dense;
    counts.not_full += shared.counts[w][lane].not_full;
    smallest = min(smallest, shared.smallest[w][lane]);
  }
  // Rounds of kWarps units that fall to this CTA, the last of which may be cut.
  const int round = kWarps * kUnit;
  const int before = static_cast<int>(rank) * round;
  const int stride = step * kUnit;
  const int length = static_cast<int>(o.length);
  const int rounds = length > before ? (length - before - 1) / stride + 1 : 0;
  const int end_of_last = before + (rounds - 1) * stride + round;
  judge(shared.report, is_a, limits, largest, scale, smallest, counts, rounds * round - max(end_of_last - length, 0),
        static_cast<int>(ranks), o.length);
}

// ---- the decision ----

/// The stage of a call, read from the reports by all threads of a block.
struct Decided {
  int stage;
  std::uint32_t a_nonfinite;
  std::uint32_t b_nonfinite;
};

[[nodiscard]] __device__ Decided decide(const EcDecision& decision, std::uint32_t (&shared)[3 * kWarps]) {
  std::uint32_t flags = 0;
  std::uint32_t a_nonfinite = 0;
  std::uint32_t b_nonfinite = 0;
  for (int r = thread_index(); r < decision.num_reports; r += kThreads) {
    const product::EcReport report = decision.reports[r];
    flags |= report.flags();
    a_nonfinite += report.a_nonfinite();
    b_nonfinite += report.b_nonfinite();
  }
  flags = __reduce_or_sync(kWholeWarp, flags);
  a_nonfinite = __reduce_add_sync(kWholeWarp, a_nonfinite);
  b_nonfinite = __reduce_add_sync(kWholeWarp, b_nonfinite);
  const unsigned warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) {
    shared[3 * warp] = flags;
    shared[3 * warp + 1] = a_nonfinite;
    shared[3 * warp + 2] = b_nonfinite;
  }
  __syncthreads();
  Decided decided{-1, 0, 0};
  flags = 0;
  for (int w = 0; w < kWarps; ++w) {
    flags |= shared[3 * w];
    decided.a_nonfinite += shared[3 * w + 1];
    decided.b_nonfinite += shared[3 * w + 2];
  }
  __syncthreads();  // `shared` may be written again
  if (!decision.checks_range) decided.stage = 0;
  for (int s = 0; s < decision.num_stages && decided.stage < 0; ++s) {
    const bool holds = decision.formats[s] == EcFormat::kF16 ? num::ec_f16_holds(flags & 0xF, flags >> 4)
                                                             : num::ec_tf32_holds(flags & 0xF, flags >> 4);
    if (holds) decided.stage = s;
  }
  return decided;
}

/// Writes the state of a call that has decided.
__device__ void write_state(const EcDecision& decision, const Decided& decided, bool is_scaling_only) {
  plan::DeviceState fresh;
  fresh.is_scaling_only = is_scaling_only ? 1 : 0;
  fresh.ec_stage = decided.stage;
  fresh.selection.rung = decided.stage < 0 ? -1 : 0;
  if (decided.stage < 0) fresh.selection.num_repaired = decision.num_pairs;
  fresh.nonfinite_rows = decision.is_transposed ? decided.b_nonfinite : decided.a_nonfinite;
  fresh.nonfinite_cols = decision.is_transposed ? decided.a_nonfinite : decided.b_nonfinite;
  memset(static_cast<void*>(decision.state), 0,
         sizeof *decision.state);  // the padding as well, which is copied to the host
  *decision.state = fresh;
}

template <class T, EcFormat kFormat, int kHeldUnits>
__device__ void split_block(const Job<T>& job, unsigned at, Shared& shared) {
  const num::EcRangeLimits& limits = job.observation.limits;
  const bool is_a = at < job.blocks_of_a;
  const Operand& o = is_a ? job.a : job.b;
  const unsigned block = is_a ? at : at - job.blocks_of_a;
  if (o.is_across != 0) {
    split_across<T, kFormat, kHeldUnits>(o, block, is_a, limits, shared);
  } else if (o.is_aligned != 0) {
    split_along<T, kFormat, true>(o, block, is_a, limits, shared);
  } else {
    split_along<T, kFormat, false>(o, block, is_a, limits, shared);
  }
}

/// A block a CTA, which reports it.
template <class T, EcFormat kFormat, int kHeldUnits>
__global__ void __launch_bounds__(kThreads, 4 - kHeldUnits) split_ec_smxx(const __grid_constant__ Job<T> job) {
  __shared__ Shared shared;
  base::follow_previous_kernel();
  if (job.alpha.load() == T{0}) return;
  if (threadIdx.x == 0) shared.report = 0;
  __syncthreads();
  split_block<T, kFormat, kHeldUnits>(job, blockIdx.x, shared);
  if (job.observation.reports == nullptr) return;
  __syncthreads();
  if (threadIdx.x == 0) job.observation.reports[blockIdx.x] = product::EcReport::from_bits(shared.report);
}

/// Decides; where the planes are to be made again, a CTA takes blocks until none is left.
template <class T, EcFormat kFormat, int kHeldUnits>
__global__ void __launch_bounds__(kThreads, 4 - kHeldUnits) decide_ec_smxx(const __grid_constant__ Job<T> job) {
  __shared__ Shared shared;
  __shared__ std::uint32_t words[3 * kWarps];
  base::follow_previous_kernel();
  const bool is_scaling_only = job.alpha.load() == T{0};
  Decided decided{0, 0, 0};
  if (!is_scaling_only) decided = decide(job.decision, words);
  if (job.writes_state != 0 && blockIdx.x == 0 && threadIdx.x == 0) {
    write_state(job.decision, decided, is_scaling_only);
  }
  if (decided.stage != 1) return;
    // The CTAs of a cluster have neighbouring blocks, all of one operand.
#pragma unroll 1
  for (unsigned at = blockIdx.x; at < job.num_blocks; at += gridDim.x) {
    split_block<T, kFormat, kHeldUnits>(job, at, shared);
    cooperative_groups::this_cluster().sync();  // `shared` is free again, for others as well
  }
}

// ---- the host's part ----

template <class T>
Operand operand_of(const DeviceEcSplit<T>& task, bool is_a) {
  constexpr int kTerms = static_cast<int>(problem::kTerms<T>);
  const problem::Lines<T>& lines = task.lines;
  Operand o{};
  o.data = reinterpret_cast<const float*>(lines.data);
  o.forms = kIsComplex<T> && is_a ? 2 : 1;
  o.num_lines = lines.num_lines * o.forms;
  o.length = lines.num_terms();
  o.line_stride = lines.line_stride * kTerms;
  o.inner_stride = lines.inner_stride * kTerms;
  o.planes = task.planes;
  o.row_stride = task.row_stride;
  o.scales = task.scales;
  o.stats = task.stats;
  o.is_conjugated = lines.is_conjugated;
  o.is_across = lines.inner_stride > lines.line_stride && lines.num_lines > 1;
  o.is_aligned = lines.inner_stride == 1 && o.line_stride % 4 == 0 && o.length % 4 == 0 &&
                 reinterpret_cast<std::uintptr_t>(lines.data) % 16 == 0;
  // Enough warps to hold a line; more where lines are few and would leave multiprocessors idle.
  constexpr std::int64_t kManyBlocks = 256;
  const auto is_too_few = [&](std::int64_t warps) {
    return o.length > warps * 128 * kHeldQuads ||
           (o.length > warps * 128 * 2 && o.num_lines * warps < kManyBlocks * kWarps);
  };
  o.warps_per_line = 1;
  while (o.warps_per_line < kWarps && is_too_few(o.warps_per_line)) o.warps_per_line *= 2;
  return o;
}

/// CTAs that share 32 lines, so that a warp has one unit.
inline int cluster_of(const Operand& o) {
  int cluster = 1;
  while (o.is_across != 0 && cluster < kMostCluster && o.length > std::int64_t{cluster} * kWarps * kUnit) {
    cluster *= 2;
  }
  return cluster;
}

/// Whether more terms of a line are across memory than a cluster holds at a unit a warp.
inline bool is_long_across(const Operand& o) {
  return o.is_across != 0 && o.length > std::int64_t{kMostCluster} * kWarps * kUnit;
}

inline std::int64_t blocks_of(const Operand& o, int cluster) {
  if (o.num_lines == 0) return 0;
  if (o.is_across != 0) return ceil_div(o.num_lines, kUnit) * cluster;
  return base::round_up(ceil_div(o.num_lines, kWarps / o.warps_per_line), cluster);
}

/// Launches a job: of a first split, whose reports follow those before it, or of a decision.
template <class T, EcFormat kFormat, int kHeldUnits>
Status launch(Job<T> job, int num_sms, int& num_reports, product::Queue queue) {
  const int cluster = std::max(cluster_of(job.a), cluster_of(job.b));
  const std::int64_t blocks_of_a = blocks_of(job.a, cluster);
  const std::int64_t blocks = blocks_of_a + blocks_of(job.b, cluster);
  if (blocks > INT32_MAX - num_reports) {
    return {StatusCode::kInvalidArgument, "the split of " + std::to_string(job.a.num_lines) + " and " +
                                              std::to_string(job.b.num_lines) + " lines needs " +
                                              std::to_string(blocks) + " blocks, must be below 2^31"};
  }
  job.blocks_of_a = static_cast<unsigned>(blocks_of_a);
  job.num_blocks = static_cast<unsigned>(blocks);
  const bool is_decision = job.decision.state != nullptr;
  std::int64_t ctas = blocks;
  if (is_decision) {  // few, for each reads all reports
    const std::int64_t most = std::int64_t{std::max(num_sms / cluster, 1)} * cluster;
    ctas = std::max<std::int64_t>(std::min(blocks, most), cluster);
  } else {
    if (job.observation.reports != nullptr) job.observation.reports += num_reports;
    num_reports += static_cast<int>(blocks);
  }
  cudaLaunchAttribute attributes[2] = {base::overlapped_start(), {}};
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(ctas));
  config.blockDim = dim3(kThreads);
  config.stream = queue;
  config.attrs = attributes;
  config.numAttrs = 2;
  auto* kernel = &split_ec_smxx<T, kFormat, kHeldUnits>;
  if constexpr (kFormat == EcFormat::kTf32) {  // what decisions make again
    if (is_decision) kernel = &decide_ec_smxx<T, kFormat, kHeldUnits>;
  }
  return base::cuda_status(cudaLaunchKernelEx(&config, kernel, job), "the split of FP32 operands");
}

/// Long lines across memory alone, the rest together. The first launch writes the state.
template <class T, EcFormat kFormat>
Status split_both(const Job<T>& both, int num_sms, int& num_reports, product::Queue queue) {
  Job<T> rest = both;
  for (const bool is_a : {true, false}) {
    Operand& o = is_a ? rest.a : rest.b;
    if (!is_long_across(o)) continue;
    Job<T> alone = rest;
    (is_a ? alone.b : alone.a).num_lines = 0;
    (is_a ? alone.b : alone.a).is_across = 0;
    KIZAMI_RETURN_IF_ERROR((launch<T, kFormat, 2>(alone, num_sms, num_reports, queue)));
    rest.writes_state = 0;
    o.num_lines = 0;
    o.is_across = 0;
  }
  if (rest.a.num_lines + rest.b.num_lines == 0) return {};
  return launch<T, kFormat, 1>(rest, num_sms, num_reports, queue);
}

}  // namespace

template <class T>
Status device_ec_split(const DeviceEcSplit<T>& a, const DeviceEcSplit<T>& b, EcFormat format,
                       const EcObservation& observation, Factor<T> alpha, int num_sms, int& num_reports,
                       product::Queue queue) {
  num_reports = 0;
  Job<T> job{};
  job.a = operand_of(a, true);
  job.b = operand_of(b, false);
  job.alpha = alpha;
  job.observation = observation;
  return format == EcFormat::kF16 ? split_both<T, EcFormat::kF16>(job, num_sms, num_reports, queue)
                                  : split_both<T, EcFormat::kTf32>(job, num_sms, num_reports, queue);
}

template <class T>
Status device_ec_decide(const EcDecision& decision, const DeviceEcSplit<T>& a, const DeviceEcSplit<T>& b,
                        Factor<T> alpha, int num_sms, product::Queue queue) {
  Job<T> job{};
  job.alpha = alpha;
  job.decision = decision;
  job.writes_state = 1;
  int num_reports = 0;
  if (decision.num_stages == 1) {  // nothing to split
    job.a.warps_per_line = job.b.warps_per_line = 1;
    return launch<T, EcFormat::kTf32, 1>(job, 1, num_reports, queue);
  }
  job.a = operand_of(a, true);
  job.b = operand_of(b, false);
  return split_both<T, EcFormat::kTf32>(job, num_sms, num_reports, queue);
}

}  // namespace kizami::split

/// In one file for each type: together they take minutes to compile.
#define KIZAMI_INSTANTIATE_EC_SPLIT(T)                                                                                 \
  template ::kizami::Status kizami::split::device_ec_split<T>(                                                         \
      const ::kizami::split::DeviceEcSplit<T>&, const ::kizami::split::DeviceEcSplit<T>&, ::kizami::product::EcFormat, \
      const ::kizami::split::EcObservation&, ::kizami::Factor<T>, int, int&, ::kizami::product::Queue);                \
  template ::kizami::Status kizami::split::device_ec_decide<T>(                                                        \
      const ::kizami::split::EcDecision&, const ::kizami::split::DeviceEcSplit<T>&,                                    \
      const ::kizami::split::DeviceEcSplit<T>&, ::kizami::Factor<T>, int, ::kizami::product::Queue)
