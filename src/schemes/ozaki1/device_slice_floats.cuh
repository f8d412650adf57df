// SPDX-License-Identifier: MIT
// Digits as numbers of a floating-point format. They are whole numbers that the format holds, so conversions are exact.
#pragma once

#include <cstdint>

#include "kizami/policy.hpp"
#include "num/slices.hpp"

namespace kizami::ozaki1::kernels {

/// @exact  @range |digit| < 2^22
[[nodiscard]] __device__ inline float whole_number(int digit) {
  constexpr float kInteger = 0x1.8p23F;  // a sum with it holds the integer in its low bits
  return __int_as_float(__float_as_int(kInteger) + digit) - kInteger;
}

/// Four digits as numbers of kBytes bytes each.
template <int kBytes>
__device__ void pack_floats(SliceFormat format, const int (&digits)[4], std::uint32_t* words) {
  float x[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = whole_number(digits[i]);
  if constexpr (kBytes == 2) {
    if (format == SliceFormat::kBf16) {
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(words[0]) : "f"(x[1]), "f"(x[0]));
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(words[1]) : "f"(x[3]), "f"(x[2]));
    } else {
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(words[0]) : "f"(x[1]), "f"(x[0]));
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(words[1]) : "f"(x[3]), "f"(x[2]));
    }
  } else {
    std::uint16_t low;
    std::uint16_t high;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
    low = high = 0;
    __trap();  // no engine for FP8 takes such a device
#else
    if (format == SliceFormat::kE4m3) {
      asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(low) : "f"(x[1]), "f"(x[0]));
      asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(high) : "f"(x[3]), "f"(x[2]));
    } else {
      asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(low) : "f"(x[1]), "f"(x[0]));
      asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(high) : "f"(x[3]), "f"(x[2]));
    }
#endif
    words[0] = low | static_cast<std::uint32_t>(high) << 16;
  }
}

/// Writes 4, 8 or 16 bytes. @range `out` aligned to as many
template <int kWords>
__device__ void store_words(const std::uint32_t (&words)[kWords], std::int8_t* out) {
  if constexpr (kWords == 4) {
    *reinterpret_cast<uint4*>(out) = make_uint4(words[0], words[1], words[2], words[3]);
  } else if constexpr (kWords == 2) {
    *reinterpret_cast<uint2*>(out) = make_uint2(words[0], words[1]);
  } else {
    static_assert(kWords == 1);
    *reinterpret_cast<std::uint32_t*>(out) = words[0];
  }
}

/// The digits of kNumbers neighbouring numbers, in units of the first one, `step` bytes from slice to slice.
/// @range digits to nearest
template <int kBytes, int kNumbers>
__device__ void write_floats(const double (&x)[kNumbers], num::DigitRule rule, SliceFormat format, int num_slices,
                             std::int64_t step, std::int8_t* out) {
  rule.kind = num::DigitKind::kNearest;  // known to the compiler
  num::FloatRest rest[kNumbers];
#pragma unroll
  for (int i = 0; i < kNumbers; ++i) rest[i].value = x[i];
#pragma unroll 1
  for (int s = 0; s < num_slices; ++s, out += step) {
    std::uint32_t words[kNumbers / 4 * kBytes];
#pragma unroll
    for (int w = 0; w < kNumbers / 4; ++w) {
      int digits[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) digits[i] = num::leading_digit(rule, rest[4 * w + i]);
      pack_floats<kBytes>(format, digits, words + w * kBytes);
    }
    store_words(words, out);
  }
}

}  // namespace kizami::ozaki1::kernels
