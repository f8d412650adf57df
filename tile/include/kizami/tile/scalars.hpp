// SPDX-License-Identifier: MIT
// The scalars of tile code, in the categories of the language, and the conversions between two of them.
//   integral                    8 to 64 bits, bool and character types included
//   basic floating point        double, float, __half, __nv_bfloat16: arithmetic and mathematical functions
//   restricted floating point   __nv_fp8_e4m3, __nv_fp8_e5m2, __nv_tf32: moved, cast and multiplied as matrices
//   pointer                     to a numeric scalar or to void
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kizami/tile/formats.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {
namespace detail {

template <class T, class... Us>
inline constexpr bool kIsOneOf = (std::is_same_v<T, Us> || ...);

template <class T>
inline constexpr bool kIsIntegral = false;
template <class T>
requires std::is_integral_v<T>
inline constexpr bool kIsIntegral<T> = sizeof(T) <= 8;
template <class T>
inline constexpr bool kIsBasicFloat = kIsOneOf<T, double, float, __half, __nv_bfloat16>;
template <class T>
inline constexpr bool kIsRestrictedFloat = kIsOneOf<T, __nv_fp8_e4m3, __nv_fp8_e5m2, __nv_tf32>;
template <class T>
inline constexpr bool kIsFloat = kIsBasicFloat<T> || kIsRestrictedFloat<T>;
template <class T>
inline constexpr bool kIsArithmetic = kIsIntegral<T> || kIsBasicFloat<T>;
template <class T>
inline constexpr bool kIsNumeric = kIsArithmetic<T> || kIsRestrictedFloat<T>;
template <class T>
inline constexpr bool kIsPointer = false;
template <class T>
inline constexpr bool kIsPointer<T*> = kIsNumeric<std::remove_cv_t<T>> || std::is_void_v<T>;
template <class T>
inline constexpr bool kIsScalar = kIsNumeric<T> || kIsPointer<T>;

/// Bits that decide whether a conversion between floating-point types narrows: 19 for TF32, else the width.
template <class T>
inline constexpr int kFloatBits = std::is_same_v<T, __nv_tf32> ? 19 : 8 * static_cast<int>(sizeof(T));

template <class From, class To>
consteval bool narrows() {
  if constexpr (kIsIntegral<From> && kIsIntegral<To>) {
    return !requires(From x) { To{x}; };
  } else if constexpr (kIsFloat<From> && kIsFloat<To>) {
    return !std::is_same_v<From, To> && kFloatBits<From> >= kFloatBits<To>;
  } else if constexpr (kIsPointer<From>) {
    return std::is_same_v<To, bool>;
  } else {
    return true;  // between integers and floating point, in either direction
  }
}

/// Narrowing that arithmetic refuses: the conversion of an integer to floating point is not among it.
template <class From, class To>
inline constexpr bool kLosesInArithmetic = narrows<From, To>() && !(kIsIntegral<From> && kIsFloat<To>);

template <class From, class To>
consteval bool converts() {
  if constexpr (kIsNumeric<From> && kIsNumeric<To>) {
    return true;
  } else if constexpr (kIsPointer<From> && kIsPointer<To>) {
    return requires(From x) { To{x}; };
  } else {
    return kIsPointer<From> && std::is_same_v<To, bool>;
  }
}

/// Order of the integral types, and among types of one width the tie: plain characters lose to the other types.
template <class T>
consteval int integral_rank() {
  if constexpr (std::is_same_v<T, bool>) return 0;
  if constexpr (sizeof(T) == 1) return 1;
  if constexpr (sizeof(T) == 2) return 2;
  if constexpr (sizeof(T) == 4) return 3;
  return kIsOneOf<T, long, unsigned long> ? 4 : 5;
}
template <class T>
inline constexpr int kTieRank = kIsOneOf<T, char, wchar_t> ? 0 : (kIsOneOf<T, char8_t, char16_t, char32_t> ? 1 : 2);

/// The usual arithmetic conversions of C++ without integral promotion.
template <class T, class U>
consteval auto common_integral() {
  if constexpr (std::is_same_v<T, U>) {
    return T{};
  } else if constexpr (std::is_signed_v<T> == std::is_signed_v<U>) {
    constexpr int kOrder =
        integral_rank<T>() != integral_rank<U>() ? integral_rank<T>() - integral_rank<U>() : kTieRank<T> - kTieRank<U>;
    return std::conditional_t<(kOrder >= 0), T, U>{};
  } else {
    using Signed = std::conditional_t<std::is_signed_v<T>, T, U>;
    using Unsigned = std::conditional_t<std::is_signed_v<T>, U, T>;
    if constexpr (integral_rank<Unsigned>() > integral_rank<Signed>()) {
      return Unsigned{};
    } else if constexpr (!narrows<Unsigned, Signed>()) {
      return Signed{};
    } else {
      return std::make_unsigned_t<Signed>{};
    }
  }
}

/// Floating-point types of one rank are not ordered: __half and __nv_bfloat16 have no common type.
template <class T>
inline constexpr int kFloatRank = std::is_same_v<T, double> ? 2 : (std::is_same_v<T, float> ? 1 : 0);
template <class T, class U>
inline constexpr bool kUnordered = kIsFloat<T>&& kIsFloat<U> && !std::is_same_v<T, U> && kFloatRank<T> == kFloatRank<U>;

/// The element type of tile op tile and of scalar op scalar. @range not kUnordered
template <class T, class U>
struct CommonScalar {
  using type = std::conditional_t<(kIsFloat<T> && (!kIsFloat<U> || kFloatRank<T> >= kFloatRank<U>)), T, U>;
};
template <class T, class U>
requires(kIsIntegral<T>&& kIsIntegral<U>) struct CommonScalar<T, U> {
  using type = decltype(common_integral<T, U>());
};
template <class T, class U>
using CommonScalarT = typename CommonScalar<T, U>::type;

/// An integer as a double that rounds to any format of at most 50 bits as the integer itself would: beyond 2^53 the
/// double's last bit is set if bits were lost (rounding to odd).
template <class I>
[[nodiscard]] constexpr double to_double_odd(I x) noexcept {
  if constexpr (sizeof(I) < 8) {
    return static_cast<double>(x);
  } else {
    const bool is_negative = x < I{0};
    std::uint64_t magnitude = is_negative ? ~static_cast<std::uint64_t>(x) + 1 : static_cast<std::uint64_t>(x);
    constexpr std::uint64_t kLost = (std::uint64_t{1} << 11) - 1;
    if (magnitude >> 53 != 0) {
      // Below 2^64, so 53 bits from bit 11 on always hold the leading ones.
      magnitude = (magnitude & ~kLost) | ((magnitude & kLost) != 0 ? std::uint64_t{1} << 11 : 0);
    }
    const double value = static_cast<double>(magnitude);
    return is_negative ? -value : value;
  }
}

/// Whether the integer part of x is a value of I.
template <class I, class F>
[[nodiscard]] constexpr bool fits_integer(F x) noexcept {
  // Powers of two: exact in F.
  constexpr F kEnd = static_cast<F>(std::uint64_t{1} << (std::numeric_limits<I>::digits - 1)) * 2;
  if constexpr (std::is_signed_v<I>) {
    // -kEnd - 1 is an F only if F has the bits; then x > -kEnd - 1 is the limit, else x >= -kEnd.
    constexpr bool kHasRoom = std::numeric_limits<F>::digits > std::numeric_limits<I>::digits;
    return x < kEnd && (kHasRoom ? x > -kEnd - 1 : x >= -kEnd);
  } else {
    return x < kEnd && x > F{-1};
  }
}

/// Converts one scalar as element_cast does.
/// @range any. What the language leaves undefined has a value here: a floating-point number beyond an integer type goes
///        to its nearest end, NaN to 0.
/// @exact or rounded once to nearest, ties to even; the 8-bit formats saturate at max_finite.
template <class To, class From>
[[nodiscard]] constexpr To scalar_cast(From x) noexcept {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (kIsPointer<From>) {
    if constexpr (std::is_same_v<To, bool>) {
      return x != nullptr;
    } else {
      return static_cast<To>(x);
    }
  } else if constexpr (kIsNarrow<From>) {
    // A double holds every value of every narrow format.
    if constexpr (std::is_same_v<To, float>) {
      return format_of(x).to_float();
    } else {
      return scalar_cast<To>(format_of(x).to_double());
    }
  } else if constexpr (kIsNarrow<To>) {
    if constexpr (kIsIntegral<From>) {
      return from_format<To>(FormatOfT<To>::from(to_double_odd(x), RoundingMode::kNearestEven, kSaturationOf<To>));
    } else {
      return from_format<To>(FormatOfT<To>::from(x, RoundingMode::kNearestEven, kSaturationOf<To>));
    }
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (kIsFloat<From> && kIsIntegral<To>) {
    if (fits_integer<To>(x)) return static_cast<To>(x);
    if (x != x) return To{0};
    return x < From{0} ? std::numeric_limits<To>::min() : std::numeric_limits<To>::max();
  } else {
    return static_cast<To>(x);
  }
}

/// The type in which a basic floating-point operation on T is made before one rounding to T.
template <class T>
using WorkingT = std::conditional_t<kIsNarrow<T>, float, T>;

}  // namespace detail

template <class T>
concept integral = std::is_integral_v<T>;

}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
