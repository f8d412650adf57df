// SPDX-License-Identifier: MIT
// A product before the epilogue, and the one expression that every engine ends with.
//   C_ij = round_T(alpha p + round_64(beta c)),  one fused multiply-add, exponents unbounded until the last step,
// so finite inputs never give NaN or a spurious Inf in between, and a fast path gives the same bits as the slow one.
#pragma once

#include <cmath>
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

namespace detail {

/// Both terms scaled by 2^-e, so that the larger has magnitude in [1, 16): no overflow, and what underflows lies more
/// than 2^200 below a sum that the exact product's 106 bits keep away from ties.
[[nodiscard]] KIZAMI_HOST_DEVICE inline double fused_wide(double alpha, Scaled p, double beta, double c) {
  const Scaled a = make_scaled(alpha, 0);
  const Scaled b = make_scaled(beta, 0);
  const Scaled d = make_scaled(c, 0);
  const bool has_y = b.mantissa != 0.0 && d.mantissa != 0.0;
  const int x_exponent = a.exponent + p.exponent;
  const int y_exponent = b.exponent + d.exponent;
  if (!has_y) {
    // beta = 0 adds nothing, so that -0 stays: as on the fast path.
    if (a.mantissa == 0.0 || p.mantissa == 0.0) return a.mantissa * p.mantissa + (beta == 0.0 ? -0.0 : beta * c);
    return ldexp((a.mantissa * 0x1p-52) * (p.mantissa * 0x1p-52), x_exponent + 104);
  }
  const double y = (b.mantissa * 0x1p-52) * (d.mantissa * 0x1p-52);  // rounded once, in [1, 4]
  if (a.mantissa == 0.0 || p.mantissa == 0.0) return ldexp(y, y_exponent + 104);
  const int gap = y_exponent - x_exponent;
  const int common = gap > 0 ? y_exponent : x_exponent;
  const int x_shift = gap > 250 ? -250 : gap > 0 ? -gap : 0;
  const int y_shift = gap < -250 ? -250 : gap < 0 ? gap : 0;
  const double sum = std::fma(ldexp(a.mantissa, x_shift - 52), p.mantissa * 0x1p-52, ldexp(y, y_shift));
  return ldexp(sum, common + 104);
}

[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_moderate(double x) {
  const int e = floor_log2(x);
  return x == 0.0 || (e > -400 && e < 400);
}

}  // namespace detail

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
  const bool is_small = p.exponent > -400 && p.exponent < 400;
  if (is_small && detail::is_moderate(alpha) && detail::is_moderate(beta) && detail::is_moderate(c)) {
    const double value = ldexp(p.mantissa, p.exponent);
    return beta == 0.0 ? alpha * value : std::fma(alpha, value, beta * c);
  }
  return detail::fused_wide(alpha, p, beta, c);
}

/// alpha p + beta c for FP32: in FP64, where neither FP32 products nor their sums overflow or underflow, then one
/// rounding.
[[nodiscard]] KIZAMI_HOST_DEVICE inline float finish(Scaled p, float alpha, float beta, float c) {
  const double value = ldexp(p.mantissa, p.exponent);
  if (alpha == 1.0F && beta == 0.0F) return static_cast<float>(value);
  if (beta == 0.0F) return static_cast<float>(static_cast<double>(alpha) * value);
  return static_cast<float>(
      std::fma(static_cast<double>(alpha), value, static_cast<double>(beta) * static_cast<double>(c)));
}

/// The same for a product that is NaN or Inf itself.
template <class T>
[[nodiscard]] KIZAMI_HOST_DEVICE inline T finish_nonfinite(double p, T alpha, T beta, T c) {
  const T x = static_cast<T>(static_cast<double>(alpha) * p);
  return beta == T{0} || (is_finite(beta) && is_finite(c)) ? x : x + beta * c;
}

}  // namespace kizami::num
