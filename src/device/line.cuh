// SPDX-License-Identifier: MIT
// One FP64 term as device code sees it. Everything below is integer arithmetic or rounds once, as it says, so it agrees
// with the host's formulas to the bit.
#pragma once

#include <complex>
#include <cstdint>

#include "kizami/types.hpp"
#include "num/digit_blocks.hpp"
#include "num/line_stats.hpp"
#include "num/scaling.hpp"

namespace kizami::device {

/// |x| = mantissa 2^ulp. A normal x has a mantissa of 53 bits.
struct Term {
  std::uint64_t mantissa;
  int ulp;
};

inline constexpr std::uint64_t kInfinityBits = 0x7FF0000000000000ull;

[[nodiscard]] __device__ inline std::uint64_t magnitude_bits(double x) {
  return static_cast<std::uint64_t>(__double_as_longlong(x)) & 0x7FFFFFFFFFFFFFFFull;
}
/// @range finite
[[nodiscard]] __device__ inline Term term_of(std::uint64_t bits) {
  const int field = static_cast<int>(bits >> 52);
  const std::uint64_t stored = bits & 0x000FFFFFFFFFFFFFull;
  return field == 0 ? Term{stored, -1074} : Term{stored | 0x0010000000000000ull, field - 1075};
}
/// floor(log2 |x|). @range finite, not zero
[[nodiscard]] __device__ inline int exponent_of(std::uint64_t bits) {
  const int field = static_cast<int>(bits >> 52);
  return field != 0 ? field - 1023 : -1011 - __clzll(static_cast<long long>(bits));
}
/// Exponent of the lowest set bit, from the words of a magnitude; num::kNoLsb for zero. Without branches.
[[nodiscard]] __device__ inline int lsb_of_words(std::uint32_t high, std::uint32_t low) {
  // The hidden bit stands at 20 of the high word; a subnormal has none, and its lowest bit is below it or in `low`.
  const bool is_low = low != 0;
  const std::uint32_t word = is_low ? low : high | 0x00100000u;
  const int lowest_of_word = 31 - __clz(static_cast<int>(word & (0u - word)));
  const int lowest = max(static_cast<int>(high >> 20), 1) + (lowest_of_word + (is_low ? 0 : 32));
  return (high | low) != 0 ? lowest - 1075 : num::kNoLsb;
}

/// floor(m 2^shift) and ceil(m 2^shift) @range the result fits in 64 bits
[[nodiscard]] __device__ inline std::uint64_t floor_shift(std::uint64_t m, int shift) {
  if (shift >= 0) return m << shift;
  return shift > -64 ? m >> -shift : 0;
}
[[nodiscard]] __device__ inline std::uint64_t ceil_shift(std::uint64_t m, int shift) {
  if (shift >= 0) return m << shift;
  if (shift <= -63) return m != 0 ? 1 : 0;
  return (m + (std::uint64_t{1} << -shift) - 1) >> -shift;
}

/// What the sums and digits of a line's terms are counted in: the powers of two that take a term there. Exact products,
/// of which the sum with 2^52 makes integers by one directed rounding; near the bottom of the range the powers would
/// overflow, and integer arithmetic does the same.
struct LineUnits {
  int exponent;
  bool is_plain;  ///< the powers are there
  double abs = 0;
  double square = 0;
  double digit = 0;

  /// @range the exponent of a line that is finite and not zero
  __device__ explicit LineUnits(int line_exponent) : exponent(line_exponent), is_plain(line_exponent > -1000) {
    if (!is_plain) return;
    abs = num::power_of_two(num::kAbsBits - exponent);
    square = num::power_of_two(num::kSquareBits - exponent);
    digit = num::power_of_two(num::kDigitBits - exponent);
  }
};

/// A term's ceil(|x| 2^(kAbsBits - exponent)), the same with kSquareBits, and floor(|x| 2^(num::kDigitBits -
/// exponent)).
/// @range  units.is_plain
[[nodiscard]] __device__ inline std::uint32_t plain_abs(double x, const LineUnits& units) {
  return static_cast<std::uint32_t>(__double2loint(__fma_ru(fabs(x), units.abs, 0x1p52)));
}
[[nodiscard]] __device__ inline std::uint32_t plain_root(double x, const LineUnits& units) {
  return static_cast<std::uint32_t>(__double2loint(__fma_ru(fabs(x), units.square, 0x1p52)));
}
[[nodiscard]] __device__ inline std::uint32_t plain_digit(double x, const LineUnits& units) {
  return static_cast<std::uint32_t>(__double2loint(__fma_rd(fabs(x), units.digit, 0x1p52)));
}

/// Adds a term to the sums of its line, see num::LineStats.
__device__ inline void add_term(double x, const LineUnits& units, std::uint64_t& sum_abs, std::uint64_t& sum_squares) {
  std::uint32_t abs = 0;
  std::uint32_t root = 0;
  if (units.is_plain) {
    abs = plain_abs(x, units);
    root = plain_root(x, units);
  } else {
    const Term term = term_of(magnitude_bits(x));
    abs = static_cast<std::uint32_t>(ceil_shift(term.mantissa, term.ulp + num::kAbsBits - units.exponent));
    root = static_cast<std::uint32_t>(ceil_shift(term.mantissa, term.ulp + num::kSquareBits - units.exponent));
  }
  sum_abs += abs;
  sum_squares += static_cast<std::uint64_t>(root) * root;
}
[[nodiscard]] __device__ inline std::uint32_t digit_of(double x, const LineUnits& units) {
  if (units.is_plain) return plain_digit(x, units);
  const Term term = term_of(magnitude_bits(x));
  return static_cast<std::uint32_t>(floor_shift(term.mantissa, term.ulp + num::kDigitBits - units.exponent));
}

/// The real terms of one element.
template <class T>
struct Element {
  static constexpr int kTerms = kIsComplex<T> ? 2 : 1;
  double term[kTerms];
  RealOf<T> number[kTerms];  ///< the same as they are stored
};
template <class T>
[[nodiscard]] __device__ inline Element<T> load_element(const T* address) {
  if constexpr (kIsComplex<T>) {
    if constexpr (sizeof(T) == 16) {
      const double2 x = *reinterpret_cast<const double2*>(address);
      return {{x.x, x.y}, {x.x, x.y}};
    } else {
      const float2 x = *reinterpret_cast<const float2*>(address);
      return {{static_cast<double>(x.x), static_cast<double>(x.y)}, {x.x, x.y}};
    }
  } else {
    return {{static_cast<double>(*address)}, {*address}};
  }
}

}  // namespace kizami::device
