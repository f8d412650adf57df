// SPDX-License-Identifier: MIT
// Where the bound of scheme native is certain. native_blas_bound() is that of arithmetic without overflow and
// underflow; a BLAS multiplies and adds in an order of its own, with or without fused multiply-adds, alpha first or
// last. From the exponents of the operands alone:
//   above   sums of all magnitudes, alpha A, alpha B and alpha A B + beta C stay below the largest number;
//   below   products of two or three factors (alpha, a, b), whatever was rounded on the way, are multiples of the smallest
//           subnormal number: sums of them are rounded like sums of normal numbers, or exact. alpha times a sum that
//           cancelled may still underflow, by half that number: num::epilogue_bound() has room for it, and for blocks
//           of k the bound counts one addition more than there are.
// @cite JR2013, theorem 4.2; Higham2002, section 2.8 (gradual underflow: sums are exact)
#pragma once

#include <algorithm>
#include <bit>
#include <complex>
#include <cstdint>

#include "kizami/types.hpp"
#include "num/exponent.hpp"
#include "num/line_stats.hpp"

namespace kizami::num {

/// floor(log2 |x|) of the finite non-zero numbers of a matrix, complex ones by parts.
struct ExponentRange {
  int least = kNoLsb;
  int most = kNoExponent;

  [[nodiscard]] constexpr bool is_empty() const { return most == kNoExponent; }
  constexpr void add(const ExponentRange& other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
  }
  friend constexpr bool operator==(const ExponentRange&, const ExponentRange&) = default;
};

/// Of one number. @range finite
template <class T>
[[nodiscard]] inline ExponentRange exponent_range_of(const T& x) {
  if constexpr (kIsComplex<T>) {
    ExponentRange range = exponent_range_of(x.real());
    range.add(exponent_range_of(x.imag()));
    return range;
  } else {
    return x == T{0} ? ExponentRange{} : ExponentRange{floor_log2(x), floor_log2(x)};
  }
}

/// Whether native_blas_bound() holds for all finite elements of alpha A B + beta C, with num::epilogue_bound() where
/// alpha or beta need it, in any order of operations. Sufficient, not necessary.
/// @range num_terms >= 1 real terms of an element; alpha, beta finite; `c` empty where beta = 0
template <class T>
[[nodiscard]] constexpr bool is_native_bound_certain(const ExponentRange& a, const ExponentRange& b,
                                                     std::int64_t num_terms, const ExponentRange& alpha,
                                                     const ExponentRange& c, const ExponentRange& beta) {
  using Traits = FloatTraits<RealOf<T>>;
  constexpr int kMost = Traits::kMaxExponent;
  constexpr int kFactorBits = Traits::kSignificandBits;
  // Two factors have 2 p bits; alpha b has parts that cancel if it is complex, and then meets a.
  constexpr int kLeast = Traits::kMinUlpExponent + (kIsComplex<T> ? 3 * kFactorBits + 1 : 2 * kFactorBits - 1);
  if (!a.is_empty() && !b.is_empty() && !alpha.is_empty()) {
    const int sum_bits = std::bit_width(static_cast<std::uint64_t>(num_terms - 1));
    const int up = std::max(0, alpha.most + 2);  // |Re alpha| + |Im alpha| < 2^(most + 2)
    if (a.most + b.most + 2 + sum_bits + up > kMost - 1) return false;
    if (std::max(a.most, b.most) + 1 + up > kMost) return false;
    const int down = std::min(0, alpha.least);
    if (a.least + b.least + down < kLeast) return false;
    if (down < 0 && std::min(a.least, b.least) + down < kLeast) return false;
  }
  if (c.is_empty() || beta.is_empty()) return true;
  if (kIsComplex<T> && c.least + std::min(0, beta.least) < kLeast) return false;
  return c.most + 1 + beta.most + 2 <= kMost - 1;
}

}  // namespace kizami::num
