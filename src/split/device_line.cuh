// SPDX-License-Identifier: MIT
// One FP64 term as device code sees it: an integer times a power of two. Everything below is integer arithmetic, so it
// agrees with the host's FP64 formulas to the bit.
#pragma once

#include <complex>
#include <cstdint>

#include "kizami/types.hpp"
#include "num/line_stats.hpp"
#include "split/digits.hpp"

namespace kizami::split::device {

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
/// Exponent of the lowest set bit, from the words of a magnitude. @range not zero
[[nodiscard]] __device__ inline int lsb_of_words(std::uint32_t high, std::uint32_t low) {
  const int field = static_cast<int>(high >> 20);
  // The hidden bit stands at 20 of the high word; a subnormal has none, and its lowest bit is below it or in `low`.
  const int zeros = low != 0 ? __ffs(static_cast<int>(low)) - 1 : __ffs(static_cast<int>(high | 0x00100000u)) + 31;
  return max(field, 1) - 1075 + zeros;
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

/// What the sums of a line need of a term, unless the line's exponent is near the bottom of the range: the high word of |x|,
/// and in place of the sign whether the low word is not zero.
[[nodiscard]] __device__ inline std::uint32_t pack_term(double x) {
  const std::uint64_t bits = magnitude_bits(x);
  return static_cast<std::uint32_t>(bits >> 32) | (static_cast<std::uint32_t>(bits) != 0 ? 0x80000000u : 0u);
}
/// Lines of larger exponents have no subnormal term that counts for more than one unit.
inline constexpr int kLeastPackedExponent = -1000;

__device__ inline void add_units(std::uint32_t units, std::uint64_t& sum_abs, std::uint64_t& sum_squares) {
  constexpr int kCoarser = num::kAbsBits - num::kSquareBits;
  const std::uint32_t coarse = (units + (1u << kCoarser) - 1) >> kCoarser;
  sum_abs += units;
  sum_squares += static_cast<std::uint64_t>(coarse) * coarse;
}

/// Adds a term to the sums of a line of this exponent (see num::LineStats) and returns its digit, floor(|x| 2^(6 -
/// exponent)). @range exponent > kLeastPackedExponent, or x = 0
[[nodiscard]] __device__ inline std::uint32_t add_packed(std::uint32_t packed, int exponent, std::uint64_t& sum_abs,
                                                         std::uint64_t& sum_squares) {
  static_assert(num::kAbsBits == 20 && kDigitBits == 6, "the shifts below");
  // A normal term has 21 bits in its high word, of which all belong to the units of a term of the line's exponent. A
  // subnormal one is less than a unit, and so is what this makes of it.
  const std::uint32_t top = packed & 0x7FFFFFFFu;
  const std::uint32_t high = (top & 0x000FFFFFu) | (top >= 0x00100000u ? 0x00100000u : 0u);
  const int drop = min(exponent + 1023 - static_cast<int>(top >> 20), 31);
  const std::uint32_t whole = high >> drop;
  const bool has_rest = high != whole << drop || (packed >> 31) != 0;
  add_units(whole + (has_rest ? 1u : 0u), sum_abs, sum_squares);
  return whole >> 14;
}

/// The same for any exponent.
[[nodiscard]] __device__ inline std::uint32_t add_term(double x, int exponent, std::uint64_t& sum_abs,
                                                       std::uint64_t& sum_squares) {
  if (exponent > kLeastPackedExponent) return add_packed(pack_term(x), exponent, sum_abs, sum_squares);
  const Term term = term_of(magnitude_bits(x));
  add_units(static_cast<std::uint32_t>(ceil_shift(term.mantissa, term.ulp + num::kAbsBits - exponent)), sum_abs,
            sum_squares);
  return static_cast<std::uint32_t>(floor_shift(term.mantissa, term.ulp + kDigitBits - exponent));
}

/// The real terms of one element as FP64.
template <class T>
struct Element {
  static constexpr int kTerms = kIsComplex<T> ? 2 : 1;
  double term[kTerms];
};
template <class T>
[[nodiscard]] __device__ inline Element<T> load_element(const T* address) {
  if constexpr (kIsComplex<T>) {
    if constexpr (sizeof(T) == 16) {
      const double2 x = *reinterpret_cast<const double2*>(address);
      return {{x.x, x.y}};
    } else {
      const float2 x = *reinterpret_cast<const float2*>(address);
      return {{static_cast<double>(x.x), static_cast<double>(x.y)}};
    }
  } else {
    return {{static_cast<double>(*address)}};
  }
}

}  // namespace kizami::split::device
