// SPDX-License-Identifier: MIT
// FP64 by pairs of FP32: the baseline "ff32" of studies and benchmarks, for processors that have FP32 alone. A number
// is the unevaluated sum of two FP32 numbers, about 48 bits in FP32's range of exponents. What a user would write
// without this library, on processors and in CUDA: nothing of src/ is used.
#pragma once

#include <cmath>
#include <cstdint>

#include "kizami/host_device.hpp"

namespace kizami::check {

/// Normalized: hi is the sum rounded to FP32.
struct FloatFloat {
  float hi = 0;
  float lo = 0;
  friend constexpr bool operator==(const FloatFloat&, const FloatFloat&) = default;
};

/// Largest |exponent| of an element: products and sums then neither overflow nor lose bits below FP32's range.
inline constexpr int kMostFloatFloatExponent = 50;
/// Most terms of a sum: 2^24 2^100 is finite.
inline constexpr std::int64_t kMostFloatFloatTerms = std::int64_t{1} << 24;

/// Zero, or 2^-50 <= |x| <= 2^50: no NaN, no Inf.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_float_float(double x) noexcept {
  const double magnitude = x < 0 ? -x : x;
  return magnitude == 0 || (magnitude >= 0x1p-50 && magnitude <= 0x1p50);
}

/// The nearest FP32 number and what it lacks, rounded.
/// @range is_float_float(x). @bound u^2 |x|, u = 2^-24
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr FloatFloat to_float_float(double x) noexcept {
  const auto hi = static_cast<float>(x);
  return {hi, static_cast<float>(x - static_cast<double>(hi))};
}
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr double to_double(FloatFloat x) noexcept {
  return static_cast<double>(x.hi) + static_cast<double>(x.lo);
}

/// a + b and what it lacks, exactly; the second for |a| >= |b|.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr FloatFloat two_sum(float a, float b) noexcept {
  const float sum = a + b;
  const float b_seen = sum - a;
  return {sum, (a - (sum - b_seen)) + (b - b_seen)};
}
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr FloatFloat fast_two_sum(float a, float b) noexcept {
  const float sum = a + b;
  return {sum, b - (sum - a)};
}

/// a + b. @bound 3.01 u^2 |a + b|. @cite [JMP2017, Algorithm 6]
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr FloatFloat add(FloatFloat a, FloatFloat b) noexcept {
  const FloatFloat high = two_sum(a.hi, b.hi);
  const FloatFloat low = two_sum(a.lo, b.lo);
  const FloatFloat sum = fast_two_sum(high.hi, high.lo + low.hi);
  return fast_two_sum(sum.hi, low.lo + sum.lo);
}

/// a b. @bound 5 u^2 |a b|, 5.75 with what is below 2^-149. @cite [JMP2017, Algorithm 12]
[[nodiscard]] KIZAMI_HOST_DEVICE inline FloatFloat multiply(FloatFloat a, FloatFloat b) noexcept {
  const float product = a.hi * b.hi;
  const float error = std::fma(a.hi, b.hi, -product);
  const float cross = std::fma(a.lo, b.hi, std::fma(a.hi, b.lo, a.lo * b.lo));
  return fast_two_sum(product, error + cross);
}

/// sum + a b.
[[nodiscard]] KIZAMI_HOST_DEVICE inline FloatFloat multiply_add(FloatFloat sum, FloatFloat a, FloatFloat b) noexcept {
  return add(sum, multiply(a, b));
}

/// Bound of |result - a.b| / (|a|.|b|) of k terms from FP64 elements, added one after another from zero and rounded to
/// FP64: a term has 2 u^2 of its elements and 5.75 of its product, k - 1 sums 3.01 each; 1 + 2^-20 covers terms of
/// higher order.
/// @range is_float_float() of all elements, 0 <= k <= kMostFloatFloatTerms
[[nodiscard]] constexpr double float_float_bound(std::int64_t k) noexcept {
  return (3.01 * static_cast<double>(k) + 8) * 0x1p-48 * (1 + 0x1p-20) + 0x1p-53;
}

}  // namespace kizami::check
