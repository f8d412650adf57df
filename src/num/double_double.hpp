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
};

/// The sum rounded to two parts: within 2^-106 of it, relative.
[[nodiscard]] inline ScaledDoubleDouble round_double_double(LongAccumulator sum) {
  ScaledDoubleDouble out;
  out.hi = sum.round_scaled();
  sum.add_product(-out.hi.mantissa, 1.0, out.hi.exponent);
  out.lo = sum.round_scaled();
  return out;
}

/// p rounded into the range of the type: Inf beyond it, gradual underflow of lo and then of hi.
[[nodiscard]] inline DoubleDouble to_double_double(const ScaledDoubleDouble& p) {
  const double hi = ldexp(p.hi.mantissa, p.hi.exponent);
  const double lo = ldexp(p.lo.mantissa, p.lo.exponent);
  const double sum = hi + lo;  // differs from hi where a subnormal lo was rounded up to half a unit of an odd hi
  return is_finite(sum) ? DoubleDouble(sum, lo - (sum - hi)) : DoubleDouble(hi);
}

/// alpha p + beta c. c is not looked at if beta = 0.
/// @exact alpha = 1, beta = 0: p rounded into the range of the type
/// @bound otherwise 2^-106 of the result and half the smallest subnormal number: products and sums are exact. NaN and Inf
///        in alpha, beta, c: as for double
[[nodiscard]] inline DoubleDouble finish(const ScaledDoubleDouble& p, DoubleDouble alpha, DoubleDouble beta,
                                         DoubleDouble c) {
  if (alpha == DoubleDouble{1} && beta == DoubleDouble{0}) return to_double_double(p);
  if (beta == DoubleDouble{0}) c = DoubleDouble{};
  for (const double x : {alpha.hi, alpha.lo, beta.hi, beta.lo, c.hi, c.lo}) {
    if (!is_finite(x)) return DoubleDouble(finish(p.hi, alpha.hi, beta.hi, c.hi));
  }
  LongAccumulator sum;
  for (const double x : {alpha.hi, alpha.lo}) {
    sum.add_product(p.hi.mantissa, x, p.hi.exponent);
    sum.add_product(p.lo.mantissa, x, p.lo.exponent);
  }
  for (const double x : {beta.hi, beta.lo}) {
    sum.add_product(c.hi, x);
    sum.add_product(c.lo, x);
  }
  return to_double_double(round_double_double(sum));
}

}  // namespace kizami::num
