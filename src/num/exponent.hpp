// SPDX-License-Identifier: MIT
// Exponents, exact scaling by powers of two, and the one correctly rounded way from an integer to a float or double.
//   x = (-1)^negative * magnitude * 2^exponent, magnitude an integer; every function below is a statement about that.
// Integer arithmetic only: no floating-point operation is executed, so subnormals are right under any flush-to-zero or
// rounding mode of the caller, and host, device and constant evaluation give the same bits. May not: call libm, include
// CUDA headers. Sign convention of the whole library: scaling by s multiplies by 2^s.
#pragma once

#include <cstdint>

#if !defined(__CUDACC__)
#include <bit>
#endif

#include "kizami/host_device.hpp"
#include "kizami/types.hpp"

namespace kizami::num {

/// The binary interchange format of T: width, exponents and bit masks.
template <class T>
struct FloatTraits;

template <>
struct FloatTraits<double> {
  using Bits = std::uint64_t;
  static constexpr int kSignificandBits = 53;    ///< hidden bit included; the unit roundoff is 2^-53
  static constexpr int kMaxExponent = 1023;      ///< floor(log2(max finite))
  static constexpr int kMinExponent = -1022;     ///< floor(log2(min normal))
  static constexpr int kMinUlpExponent = -1074;  ///< log2(min subnormal): every finite value is a multiple of its power
};
template <>
struct FloatTraits<float> {
  using Bits = std::uint32_t;
  static constexpr int kSignificandBits = 24;
  static constexpr int kMaxExponent = 127;
  static constexpr int kMinExponent = -126;
  static constexpr int kMinUlpExponent = -149;
};

/// Counts the zero bits above the highest set bit. @range x != 0.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int count_leading_zeros(std::uint64_t x) noexcept {
#if defined(__CUDACC__)
#if defined(__CUDA_ARCH__)
  if (!__builtin_is_constant_evaluated()) return __clzll(static_cast<long long>(x));
#endif
  int n = 0;
  for (int width = 32; width > 0; width /= 2) {
    if ((x >> (64 - width)) == 0) {
      n += width;
      x <<= width;
    }
  }
  return n;
#else
  return std::countl_zero(x);
#endif
}

/// Counts the zero bits below the lowest set bit. @range x != 0.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int count_trailing_zeros(std::uint64_t x) noexcept {
  return 63 - count_leading_zeros(x & (~x + 1));
}

namespace detail {

template <class T>
using BitsOf = typename FloatTraits<T>::Bits;
/// Bits stored below the exponent field.
template <class T>
inline constexpr int kStoredBits = FloatTraits<T>::kSignificandBits - 1;
template <class T>
inline constexpr BitsOf<T> kSignMask = BitsOf<T>{1} << (8 * sizeof(T) - 1);
template <class T>
inline constexpr BitsOf<T> kHiddenBit = BitsOf<T>{1} << kStoredBits<T>;
/// The bits of +Inf: the exponent field, all ones.
template <class T>
inline constexpr BitsOf<T> kInfBits = static_cast<BitsOf<T>>(kSignMask<T> - kHiddenBit<T>);

template <class T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr BitsOf<T> magnitude_bits(T x) noexcept {
  return static_cast<BitsOf<T>>(bit_cast<BitsOf<T>>(x) & static_cast<BitsOf<T>>(~kSignMask<T>));
}

/// Rounds (significand + epsilon * sticky) * 2^(floor_log2 - 63) once to T, to nearest, ties to even; overflow gives Inf.
/// @range the top bit of significand is set, so that floor_log2 is the exponent of the value; any floor_log2.
template <class T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr T round_normalized(bool negative, std::uint64_t significand, bool sticky,
                                                              std::int64_t floor_log2) noexcept {
  using Traits = FloatTraits<T>;
  using Bits = BitsOf<T>;
  const Bits sign = negative ? kSignMask<T> : Bits{0};
  if (floor_log2 > Traits::kMaxExponent) return bit_cast<T>(static_cast<Bits>(sign | kInfBits<T>));
  // The result is a multiple of 2^ulp: drop the bits of significand below it.
  const std::int64_t normal_ulp = floor_log2 - (Traits::kSignificandBits - 1);
  const std::int64_t ulp = normal_ulp < Traits::kMinUlpExponent ? Traits::kMinUlpExponent : normal_ulp;
  const std::int64_t num_dropped = ulp - floor_log2 + 63;
  if (num_dropped > 64) return bit_cast<T>(sign);  // below half of the min subnormal
  const int drop = static_cast<int>(num_dropped);  // 11 (double) or 40 (float) .. 64: there is always a half bit
  const std::uint64_t kept = drop == 64 ? 0 : significand >> drop;
  const bool half = ((significand >> (drop - 1)) & 1) != 0;
  const bool rest = sticky || (significand & ((std::uint64_t{1} << (drop - 1)) - 1)) != 0;
  const std::uint64_t up = half && (rest || (kept & 1) != 0) ? 1 : 0;
  // kept includes the hidden bit, which adds the 1 that a normal number's exponent field is ahead of ulp; a carry out
  // of kept raises the field likewise: subnormal to normal, binade to binade, max finite to Inf.
  const std::uint64_t field = static_cast<std::uint64_t>(ulp - Traits::kMinUlpExponent) << kStoredBits<T>;
  return bit_cast<T>(static_cast<Bits>(sign | static_cast<Bits>(field + kept + up)));
}

}  // namespace detail

