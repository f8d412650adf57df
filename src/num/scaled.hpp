// SPDX-License-Identifier: MIT
// A product before the epilogue, and the one expression that every engine ends with.
//   C_ij = round_T(alpha p + round_64(beta c)),  one fused multiply-add, exponents unbounded until the last step,
// so finite inputs never give NaN or a spurious Inf in between, and a fast path gives the same bits as the slow one.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

#include "kizami/host_device.hpp"
#include "num/exponent.hpp"

namespace kizami::num {

/// The FP64 number mantissa * 2^exponent without limits on the exponent.
/// @range mantissa is 0 or 2^52 <= |mantissa| <= 2^53, an integer
struct Scaled {
  double mantissa = 0;
  int exponent = 0;
};

/// Normalises any finite x 2^s. @exact
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr Scaled make_scaled(double x, int s) {
  if (x == 0.0) return {x, 0};
  const int e = floor_log2(x) - 52;
  return {ldexp(x, -e), e + s};
}

/// Rounds (-1)^negative magnitude 2^exponent to 53 bits, to nearest with ties to even.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr Scaled round_to_scaled(bool negative, std::uint64_t hi, std::uint64_t lo,
                                                                  bool sticky, int exponent) {
  if (hi == 0 && lo == 0) return {};
  if (hi == 0) {
    hi = lo;
    lo = 0;
    exponent -= 64;
  }
  const int zeros = count_leading_zeros(hi);
  if (zeros > 0) {
    hi = (hi << zeros) | (lo >> (64 - zeros));
    lo <<= zeros;
  }
  // The leading bit of hi is set: 53 bits kept, 11 and lo and sticky decide.
  std::uint64_t kept = hi >> 11;
  const std::uint64_t rest = hi & 0x7FF;
  const bool above_half = rest > 0x400 || (rest == 0x400 && (lo != 0 || sticky));
  if (above_half || (rest == 0x400 && (kept & 1) != 0)) ++kept;
  const auto magnitude = static_cast<double>(kept);
  return {negative ? -magnitude : magnitude, exponent + 64 - zeros + 11};
}

/// x y + z with one rounding to 53 bits and no limits on exponents; terms with a zero factor add nothing, not even the
/// sign of zero.
/// Both terms are scaled so that the larger has magnitude in [1, 16): no overflow, and what underflows lies more than
/// 2^200 below a sum that the exact product's 106 bits keep away from ties.
[[nodiscard]] KIZAMI_HOST_DEVICE inline Scaled fma_scaled(Scaled x, Scaled y, Scaled z) {
  if (x.mantissa == 0.0 || y.mantissa == 0.0) return z;
  const int xy_exponent = x.exponent + y.exponent;
  if (z.mantissa == 0.0) return make_scaled((x.mantissa * 0x1p-52) * (y.mantissa * 0x1p-52), xy_exponent + 104);
  const int z_exponent = z.exponent - 52;  // z = (mantissa 2^-52) 2^(z_exponent + 104)
  const int gap = z_exponent - xy_exponent;
  const int common = gap > 0 ? z_exponent : xy_exponent;
  const int xy_shift = gap > 250 ? -250 : gap > 0 ? -gap : 0;
  const int z_shift = gap < -250 ? -250 : gap < 0 ? gap : 0;
  const double sum = std::fma(ldexp(x.mantissa, xy_shift - 52), y.mantissa * 0x1p-52, ldexp(z.mantissa, z_shift - 52));
  return make_scaled(sum, common + 104);
}

namespace detail {

/// No operation on such numbers overflows or underflows.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_moderate(double x) {
  const int e = floor_log2(x);
  return x == 0.0 || (e > -400 && e < 400);
}
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_moderate(Scaled x) {
  return x.mantissa == 0.0 || (x.exponent > -400 && x.exponent < 400);
}

