// SPDX-License-Identifier: MIT
// Error-free transformations: a sum or product as the rounded result plus its rounding error, both of the same type.
//   a + b == sum.hi + sum.lo      a * b == product.hi + product.lo      a == split.hi + split.lo      (as reals)
// and the double-double numbers built from them. Requires round to nearest even, every operation rounded to its own
// type, and no reassociation. No expression below pairs a rounded product with a sum, so contracting to fused
// multiply-adds cannot change a bit. May not: run under -ffast-math or x87 arithmetic, both are refused here.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "kizami/host_device.hpp"
#include "kizami/types.hpp"
#include "num/exponent.hpp"

#if defined(__FAST_MATH__)
#error "num/error_free.hpp: -ffast-math reassociates sums, which destroys error-free transformations"
#endif
static_assert(FLT_EVAL_METHOD == 0, "num/error_free.hpp: sums must be rounded to their own type, not to a wider one");

namespace kizami::num {

/// The unevaluated sum hi + lo of a rounded result and what it lacks.
template <class T>
struct Pair {
  T hi = 0;
  T lo = 0;
  friend constexpr bool operator==(const Pair&, const Pair&) = default;
};

/// An unevaluated sum of two doubles. "Normalized" means hi == fl(hi + lo), hence |lo| <= ulp(hi) / 2.
using DoubleDouble = Pair<double>;

/// Adds two numbers and returns the rounding error too: six operations, no comparison.
/// @range any order of |a| and |b|; a + b must not overflow, and |a| < max_finite, so that sum - a does not either.
///        Underflow is harmless: sums are multiples of 2^kMinUlpExponent, hence exact below the normal range.
/// @exact hi == fl(a + b), hi + lo == a + b. @cite [Knuth1997, sec. 4.2.2, Theorem B]; [ORO2005, Algorithm 3.1]
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr Pair<T> two_sum(T a, T b) noexcept {
  const T sum = a + b;
  const T b_seen = sum - a;
  const T a_seen = sum - b_seen;
  return {sum, (a - a_seen) + (b - b_seen)};
}

/// Adds two ordered numbers and returns the rounding error too: three operations.
/// @range a == 0, or floor_log2(a) >= floor_log2(b), for which |a| >= |b| suffices; a + b must not overflow. Otherwise
///        hi is still fl(a + b) but lo may miss bits.
/// @exact hi == fl(a + b), hi + lo == a + b. @cite [Dekker1971, sec. 4]
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr Pair<T> fast_two_sum(T a, T b) noexcept {
  const T sum = a + b;
  return {sum, b - (sum - a)};
}

/// Splits a after its leading kSignificandBits - low_bits bits, rounded to nearest.
/// @range 2 <= low_bits <= kSignificandBits - 2; |a| * (2^low_bits + 1) must not overflow: |a| < 2^(kMaxExponent -
///        low_bits) suffices (2^996 for the usual 27 of double). Subnormal a: exact.
/// @exact hi + lo == a; hi has at most kSignificandBits - low_bits significant bits, lo at most low_bits - 1 (its sign
///        is the missing bit); |lo| <= 2^(floor_log2(a) - kSignificandBits + low_bits). @cite [ORO2005, Algorithm 3.2]
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr Pair<T> split(T a, int low_bits) noexcept {
  // fl((2^s + 1) a) written as a sum: 2^s a is exact, so a fused multiply-add would give the same bits.
  const T scaled = exp2i<T>(low_bits) * a + a;
  const T hi = scaled - (scaled - a);
  return {hi, a - hi};
}

/// Returns the sigma with which split_by_sigma rounds to multiples of 2^unit_exponent: 0.75 * 2^(kSignificandBits +
/// unit_exponent), which is the 0.75 * 2^(rho + c) of the floating slices of Ozaki's scheme.
/// @range kMinUlpExponent <= unit_exponent <= kMaxExponent - kSignificandBits + 1 (971 for double, 104 for float), and
///        sigma + a finite.
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr T sigma_for_unit(int unit_exponent) noexcept {
  return round_to<T>(false, 3, unit_exponent + FloatTraits<T>::kSignificandBits - 2);
}

/// Rounds a to nearest, ties to even, to a multiple of 2^unit and returns the remainder too: three operations, with one
/// sigma for a whole row or matrix. The ulp of sigma + a is 2^unit whatever the sign of a; that is what 0.75 is for.
/// @range sigma == sigma_for_unit(unit), |a| <= 2^(unit + kSignificandBits - 2) = sigma / 3.
/// @exact hi + lo == a; hi is the multiple of 2^unit nearest to a, +0 when that is zero; |lo| <= 2^(unit - 1).
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr Pair<T> split_by_sigma(T a, T sigma) noexcept {
  const T hi = (sigma + a) - sigma;
  return {hi, a - hi};
}

namespace detail {

/// fl(a * b - c) by Dekker's splitting, for c == fl(a * b): the constant-evaluated stand-in of fma(a, b, -c).
template <class T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr T product_error_by_splitting(T a, T b, T product) noexcept {
  constexpr int kLowBits = FloatTraits<T>::kSignificandBits - FloatTraits<T>::kSignificandBits / 2;  // 27 or 12
  // Halves of 26 (12) bits: every partial product and every partial difference below is exact.
  const Pair<T> x = split(a, kLowBits);
  const Pair<T> y = split(b, kLowBits);
  return x.lo * y.lo - (((product - x.hi * y.hi) - x.lo * y.hi) - x.hi * y.lo);
}

}  // namespace detail

/// Multiplies two numbers and returns the rounding error too, by one fused multiply-add.
/// @range a * b must not overflow, and its error must be representable: a * b == 0, or lowest_bit_exponent(a) +
///        lowest_bit_exponent(b) >= kMinUlpExponent. |a * b| >= 2^(kMinExponent + kSignificandBits) suffices (2^-969
///        for double, 2^-102 for float). Below, hi is still fl(a * b) and lo is the error rounded once, to a multiple
///        of 2^kMinUlpExponent. Constant evaluation splits instead and also wants |a|, |b| < 2^996 (2^115 for float)
///        and |a * b| < 2^kMaxExponent.
/// @exact hi == fl(a * b), hi + lo == a * b. @cite [ORO2005, Algorithm 3.5]; [Dekker1971, sec. 5] for constants
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr Pair<T> two_product(T a, T b) noexcept {
  const T product = a * b;
  if (__builtin_is_constant_evaluated()) return {product, detail::product_error_by_splitting(a, b, product)};
  return {product, std::fma(a, b, -product)};
}

/// Adds one product to the running pair of a dot product as if in twice the precision; start from {0, 0}.
/// The pair is not normalized: hi is the plain rounded sum, lo the rounded sum of all rounding errors so far.
/// @range as two_product and two_sum, at every step.
/// @exact acc.hi + a * b == result.hi + q + r, where only lo + (q + r) rounds; so hi + lo is the exact dot product as
///        long as lo's sums do not round.
/// @bound after k steps without underflow: |dot2_value(acc) - a.b| <= u |a.b| + dot2_gamma_squared<T>(k) |a|.|b|, with
///        u = 2^-kSignificandBits. @cite [ORO2005, Algorithm 5.3, Proposition 5.5]
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr Pair<T> dot2_step(Pair<T> acc, T a, T b) noexcept {
  const Pair<T> product = two_product(a, b);
  const Pair<T> sum = two_sum(acc.hi, product.hi);
  return {sum.hi, acc.lo + (sum.lo + product.lo)};
}

/// Returns gamma_k^2 = (k u / (1 - k u))^2, u = 2^-kSignificandBits, rounded up: the second term of dot2_step's bound.
/// @range 0 <= k < 2^kSignificandBits. @exact k u and 1 - k u; the factor 1 + 2^-50 covers the four roundings.
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr double dot2_gamma_squared(std::int64_t k) noexcept {
  const double k_u = static_cast<double>(k) * exp2i<double>(-FloatTraits<T>::kSignificandBits);
  const double gamma = k_u / (1 - k_u);
  return gamma * gamma * (1 + exp2i<double>(-50));
}

/// Rounds the pair of a dot product to one number: fl(hi + lo).
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr T dot2_value(Pair<T> acc) noexcept { return acc.hi + acc.lo; }

/// Bounds |result - exact| / |exact| of the double-double operations below, in units of u^2, u = 2^-kSignificandBits:
/// 3 / (1 - 4 u) for a sum of two pairs, which is below 3.01; 2 for pair and number; 5 for a product of two pairs.
inline constexpr double kAddPairBoundUnits = 3.01;
inline constexpr double kAddBoundUnits = 2;
inline constexpr double kMultiplyBoundUnits = 2;
inline constexpr double kMultiplyPairBoundUnits = 5;

/// Adds a number to a double-double. The result is normalized.
/// @range a normalized; no overflow. @bound kAddBoundUnits * u^2 * |a + b|. @cite [JMP2017, Algorithm 4]
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr Pair<T> add(Pair<T> a, T b) noexcept {
  const Pair<T> sum = two_sum(a.hi, b);
  return fast_two_sum(sum.hi, a.lo + sum.lo);
}

/// Adds two double-doubles. The result is normalized; opposite signs may cancel, the bound still holds.
/// @range a and b normalized; no overflow. @bound kAddPairBoundUnits * u^2 * |a + b|. @cite [JMP2017, Algorithm 6]
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr Pair<T> add(Pair<T> a, Pair<T> b) noexcept {
  const Pair<T> high = two_sum(a.hi, b.hi);
  const Pair<T> low = two_sum(a.lo, b.lo);
  const Pair<T> sum = fast_two_sum(high.hi, high.lo + low.hi);
  return fast_two_sum(sum.hi, low.lo + sum.lo);
}

/// Multiplies a double-double by a number. The result is normalized. Not for constant evaluation (it calls fma).
/// @range a normalized; no overflow, no underflow. @bound kMultiplyBoundUnits * u^2 * |a * b|.
/// @cite [JMP2017, Algorithm 9]
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE inline Pair<T> multiply(Pair<T> a, T b) noexcept {
  const Pair<T> product = two_product(a.hi, b);
  return fast_two_sum(product.hi, std::fma(a.lo, b, product.lo));
}

/// Multiplies two double-doubles. The result is normalized. Not for constant evaluation (it calls fma).
/// @range a and b normalized; no overflow, no underflow. @bound kMultiplyPairBoundUnits * u^2 * |a * b|.
/// @cite [JMP2017, Algorithm 12]
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE inline Pair<T> multiply(Pair<T> a, Pair<T> b) noexcept {
  const Pair<T> product = two_product(a.hi, b.hi);
  const T cross = std::fma(a.lo, b.hi, std::fma(a.hi, b.lo, a.lo * b.lo));
  return fast_two_sum(product.hi, product.lo + cross);
}

/// Adds the product of two numbers to a double-double; unlike dot2_step the result is normalized.
/// @range acc normalized; products as in two_product; no overflow. @bound kAddPairBoundUnits * u^2 * |acc + a * b|: the
///        product itself is exact.
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr Pair<T> multiply_add(Pair<T> acc, T a, T b) noexcept {
  return add(acc, two_product(a, b));
}

}  // namespace kizami::num
