// SPDX-License-Identifier: MIT
// Double-double results: a product before the epilogue, and alpha p + beta c without rounding in between.
#pragma once

#include "kizami/types.hpp"
#include "num/exponent.hpp"
#include "num/long_accumulator.hpp"
#include "num/scaled.hpp"

namespace kizami::num {

/// hi + lo with |lo| <= 2^-53 |hi|, exponents without limits.
struct ScaledDoubleDouble {
  Scaled hi;
  Scaled lo;
  int rest = 0;  ///< sign of the exact value less hi + lo, at most half a unit of lo, where needs_rest(lo)
};

/// Whether lo will be rounded again, into the range of FP64: what it lacks then decides ties.
[[nodiscard]] constexpr bool needs_rest(Scaled lo) {
  return lo.mantissa != 0 && lo.exponent < FloatTraits<double>::kMinUlpExponent;
}

/// The sum rounded to two parts: within 2^-106 of it, relative.
[[nodiscard]] inline ScaledDoubleDouble round_double_double(LongAccumulator sum) {
  ScaledDoubleDouble out;
  out.hi = sum.round_scaled();
  sum.add_product(-out.hi.mantissa, 1.0, out.hi.exponent);
  out.lo = sum.round_scaled();
  if (!needs_rest(out.lo)) return out;
  sum.add_product(-out.lo.mantissa, 1.0, out.lo.exponent);
  out.rest = sum.sign();
  return out;
}

/// hi + lo as the type has it: hi = round(hi + lo). @range |lo| <= ulp(hi) / 2; hi may be Inf
[[nodiscard]] inline DoubleDouble normalised(double hi, double lo) {
  const double sum = hi + lo;  // differs from hi where lo is half a unit of an odd hi
  return is_finite(sum) ? DoubleDouble(sum, lo - (sum - hi)) : DoubleDouble(hi);
}

/// The sum rounded into the range of the type, once: within 2^-106 of it, or half the smallest subnormal number. Inf
/// beyond.
[[nodiscard]] inline DoubleDouble to_double_double(LongAccumulator sum) {
  const double hi = sum.round<double>(false);
  if (!is_finite(hi)) return DoubleDouble(hi);
  sum.add_product(-hi, 1.0);
  return normalised(hi, sum.round<double>(false));
}

/// Adds x times p, with a stand-in for what p lacks that no rounding into the range of FP64 tells from it.
/// @range x = +-1
inline void add_exactly(LongAccumulator& sum, const ScaledDoubleDouble& p, double x) {
  sum.add_product(p.hi.mantissa, x, p.hi.exponent);
  sum.add_product(p.lo.mantissa, x, p.lo.exponent);
  if (p.rest != 0) sum.add_product(p.rest, x, p.lo.exponent - 2);
}

/// p rounded into the range of the type: Inf beyond it, gradual underflow of lo and then of hi.
[[nodiscard]] inline DoubleDouble to_double_double(const ScaledDoubleDouble& p) {
  // Far below the range, where exponents have no limits: hi alone says which zero.
  const bool is_nothing = p.hi.exponent < FloatTraits<double>::kMinUlpExponent - 64;
  if (!needs_rest(p.lo) || is_nothing)
    return normalised(ldexp(p.hi.mantissa, p.hi.exponent), ldexp(p.lo.mantissa, p.lo.exponent));
  LongAccumulator sum;
  add_exactly(sum, p, 1.0);
  return to_double_double(sum);
}

/// alpha p + beta c. c is not looked at if beta = 0.
/// @exact alpha = 1, beta = 0: p rounded into the range of the type
/// @bound otherwise 2^-106 of the result or half the smallest subnormal number: products and sums are exact, the sum is
///        rounded once. NaN and Inf
///        in alpha, beta, c: as for double
[[nodiscard]] inline DoubleDouble finish(const ScaledDoubleDouble& p, DoubleDouble alpha, DoubleDouble beta,
                                         DoubleDouble c) {
  if (alpha == DoubleDouble{1} && beta == DoubleDouble{0}) return to_double_double(p);
  if (beta == DoubleDouble{0}) c = DoubleDouble{};
  for (const double x : {alpha.hi, alpha.lo, beta.hi, beta.lo, c.hi, c.lo}) {
    if (!is_finite(x)) return DoubleDouble(finish(p.hi, alpha.hi, beta.hi, c.hi));
  }
  LongAccumulator sum;
  if (alpha == DoubleDouble{-1}) {
    add_exactly(sum, p, -1.0);
  } else {
    for (const double x : {alpha.hi, alpha.lo}) {
      sum.add_product(p.hi.mantissa, x, p.hi.exponent);
      sum.add_product(p.lo.mantissa, x, p.lo.exponent);
    }
  }
  for (const double x : {beta.hi, beta.lo}) {
    sum.add_product(c.hi, x);
    sum.add_product(c.lo, x);
  }
  return to_double_double(sum);
}

}  // namespace kizami::num