/// alpha p + beta c with any exponents, to the bit as the fast path where that does not overflow or underflow.
[[nodiscard]] KIZAMI_HOST_DEVICE inline double fused_wide(double alpha, Scaled p, double beta, double c) {
  // Zeros keep their signs: as there.
  if (alpha == 0.0 || p.mantissa == 0.0) {
    if (beta == 0.0) return alpha * p.mantissa;
    const Scaled y = fma_scaled(make_scaled(beta, 0), make_scaled(c, 0), {});
    return y.mantissa == 0.0 ? alpha * p.mantissa + beta * c : ldexp(y.mantissa, y.exponent);
  }
  const Scaled y = fma_scaled(make_scaled(beta, 0), make_scaled(c, 0), {});
  const Scaled sum = fma_scaled(make_scaled(alpha, 0), p, y);
  return ldexp(sum.mantissa, sum.exponent);
}

}  // namespace detail

/// alpha p + beta c of finite numbers where no product overflows or underflows. c is not looked at if beta = 0.
[[nodiscard]] KIZAMI_HOST_DEVICE inline double finish_moderate(double p, double alpha, double beta, double c) {
  return beta == 0.0 ? alpha * p : std::fma(alpha, p, beta * c);
}
/// The same for FP32: any p, alpha, beta and c.
[[nodiscard]] KIZAMI_HOST_DEVICE inline float finish_moderate(double p, float alpha, float beta, float c) {
  return static_cast<float>(
      finish_moderate(p, static_cast<double>(alpha), static_cast<double>(beta), static_cast<double>(c)));
}

/// alpha p + beta c for FP64. c is not looked at if beta = 0.
/// @exact alpha = 1, beta = 0: p rounded into the range of the type (gradual underflow, Inf), nothing else.
/// @bound num::epilogue_bound() otherwise. NaN and Inf in alpha, beta, c: as alpha * p + beta * c in IEEE arithmetic
///        whose finite products do not overflow.
[[nodiscard]] KIZAMI_HOST_DEVICE inline double finish(Scaled p, double alpha, double beta, double c) {
  if (alpha == 1.0 && beta == 0.0) return ldexp(p.mantissa, p.exponent);
  if (beta == 0.0) c = 0.0;
  if (!is_finite(alpha) || !is_finite(beta) || !is_finite(c)) {
    const double x = is_finite(alpha) ? alpha * (p.mantissa == 0.0 ? 0.0 : 1.0) : alpha * p.mantissa;
    return is_finite(beta) && is_finite(c) ? x : x + beta * c;  // a finite beta c that overflows is still finite
  }
  if (detail::is_moderate(p) && detail::is_moderate(alpha) && detail::is_moderate(beta) && detail::is_moderate(c))
    return finish_moderate(ldexp(p.mantissa, p.exponent), alpha, beta, c);
  return detail::fused_wide(alpha, p, beta, c);
}

/// alpha p + beta c for FP32: in FP64, where neither FP32 products nor their sums overflow or underflow, then one
/// rounding.
[[nodiscard]] KIZAMI_HOST_DEVICE inline float finish(Scaled p, float alpha, float beta, float c) {
  return finish_moderate(ldexp(p.mantissa, p.exponent), alpha, beta, c);
}

/// The parts of a complex product.
struct ScaledComplex {
  Scaled re;
  Scaled im;
};

namespace detail {

/// A factor of a sum in which only NaN, Inf, signs and zeros matter: finite * finite then counts as 0 or +-1.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr double unit_of(double x) {
  return x == 0.0 || !is_finite(x) ? x : x > 0.0 ? 1.0 : -1.0;
}

/// x1 p1 + x2 p2 + y1 c1 + y2 c2, summed from the right by fused multiply-adds, where nothing overflows or underflows.
[[nodiscard]] KIZAMI_HOST_DEVICE inline double finish_moderate_part(double x1, double p1, double x2, double p2,
                                                                    double y1, double c1, double y2, double c2) {
  return std::fma(x1, p1, std::fma(x2, p2, std::fma(y1, c1, y2 * (y2 == 0.0 ? 0.0 : c2))));
}

