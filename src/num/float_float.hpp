// SPDX-License-Identifier: MIT
// FP64 by pairs of FP32: the baseline "ff32" of studies, for processors that have FP32 alone. A number is the unevaluated sum of
// two FP32 numbers, about 48 bits in FP32's range of exponents; products and sums are those of num/error_free.hpp.
#pragma once

#include <cmath>
#include <cstdint>

#include "kizami/host_device.hpp"
#include "num/error_free.hpp"

namespace kizami::num {

using FloatFloat = Pair<float>;

/// Largest |exponent| of an element: products and sums then neither overflow nor lose bits below FP32's range.
inline constexpr int kMostFloatFloatExponent = 50;
/// Most terms of a sum: 2^24 2^100 is finite.
inline constexpr std::int64_t kMostFloatFloatTerms = std::int64_t{1} << 24;

/// Zero, or 2^-50 <= |x| <= 2^50: no NaN, no Inf.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_float_float(double x) noexcept {
  constexpr double kMost = exp2i<double>(kMostFloatFloatExponent);
  const double magnitude = x < 0 ? -x : x;
  return magnitude == 0 || (magnitude >= 1 / kMost && magnitude <= kMost);
}

/// The nearest FP32 number and what it lacks, rounded: normalized.
/// @range is_float_float(x). @bound u^2 |x|, u = 2^-24
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr FloatFloat to_float_float(double x) noexcept {
  const auto hi = static_cast<float>(x);
  return {hi, static_cast<float>(x - static_cast<double>(hi))};
}
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr double to_double(FloatFloat x) noexcept {
  return static_cast<double>(x.hi) + static_cast<double>(x.lo);
}

/// sum + a b, normalized.
[[nodiscard]] KIZAMI_HOST_DEVICE inline FloatFloat multiply_add(FloatFloat sum, FloatFloat a, FloatFloat b) noexcept {
  return add(sum, multiply(a, b));
}

/// Bound of |result - a.b| / (|a|.|b|) of k terms from FP64 elements, added one after another from zero and rounded to FP64:
/// a term has 2 u^2 of its elements, 5 of its product and 0.75 of what is below 2^-149, k - 1 sums 3.01 each.
/// @range is_float_float() of all elements, 0 <= k <= kMostFloatFloatTerms
[[nodiscard]] constexpr double float_float_bound(std::int64_t k) noexcept {
  constexpr double kUnit = exp2i<double>(-48);
  return (kAddPairBoundUnits * static_cast<double>(k) + 8) * kUnit * (1 + exp2i<double>(-20)) + exp2i<double>(-53);
}

}  // namespace kizami::num
