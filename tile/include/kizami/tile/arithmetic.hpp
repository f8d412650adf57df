// SPDX-License-Identifier: MIT
// Arithmetic as functions, on tiles and scalars: add, sub, mul, div, fma, min, max and abs, with tags for rounding,
// subnormal numbers and NaN; the integer divisions and mulhi.
#pragma once

#include "kizami/tile/operators.hpp"
#include "kizami/tile/rounded.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {

// ---- add, sub, mul, div ---------------------------------------------------------------------------------------------

#define KIZAMI_TILE_FUNCTION(name, Op, RoundedOp, check_mode)                                                    \
  template <tile_like T, tile_like U>                                                                            \
  [[nodiscard]] constexpr auto name(const T& a, const U& b) noexcept {                                           \
    if constexpr (detail::check_arithmetic<T, U>()) return detail::arithmetic<detail::Op>(#name, a, b);          \
  }                                                                                                              \
  template <rounding_mode kMode = default_rounding_mode(),                                                       \
            subnormals_rounding_mode kSubnormals = default_subnormals_rounding_mode(), tile_like T, tile_like U> \
  [[nodiscard]] auto name(const T& a, const U& b, rounding_mode_constant<kMode>,                                 \
                          subnormals_rounding_mode_constant<kSubnormals> = {}) noexcept {                        \
    if constexpr (detail::check_arithmetic<T, U>()) {                                                            \
      using E = detail::ElementT<arithmetic_tile_conversion_t<T, U>>;                                            \
      if constexpr (check_mode && detail::check_modes<kMode, kSubnormals, E>()) {                                \
        return detail::arithmetic<RoundedOp>(#name, a, b);                                                       \
      }                                                                                                          \
    }                                                                                                            \
  }
#define KIZAMI_TILE_ROUNDED(Op) detail::Rounded<detail::Op, RoundedOperation::k##Op, kMode, kSubnormals>
#define KIZAMI_TILE_SUBTRACT detail::RoundedSubtract<kMode, kSubnormals>
KIZAMI_TILE_FUNCTION(add, Add, KIZAMI_TILE_ROUNDED(Add), detail::check_precise<kMode>())
KIZAMI_TILE_FUNCTION(sub, Subtract, KIZAMI_TILE_SUBTRACT, detail::check_precise<kMode>())
KIZAMI_TILE_FUNCTION(mul, Multiply, KIZAMI_TILE_ROUNDED(Multiply), detail::check_precise<kMode>())
KIZAMI_TILE_FUNCTION(div, Divide, KIZAMI_TILE_ROUNDED(Divide), true)
#undef KIZAMI_TILE_SUBTRACT
#undef KIZAMI_TILE_ROUNDED
#undef KIZAMI_TILE_FUNCTION

// ---- fma ------------------------------------------------------------------------------------------------------------

/// a b + acc rounded once. @shape that of acc, to which a and b broadcast; the element type is that of acc too.
template <rounding_mode kMode = default_rounding_mode(),
          subnormals_rounding_mode kSubnormals = default_subnormals_rounding_mode(), tile_like T, tile_like U,
          tile_like Acc>
[[nodiscard]] Acc fma(const T& a, const U& b, const Acc& acc, rounding_mode_constant<kMode> = {},
                      subnormals_rounding_mode_constant<kSubnormals> = {}) noexcept {
  constexpr bool kBroadcasts = broadcastable_to<T, detail::ShapeT<Acc>> && broadcastable_to<U, detail::ShapeT<Acc>>;
  static_assert(kBroadcasts, "fma: the factors must broadcast to the shape of the accumulator");
  constexpr bool kConverts = non_narrowing_scalar_convertible_to<detail::ElementT<T>, detail::ElementT<Acc>> &&
                             non_narrowing_scalar_convertible_to<detail::ElementT<U>, detail::ElementT<Acc>>;
  static_assert(kConverts, "fma: a factor would be narrowed to the element type of the accumulator: element_cast it");
  if constexpr (kBroadcasts && kConverts && detail::check_precise<kMode>() &&
                detail::check_modes<kMode, kSubnormals, detail::ElementT<Acc>>()) {
    using F = detail::RoundedFma<kMode, kSubnormals>;
    return detail::map<Acc>("fma", detail::OnCommon<F, detail::ElementT<Acc>>{}, a, b, acc);
  }
}

// ---- min, max -------------------------------------------------------------------------------------------------------

namespace detail {

/// The larger (kMax) or smaller of two. @range -0 is below +0; NaN loses, or wins under propagate_nan
template <bool kMax, nan_propagation_mode kNan, subnormals_rounding_mode kSubnormals>
struct Extremum {
  template <class T>
  constexpr T operator()(T x, T y) const {
    if constexpr (kIsIntegral<T>) {
      return (y < x) == kMax ? x : y;
    } else {
      const T a = flushed<kSubnormals>(x);
      const T b = flushed<kSubnormals>(y);
      const auto p = scalar_cast<WorkingT<T>>(a);
      const auto q = scalar_cast<WorkingT<T>>(b);
      if (p != p || q != q) {
        const bool takes_first = kNan == nan_propagation_mode::propagate_nan ? p != p : q != q;
        return takes_first ? a : b;
      }
      if (p == q) return std::signbit(p) == kMax ? b : a;
      return (q < p) == kMax ? a : b;
    }
  }
};

}  // namespace detail

#define KIZAMI_TILE_EXTREMUM(name, kMax)                                                                         \
  template <tile_like T, tile_like U>                                                                            \
  [[nodiscard]] constexpr auto name(const T& a, const U& b) noexcept {                                           \
    using Op = detail::Extremum<kMax, default_nan_propagation_mode(), default_subnormals_rounding_mode()>;       \
    if constexpr (detail::check_arithmetic<T, U>()) return detail::arithmetic<Op>(#name, a, b);                  \
  }                                                                                                              \
  template <nan_propagation_mode kNan = default_nan_propagation_mode(),                                          \
            subnormals_rounding_mode kSubnormals = default_subnormals_rounding_mode(), tile_like T, tile_like U> \
  [[nodiscard]] constexpr auto name(const T& a, const U& b, nan_propagation_mode_constant<kNan>,                 \
                                    subnormals_rounding_mode_constant<kSubnormals> = {}) noexcept {              \
    if constexpr (detail::check_arithmetic<T, U>()) {                                                            \
      using E = detail::ElementT<arithmetic_tile_conversion_t<T, U>>;                                            \
      if constexpr (detail::check_modes<default_rounding_mode(), kSubnormals, E>()) {                            \
        return detail::arithmetic<detail::Extremum<kMax, kNan, kSubnormals>>(#name, a, b);                       \
      }                                                                                                          \
    }                                                                                                            \
  }
KIZAMI_TILE_EXTREMUM(max, true)
KIZAMI_TILE_EXTREMUM(min, false)
#undef KIZAMI_TILE_EXTREMUM

// ---- the rest -------------------------------------------------------------------------------------------------------

/// The remainder with the sign of a (that of the division rounded toward zero), of integers and of floating point.
template <tile_like T, tile_like U>
[[nodiscard]] constexpr auto remainder(const T& a, const U& b) noexcept {
  if constexpr (detail::check_arithmetic<T, U>()) return detail::arithmetic<detail::Remainder>("remainder", a, b);
}
/// The quotient of integers rounded toward positive.
template <tile_like T, tile_like U>
[[nodiscard]] constexpr auto ceildiv(const T& a, const U& b) noexcept {
  if constexpr (detail::check_integral<T, U>()) return detail::arithmetic<detail::CeilDivide>("ceildiv", a, b);
}
/// The quotient of integers rounded toward negative.
template <tile_like T, tile_like U>
[[nodiscard]] constexpr auto floordiv(const T& a, const U& b) noexcept {
  if constexpr (detail::check_integral<T, U>()) return detail::arithmetic<detail::FloorDivide>("floordiv", a, b);
}
/// The high half of the product of the bit patterns, taken as unsigned.
template <tile_like T, tile_like U>
[[nodiscard]] constexpr auto mulhi(const T& a, const U& b) noexcept {
  if constexpr (detail::check_integral<T, U>()) return detail::arithmetic<detail::MultiplyHigh>("mulhi", a, b);
}
template <tile_like T>
[[nodiscard]] constexpr T abs(const T& a) noexcept {
  static_assert(arithmetic_tile<T>, "abs needs integers, double, float, __half or __nv_bfloat16");
  if constexpr (arithmetic_tile<T>) return detail::map<T>("abs", detail::Absolute{}, a);
}

}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