/// One part of alpha p + beta c in FP64: x1 p1 + x2 p2 + y1 c1 + y2 c2.
/// With alpha and beta real (x2 = y2 = 0) it is the real expression: beta then meets no Inf of the other part of c.
[[nodiscard]] KIZAMI_HOST_DEVICE inline double finish_part(double x1, Scaled p1, double x2, Scaled p2, double y1,
                                                           double c1, double y2, double c2) {
  if (y2 == 0.0) c2 = 0.0;
  if (!is_finite(x1) || !is_finite(x2) || !is_finite(y1) || !is_finite(y2) || !is_finite(c1) || !is_finite(c2)) {
    return unit_of(x1) * unit_of(p1.mantissa) +
           (unit_of(x2) * unit_of(p2.mantissa) + (unit_of(y1) * unit_of(c1) + unit_of(y2) * unit_of(c2)));
  }
  if (is_moderate(p1) && is_moderate(p2) && is_moderate(x1) && is_moderate(x2) && is_moderate(y1) && is_moderate(y2) &&
      is_moderate(c1) && is_moderate(c2)) {
    return finish_moderate_part(x1, ldexp(p1.mantissa, p1.exponent), x2, ldexp(p2.mantissa, p2.exponent), y1, c1, y2,
                                c2);
  }
  Scaled sum = fma_scaled(make_scaled(y2, 0), make_scaled(c2, 0), {});
  sum = fma_scaled(make_scaled(y1, 0), make_scaled(c1, 0), sum);
  sum = fma_scaled(make_scaled(x2, 0), p2, sum);
  sum = fma_scaled(make_scaled(x1, 0), p1, sum);
  return ldexp(sum.mantissa, sum.exponent);
}
/// The same for parts in FP32: in FP64, rounded once more.
[[nodiscard]] KIZAMI_HOST_DEVICE inline float finish_part(float x1, Scaled p1, float x2, Scaled p2, float y1, float c1,
                                                          float y2, float c2) {
  return static_cast<float>(
      finish_moderate_part(x1, ldexp(p1.mantissa, p1.exponent), x2, ldexp(p2.mantissa, p2.exponent), y1, c1, y2, c2));
}

}  // namespace detail

/// alpha p + beta c for complex types where nothing overflows or underflows on the way; of FP32 parts: always.
/// @range beta is not zero, or c is
template <class R>
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::complex<R> finish_moderate(std::complex<double> p, std::complex<R> alpha,
                                                                        std::complex<R> beta, std::complex<R> c) {
  return {static_cast<R>(detail::finish_moderate_part(alpha.real(), p.real(), -alpha.imag(), p.imag(), beta.real(),
                                                      c.real(), -beta.imag(), c.imag())),
          static_cast<R>(detail::finish_moderate_part(alpha.real(), p.imag(), alpha.imag(), p.real(), beta.real(),
                                                      c.imag(), beta.imag(), c.real()))};
}

/// alpha p + beta c for complex types. c is not looked at if beta = 0.
/// @exact alpha = 1, beta = 0: each part of p rounded into the range of the type
/// @bound num::epilogue_bound() for each part. NaN and Inf in alpha, beta, c: by the formula of complex multiplication
///        as BLAS has it, without the repairs of C's Annex G, and part by part where alpha or beta is real
template <class R>
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::complex<R> finish(ScaledComplex p, std::complex<R> alpha,
                                                               std::complex<R> beta, std::complex<R> c) {
  const bool has_c = beta.real() != R{0} || beta.imag() != R{0};
  if (!has_c) {
    if (alpha.real() == R{1} && alpha.imag() == R{0})
      return {finish(p.re, R{1}, R{0}, R{0}), finish(p.im, R{1}, R{0}, R{0})};
    c = {};
  }
  return {detail::finish_part(alpha.real(), p.re, -alpha.imag(), p.im, beta.real(), c.real(), -beta.imag(), c.imag()),
          detail::finish_part(alpha.real(), p.im, alpha.imag(), p.re, beta.real(), c.imag(), beta.imag(), c.real())};
}

