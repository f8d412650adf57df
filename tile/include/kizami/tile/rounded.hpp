// SPDX-License-Identifier: MIT
// One operation rounded in a stated direction, by exact arithmetic: the result rounded to nearest is compared with the
// exact value, and moved to its neighbour where that lies on the other side. The processor's rounding mode is not used.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kizami/export.h"
#include "kizami/tile/scalar_operations.hpp"
#include "kizami/tile/tags.hpp"

namespace kizami::tile {

enum class RoundedOperation : std::uint8_t { kAdd, kMultiply, kDivide, kFma, kSqrt };

/// The sign of (a + b, a b, a / b, a b + c, sqrt(a)) - r, without rounding: -1, 0 or 1. Unused operands are ignored.
/// @range finite operands and r; b != 0 for kDivide; a >= 0 for kSqrt
[[nodiscard]] KIZAMI_API int residual_sign(RoundedOperation op, double a, double b, double c, double r) noexcept;

}  // namespace kizami::tile

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {
namespace detail {

/// The neighbour of x in the direction of `up`. @range x finite
template <class T>
[[nodiscard]] constexpr T neighbour(T x, bool up) noexcept {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  const auto bits = __builtin_bit_cast(Bits, x);
  const bool is_negative = (bits & kSign) != 0;
  if ((bits & static_cast<Bits>(~kSign)) == 0) {  // from either zero to the least subnormal of that direction
    return __builtin_bit_cast(T, static_cast<Bits>(up ? Bits{1} : kSign | Bits{1}));
  }
  return __builtin_bit_cast(T, static_cast<Bits>(up != is_negative ? bits + 1 : bits - 1));
}

template <class T>
[[nodiscard]] constexpr T max_finite() noexcept {
  if constexpr (kIsNarrow<T>) {
    return from_format<T>(FormatOfT<T>::max_finite());
  } else {
    return std::numeric_limits<T>::max();
  }
}

template <class T>
[[nodiscard]] inline bool is_finite(T x) noexcept {
  return std::isfinite(scalar_cast<double>(x));
}
template <class T>
[[nodiscard]] inline bool is_negative(T x) noexcept {
  return std::signbit(scalar_cast<double>(x));
}

/// Moves `nearest`, a faithful result of op on finite or infinite operands, to the one that kMode asks for.
template <rounding_mode kMode, class T>
[[nodiscard]] inline T redirect(RoundedOperation op, T a, T b, T c, T nearest) noexcept {
  if constexpr (kMode == rounding_mode::round_toward_zero || kMode == rounding_mode::round_toward_negative ||
                kMode == rounding_mode::round_toward_positive) {
    const bool is_exceptional = !is_finite(a) || !is_finite(b) || !is_finite(c) ||
                                (op == RoundedOperation::kDivide && scalar_cast<double>(b) == 0);
    if (is_exceptional || nearest != nearest) return nearest;
    const bool goes_up = kMode == rounding_mode::round_toward_positive ||
                         (kMode == rounding_mode::round_toward_zero && is_negative(nearest));
    if (!is_finite(nearest)) {  // an overflow stays at Inf only in its own direction
      const bool is_back = goes_up == is_negative(nearest);
      const T limit = is_negative(nearest) ? Negate{}(max_finite<T>()) : max_finite<T>();
      return is_back ? limit : nearest;
    }
    const double r = scalar_cast<double>(nearest);
    const int residual = residual_sign(op, scalar_cast<double>(a), scalar_cast<double>(b), scalar_cast<double>(c), r);
    if (residual == 0) {
      // x - x is -0 toward negative, and +0 in every other mode.
      const bool is_sum = op == RoundedOperation::kAdd || op == RoundedOperation::kFma;
      if (kMode == rounding_mode::round_toward_negative && is_sum && r == 0) {
        const double x =
            op == RoundedOperation::kAdd ? scalar_cast<double>(a) : scalar_cast<double>(a) * scalar_cast<double>(b);
        const double y = op == RoundedOperation::kAdd ? scalar_cast<double>(b) : scalar_cast<double>(c);
        if (std::signbit(x) != std::signbit(y)) return scalar_cast<T>(-0.0);
      }
      return nearest;
    }
    if (kMode == rounding_mode::round_toward_zero && r == 0) return nearest;  // its sign is that of the exact value
    return (residual > 0) == goes_up ? neighbour(nearest, goes_up) : nearest;
  } else {
    static_cast<void>(op), static_cast<void>(a), static_cast<void>(b), static_cast<void>(c);
    return nearest;
  }
}

/// x with a subnormal value replaced by the zero of its sign.
template <subnormals_rounding_mode kSubnormals, class T>
[[nodiscard]] inline T flushed(T x) noexcept {
  if constexpr (kSubnormals == subnormals_rounding_mode::round_subnormals_to_zero) {
    return std::fabs(x) < std::numeric_limits<T>::min() ? std::copysign(T{0}, x) : x;
  } else {
    return x;
  }
}

/// An operation with its rounding and its treatment of subnormals.
template <class Op, RoundedOperation kOperation, rounding_mode kMode, subnormals_rounding_mode kSubnormals>
struct Rounded {
  template <class T>
  T operator()(T a, T b) const {
    const T x = flushed<kSubnormals>(a);
    const T y = flushed<kSubnormals>(b);
    return flushed<kSubnormals>(redirect<kMode>(kOperation, x, y, T{}, Op{}(x, y)));
  }
};
/// a - b as a + (-b), which is the same in every mode.
template <rounding_mode kMode, subnormals_rounding_mode kSubnormals>
struct RoundedSubtract {
  template <class T>
  T operator()(T a, T b) const {
    return Rounded<Add, RoundedOperation::kAdd, kMode, kSubnormals>{}(a, Negate{}(b));
  }
};

/// a + b in double, its last bit set if bits were lost: rounding it to a format of at most 50 bits is rounding the sum.
[[nodiscard]] inline double sum_to_odd(double a, double b) noexcept {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double b_seen = sum - a;
  const double error = (a - (sum - b_seen)) + (b - b_seen);  // Knuth's two-sum
  const bool is_even = (__builtin_bit_cast(std::uint64_t, sum) & 1) == 0;
  return error != 0 && is_even ? neighbour(sum, error > 0) : sum;
}

/// a b + c rounded once to nearest.
struct FusedMultiplyAdd {
  template <class T>
  T operator()(T a, T b, T c) const {
    if constexpr (kIsNarrow<T>) {  // the product is exact in double
      return scalar_cast<T>(sum_to_odd(scalar_cast<double>(a) * scalar_cast<double>(b), scalar_cast<double>(c)));
    } else {
      return std::fma(a, b, c);
    }
  }
};
template <rounding_mode kMode, subnormals_rounding_mode kSubnormals>
struct RoundedFma {
  template <class T>
  T operator()(T a, T b, T c) const {
    const T x = flushed<kSubnormals>(a);
    const T y = flushed<kSubnormals>(b);
    const T z = flushed<kSubnormals>(c);
    return flushed<kSubnormals>(redirect<kMode>(RoundedOperation::kFma, x, y, z, FusedMultiplyAdd{}(x, y, z)));
  }
};
template <rounding_mode kMode, subnormals_rounding_mode kSubnormals>
struct RoundedSqrt {
  template <class T>
  T operator()(T a) const {
    const T x = flushed<kSubnormals>(a);
    const T root = scalar_cast<T>(std::sqrt(scalar_cast<WorkingT<T>>(x)));
    return redirect<kMode>(RoundedOperation::kSqrt, x, T{}, T{}, root);
  }
};

}  // namespace detail
}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