/// Tells whether x is neither Inf nor NaN.
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_finite(T x) noexcept {
  return detail::magnitude_bits(x) < detail::kInfBits<T>;
}

/// Tells whether x is a NaN; unlike x != x it holds under any compiler flag.
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_nan(T x) noexcept {
  return detail::magnitude_bits(x) > detail::kInfBits<T>;
}

/// Tells whether the sign bit of x is set; true for -0.
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_negative(T x) noexcept {
  return (bit_cast<detail::BitsOf<T>>(x) & detail::kSignMask<T>) != 0;
}

/// Returns 2^e.
/// @range kMinUlpExponent <= e <= kMaxExponent, i.e. -1074..1023 for double, -149..127 for float. @exact always.
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr T exp2i(int e) noexcept {
  using Traits = FloatTraits<T>;
  using Bits = detail::BitsOf<T>;
  if (e < Traits::kMinExponent) return bit_cast<T>(static_cast<Bits>(Bits{1} << (e - Traits::kMinUlpExponent)));
  return bit_cast<T>(static_cast<Bits>(static_cast<Bits>(e - Traits::kMinExponent + 1) << detail::kStoredBits<T>));
}

/// Returns the largest finite T. @exact (2 - 2^(1 - kSignificandBits)) * 2^kMaxExponent.
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr T max_finite() noexcept {
  return bit_cast<T>(static_cast<detail::BitsOf<T>>(detail::kInfBits<T> - 1));
}

/// Returns floor(log2(|x|)), the exponent of the leading bit.
/// @range x finite and nonzero: -1074..1023 for double, -149..127 for float. Otherwise a value that keeps the order of
///        |x|, so that a maximum over a row needs no branch: kMinUlpExponent - 1 for zero, kMaxExponent + 1 for Inf,
///        NaN.
/// @exact 2^result <= |x| < 2^(result + 1), subnormals included.
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int floor_log2(T x) noexcept {
  using Traits = FloatTraits<T>;
  const auto bits = detail::magnitude_bits(x);
  const int field = static_cast<int>(bits >> detail::kStoredBits<T>);
  if (field != 0) return field + (Traits::kMinExponent - 1);
  if (bits == 0) return Traits::kMinUlpExponent - 1;
  return Traits::kMinUlpExponent + 63 - count_leading_zeros(bits);
}

/// An integer times a power of two: mantissa * 2^exponent.
struct Decomposed {
  std::int64_t mantissa = 0;
  int exponent = 0;
  friend constexpr bool operator==(const Decomposed&, const Decomposed&) = default;
};

/// Splits x into a signed integer of kSignificandBits bits and the exponent of its unit in the last place.
/// @range x finite. Normal x: 2^52 <= |mantissa| < 2^53 (double). Subnormal and zero: exponent = kMinUlpExponent. The
///        sign of -0 is lost, since the integer 0 has none.
/// @exact x == mantissa * 2^exponent.
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr Decomposed decompose(T x) noexcept {
  using Traits = FloatTraits<T>;
  using Bits = detail::BitsOf<T>;
  const Bits bits = detail::magnitude_bits(x);
  const int field = static_cast<int>(bits >> detail::kStoredBits<T>);
  const Bits stored = static_cast<Bits>(bits & (detail::kHiddenBit<T> - 1));
  const std::int64_t mantissa = static_cast<std::int64_t>(field != 0 ? stored | detail::kHiddenBit<T> : stored);
  return {is_negative(x) ? -mantissa : mantissa, Traits::kMinUlpExponent + (field != 0 ? field - 1 : 0)};
}

/// Returns the exponent of the lowest set bit: the largest e with x an integer multiple of 2^e.
/// @range x finite and nonzero: kMinUlpExponent..kMaxExponent. @exact x / 2^result is an odd integer.
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int lowest_bit_exponent(T x) noexcept {
  const Decomposed d = decompose(x);
  return d.exponent + count_trailing_zeros(static_cast<std::uint64_t>(d.mantissa));  // -m has the lowest bit of m
}

/// Rounds (-1)^negative * magnitude * 2^exponent to T, to nearest with ties to even.
/// @range any magnitude, any exponent; magnitude 0 gives the zero of that sign.
/// @exact one rounding, subnormals included; magnitudes that round to 2^(kMaxExponent + 1) or more give Inf.
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr T round_to(bool negative, std::uint64_t magnitude, int exponent) noexcept {
  if (magnitude == 0) return bit_cast<T>(negative ? detail::kSignMask<T> : detail::BitsOf<T>{0});
  const int shift = count_leading_zeros(magnitude);
  return detail::round_normalized<T>(negative, magnitude << shift, false, std::int64_t{exponent} + 63 - shift);
}

