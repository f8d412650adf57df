// SPDX-License-Identifier: MIT
// What the split of FP32 operands on the device does with terms: reads them, scales and splits them, and judges the
// part of a line that they are.
#pragma once

#include <cuda_fp16.h>

#include <cstring>
#include <type_traits>

#include "base/cluster_sm90.cuh"
#include "base/int_math.hpp"
#include "num/ec_range.hpp"
#include "num/line_stats.hpp"
#include "schemes/ec/device_operand.cuh"
#include "schemes/ec/judged_parts.hpp"

namespace kizami::ec {
namespace {

/// What a lane has seen of its part of a line.
struct Counts {
  std::uint32_t dense = 0;
  std::uint32_t not_full = 0;

  __device__ void add(const Counts& other) {
    dense += other.dense;
    not_full += other.not_full;
  }
};

struct Shared {
  float largest[kWarps][kUnit];  ///< of a warp's part of a line
  float smallest[kWarps][kUnit];
  Counts counts[kWarps][kUnit];
  alignas(16) float parts[kMostCluster][kUnit];  ///< across: of a CTA's part of a line, from every CTA of the cluster
  std::uint64_t has_parts;                       ///< mbarrier of `parts`
  uint4 exchange[kWarps][kUnit * 8];  ///< across: 16 bytes p of what lane l makes of a block at 8 l + (p ^ l % 8)
  std::uint32_t report;               ///< bits of the EcReport of this block
};

/// threadIdx.x, read again wherever it is asked for: what follows from it is not to be kept in registers meanwhile.
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

/// 2^scale in two factors, so that x times both is rounded at most once. The second is 1 unless the line is below
/// 2^-112.
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
  /// What comes before most(): nothing but for lines that are tiny, which it makes larger, or skipped, which it makes
  /// zero.
  [[nodiscard]] __device__ bool needs_rest() const { return second != 1.0F; }
  [[nodiscard]] __device__ float rest(float x) const { return second == 0 ? 0.0F : __fmul_rn(x, second); }
  [[nodiscard]] __device__ float most(float x) const { return __fmul_rn(x, first); }
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

/// |y| of the smallest element of a part that is nothing but zeros, or has none below any limit.
constexpr float kNoneSmall = 3.0e38F;
/// Of a part that has to be looked at again.
constexpr float kUnknown = 0.0F;

/// What a lane sees of elements while it splits them: how many are dense, and the least |hi|, which nearly always tells
/// enough of the smallest element (else see look_again()). FP16: two of each, for pairs of elements.
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
  /// A number with the flags of the smallest |y|, if |hi| tells them: |y| is within 2^-11 of it, and where hi is
  /// subnormal both are below 2^-14, the least that EcRangeLimits::fine may be. Else, and of zeros, kUnknown.
  [[nodiscard]] __device__ float smallest(const num::EcRangeLimits& limits) const {
    float low = 0;
    if constexpr (kFormat == EcFormat::kF16) {
      low = fminf(__low2float(least), __high2float(least));
    } else {
      low = least;
    }
    const float below = low * (1.0F - 0x1p-10F);
    const bool is_fine = below >= limits.fine;
    const bool is_small = low * (1.0F + 0x1p-10F) < limits.fine && below >= limits.narrow;
    return is_fine ? kNoneSmall : is_small ? low : kUnknown;
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

/// Adds to what the block will report what a part of a line is (judged_parts.hpp), of which `counts` are, and of which, or of more of the line,
/// `smallest` is. Together parts have at most a quarter of elements that are not dense if each has its share of them.
__device__ void judge(std::uint32_t& report, bool is_a, const num::EcRangeLimits& limits, float largest_of_line,
                      float smallest, const Counts& counts, int part, std::int64_t length_of_line) {
  const std::int64_t length = terms_of_part(length_of_line, part);
  if (largest_of_line == 0 || length <= 0) return;
  num::EcLineSight sight;
  sight.smallest = smallest;
  const std::int64_t missing = length - static_cast<std::int64_t>(counts.dense);
  sight.num_dense = missing * num_judged_parts(length_of_line) * 4 <= length_of_line ? length : 0;
  sight.num_full = length - static_cast<std::int64_t>(counts.not_full);
  const std::uint32_t flags = num::ec_line_flags(limits, sight, length);
  if (flags != 0) atomicOr(&report, product::EcReport::of(is_a ? flags : 0, is_a ? 0 : flags, 0, 0).bits());
}
/// Looks at an element again, of a part in which one is zero or tiny: a rare part, so nothing of it was counted before.
__device__ void look_again(float x, bool is_there, const Scaling& scaling, const num::EcRangeLimits& limits,
                           std::uint32_t& code, Counts& counts) {
  code = min(code, small_code(x));
  counts.not_full += is_there && fabsf(scaling.apply(x)) < limits.full ? 1 : 0;
}
/// |y| of the smallest element, given the least code.
[[nodiscard]] __device__ float smallest_of(std::uint32_t code, const Scaling& scaling) {
  return code == kAllZero ? kNoneSmall : fmaxf(scaling.apply(__uint_as_float((code + 1) >> 1)), 0x1p-149F);
}

/// Counts a line with NaN or Inf.
__device__ void count_nonfinite(std::uint32_t& report, bool is_a) {
  atomicAdd(&report, product::EcReport::of(0, 0, is_a ? 1 : 0, is_a ? 0 : 1).bits());
}

/// What the fp64 rung asks of a line: FP32 numbers are multiples of 2^-149.
template <class AnyOperand>
__device__ void store_stats(const AnyOperand& o, std::int64_t i, std::int32_t scale, int top, bool is_zero) {
  if (o.stats == nullptr || i % o.forms != 0) return;
  num::LineStats stats;
  stats.is_finite = scale != num::kSkipLine;
  if (stats.is_finite && !is_zero) {
    stats.exponent = top - scale;
    stats.lsb = -149;
  }
  o.own_stats()[i / o.forms] = stats;  // an element of an array, for its alignment
}

/// By the threads of a block.
__device__ void clear_profiles(num::EcProfiles& profiles) {
  constexpr unsigned kWords = sizeof(num::EcProfiles) / sizeof(std::uint32_t);
  static_assert(kWords <= kThreads);
  if (threadIdx.x < kWords) reinterpret_cast<std::uint32_t*>(&profiles)[threadIdx.x] = 0;
}

// ---- terms in memory ----

/// How a complex element gives terms 2h and 2h + 1 of a line that is made: its parts, which a form exchanges and whose signs it changes
/// (DeviceEcSplit).
struct Form {
  bool is_swapped = false;
  std::uint32_t even_sign = 0;
  std::uint32_t odd_sign = 0;

  Form() = default;
  /// @param form which of `forms`
  __device__ Form(int forms, int form, bool is_conjugated) : is_swapped(form != 0) {
    const std::uint32_t imaginary = is_conjugated ? kSignBit : 0;
    even_sign = is_swapped ? imaginary : 0;
    odd_sign = is_swapped ? 0 : forms == 2 ? imaginary ^ kSignBit : imaginary;
  }
  [[nodiscard]] __device__ float2 formed(float2 x) const {
    const float even = is_swapped ? x.y : x.x;
    const float odd = is_swapped ? x.x : x.y;
    return make_float2(__uint_as_float(__float_as_uint(even) ^ even_sign),
                       __uint_as_float(__float_as_uint(odd) ^ odd_sign));
  }
};

/// Reads terms of one line that is made.
template <class T>
struct Reader : Form {
  const float* line;
  std::int64_t inner_stride;

  template <class AnyOperand>
  __device__ Reader(const AnyOperand& o, std::int64_t i) : inner_stride(o.inner_stride) {
    line = o.elements() + (kIsComplex<T> ? i / o.forms : i) * o.line_stride;
    if constexpr (kIsComplex<T>)
      static_cast<Form&>(*this) = Form(o.forms, static_cast<int>(i % o.forms), o.is_conjugated != 0);
  }
  /// The terms of element h of a complex line.
  [[nodiscard]] __device__ float2 element(std::int64_t h) const {
    return formed(*reinterpret_cast<const float2*>(line + h * inner_stride));
  }
};

}  // namespace
}  // namespace kizami::ec