/// The same for a product that is NaN or Inf itself.
template <class T>
[[nodiscard]] KIZAMI_HOST_DEVICE inline T finish_nonfinite(double p, T alpha, T beta, T c) {
  const T x = static_cast<T>(static_cast<double>(alpha) * p);
  return beta == T{0} || (is_finite(beta) && is_finite(c)) ? x : x + beta * c;
}

/// a * b by the formula, without the repairs of C's Annex G; part by part if a is real.
template <class R>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::complex<R> multiply(std::complex<R> a, std::complex<R> b) {
  if (a.imag() == R{0}) return {a.real() * b.real(), a.real() * b.imag()};
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// beta x, for a product that has no terms.
template <class R>
requires kIsReal<R>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr R scale_by(R beta, R x) { return beta * x; }
/// Likewise for complex types. Where the formula overflows on the way, the sum may still be finite; where both terms of
/// a part underflow, it is rounded once.
template <class R>
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::complex<R> scale_by(std::complex<R> beta, std::complex<R> x) {
  const auto is_finite_pair = [](std::complex<R> z) { return is_finite(z.real()) && is_finite(z.imag()); };
  const std::complex<R> product = multiply(beta, x);
  if (!is_finite_pair(beta) || !is_finite_pair(x)) return product;
  if (!is_finite_pair(product)) return finish(ScaledComplex{}, std::complex<R>{}, beta, x);
  if (beta.real() == R{0} || beta.imag() == R{0} || x.real() == R{0} || x.imag() == R{0}) return product;
  // Two products that are both rounded to a multiple of the smallest number: their sum is rounded once instead.
  const auto is_tiny = [](R y) { return std::fabs(y) < 2 * exp2i<R>(FloatTraits<R>::kMinExponent); };
  const bool is_re_tiny = is_tiny(beta.real() * x.real()) && is_tiny(beta.imag() * x.imag());
  const bool is_im_tiny = is_tiny(beta.real() * x.imag()) && is_tiny(beta.imag() * x.real());
  if (!is_re_tiny && !is_im_tiny) return product;
  const std::complex<R> once = finish(ScaledComplex{}, std::complex<R>{}, beta, x);
  return {is_re_tiny ? once.real() : product.real(), is_im_tiny ? once.imag() : product.imag()};
}

namespace detail {

/// One part, x1 p1 + x2 p2 + y1 c1 + y2 c2 with p1 and p2 NaN or Inf: finite terms are nothing beside them, not even
/// where they overflow.
[[nodiscard]] KIZAMI_HOST_DEVICE inline double finish_nonfinite_part(double x1, double p1, double x2, double p2,
                                                                     double y1, double c1, double y2, double c2) {
  const double x = unit_of(x1) * p1 + (x2 == 0.0 ? 0.0 : unit_of(x2) * p2);
  return x + (unit_of(y1) * unit_of(c1) + (y2 == 0.0 ? 0.0 : unit_of(y2) * unit_of(c2)));
}

}  // namespace detail

/// alpha p + beta c for a complex product of which both parts are NaN or Inf, as an element that is NaN or Inf makes
/// them.
template <class R>
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::complex<R> finish_nonfinite(std::complex<double> p, std::complex<R> alpha,
                                                                         std::complex<R> beta, std::complex<R> c) {
  if (beta.real() == R{0} && beta.imag() == R{0}) c = {};
  return {static_cast<R>(detail::finish_nonfinite_part(alpha.real(), p.real(), -alpha.imag(), p.imag(), beta.real(),
                                                       c.real(), -beta.imag(), c.imag())),
          static_cast<R>(detail::finish_nonfinite_part(alpha.real(), p.imag(), alpha.imag(), p.real(), beta.real(),
                                                       c.imag(), beta.imag(), c.real()))};
}

}  // namespace kizami::num