/// Rounds (-1)^negative * (hi * 2^64 + lo) * 2^exponent to T, to nearest with ties to even. With `sticky` the magnitude
/// lies strictly between that integer and the next: the caller has dropped nonzero bits below lo.
/// @range any hi and lo, any exponent; hi = lo = 0 gives the zero of that sign. With sticky: the integer has at least
///        kSignificandBits + 1 bits, else the dropped bits are needed to round.
/// @exact one rounding, subnormals included; magnitudes that round to 2^(kMaxExponent + 1) or more give Inf.
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr T round_to(bool negative, std::uint64_t hi, std::uint64_t lo, int exponent,
                                                      bool sticky) noexcept {
  if (hi == 0 && lo == 0) return bit_cast<T>(negative ? detail::kSignMask<T> : detail::BitsOf<T>{0});
  const bool is_wide = hi != 0;
  const std::uint64_t top = is_wide ? hi : lo;
  const std::uint64_t below = is_wide ? lo : 0;
  const int shift = count_leading_zeros(top);
  const std::uint64_t significand = shift == 0 ? top : (top << shift) | (below >> (64 - shift));
  const bool rest = sticky || (below << shift) != 0;
  const std::int64_t floor_log2 = std::int64_t{exponent} + (is_wide ? 127 : 63) - shift;
  return detail::round_normalized<T>(negative, significand, rest, floor_log2);
}

/// round_to<double> of a 64-bit magnitude.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr double round_to_double(bool negative, std::uint64_t magnitude,
                                                                  int exponent) noexcept {
  return round_to<double>(negative, magnitude, exponent);
}
/// round_to<double> of a 128-bit magnitude hi * 2^64 + lo.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr double round_to_double(bool negative, std::uint64_t hi, std::uint64_t lo,
                                                                  int exponent, bool sticky = false) noexcept {
  return round_to<double>(negative, hi, lo, exponent, sticky);
}
/// round_to<float> of a 64-bit magnitude.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr float round_to_float(bool negative, std::uint64_t magnitude,
                                                                int exponent) noexcept {
  return round_to<float>(negative, magnitude, exponent);
}
/// round_to<float> of a 128-bit magnitude hi * 2^64 + lo.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr float round_to_float(bool negative, std::uint64_t hi, std::uint64_t lo,
                                                                int exponent, bool sticky = false) noexcept {
  return round_to<float>(negative, hi, lo, exponent, sticky);
}

/// Rounds mantissa * 2^exponent to T, to nearest with ties to even; the inverse of decompose.
/// @range any mantissa and exponent; 0 gives +0. @exact compose<T>(decompose(x)) == x for every finite T.
template <class T>
requires kIsReal<T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr T compose(Decomposed d) noexcept {
  const std::uint64_t bits = static_cast<std::uint64_t>(d.mantissa);
  return round_to<T>(d.mantissa < 0, d.mantissa < 0 ? ~bits + 1 : bits, d.exponent);
}

namespace detail {

template <class T>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr T scale(T x, int s) noexcept {
  using Traits = FloatTraits<T>;
  using Bits = BitsOf<T>;
  const Bits bits = magnitude_bits(x);
  if (bits == 0 || bits >= kInfBits<T>) return x;
  const std::int64_t field = static_cast<std::int64_t>(bits >> kStoredBits<T>);
  const std::int64_t scaled_field = field + s;
  if (field != 0 && scaled_field >= 1 && scaled_field <= Traits::kMaxExponent - Traits::kMinExponent + 1) {
    const Bits kept = static_cast<Bits>(bit_cast<Bits>(x) & static_cast<Bits>(~kInfBits<T>));
    return bit_cast<T>(static_cast<Bits>(kept | static_cast<Bits>(static_cast<Bits>(scaled_field) << kStoredBits<T>)));
  }
  const std::uint64_t significand = field == 0 ? bits : (bits & (kHiddenBit<T> - 1)) | kHiddenBit<T>;
  const int shift = count_leading_zeros(significand);
  const std::int64_t ulp = Traits::kMinUlpExponent + (field == 0 ? 0 : field - 1);
  return round_normalized<T>(is_negative(x), significand << shift, false, ulp + 63 - shift + s);
}

}  // namespace detail

/// Multiplies x by 2^s with one rounding to nearest, ties to even.
/// @range any x, any s; Inf, NaN (its bits) and signed zeros pass through.
/// @exact unless bits fall below 2^kMinUlpExponent, where it rounds once, or the result overflows, to Inf of its sign.
/// Not a template, so that an unqualified call that also sees ::ldexp is ambiguous instead of silently libm's.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr double ldexp(double x, int s) noexcept { return detail::scale(x, s); }
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr float ldexp(float x, int s) noexcept { return detail::scale(x, s); }

}  // namespace kizami::num
