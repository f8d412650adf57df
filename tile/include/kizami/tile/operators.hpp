// SPDX-License-Identifier: MIT
// The operators of tiles. At least one operand is a tile; two scalars keep the operators of C++.
#pragma once

#include <cstddef>

#include "kizami/tile/elementwise.hpp"
#include "kizami/tile/scalar_operations.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {
namespace detail {

/// The condition of every binary operator. Pointers to what is no scalar stay out.
template <class T, class U>
concept WithTile = tile_like<T> && tile_like<U> &&(kIsTile<T> || kIsTile<U>);
template <class T, class U>
concept WithNumericTile = WithTile<T, U> && !pointer_tile<T> && !pointer_tile<U>;

/// op on the common type of both operands. @range check_arithmetic<T, U>()
template <class Op, class T, class U>
[[nodiscard]] constexpr auto arithmetic(std::string_view name, const T& a, const U& b) {
  using Result = arithmetic_tile_conversion_t<T, U>;
  return map<Result>(name, OnCommon<Op, ElementT<Result>>{}, a, b);
}
template <class Op, class T, class U>
[[nodiscard]] constexpr auto comparison(std::string_view name, const T& a, const U& b) {
  using Common = ElementT<arithmetic_tile_comparison_t<T, U>>;
  return map<mutual_broadcast_t<T, U, bool>>(name, OnCommon<Op, Common>{}, a, b);
}

}  // namespace detail

// ---- arithmetic -----------------------------------------------------------------------------------------------------

#define KIZAMI_TILE_ARITHMETIC(op, Op, check)                                 \
  template <class T, class U>                                                 \
  requires detail::WithNumericTile<T, U>                                      \
  [[nodiscard]] constexpr auto operator op(const T& a, const U& b) noexcept { \
    if constexpr (detail::check<T, U>()) {                                    \
      return detail::arithmetic<detail::Op>("operator" #op, a, b);            \
    }                                                                         \
  }
KIZAMI_TILE_ARITHMETIC(+, Add, check_arithmetic)
KIZAMI_TILE_ARITHMETIC(-, Subtract, check_arithmetic)
KIZAMI_TILE_ARITHMETIC(*, Multiply, check_arithmetic)
KIZAMI_TILE_ARITHMETIC(/, Divide, check_arithmetic)
KIZAMI_TILE_ARITHMETIC(%, Remainder, check_integral)
KIZAMI_TILE_ARITHMETIC(&, BitAnd, check_integral)
KIZAMI_TILE_ARITHMETIC(|, BitOr, check_integral)
KIZAMI_TILE_ARITHMETIC(^, BitXor, check_integral)
#undef KIZAMI_TILE_ARITHMETIC

// ---- comparisons ----------------------------------------------------------------------------------------------------

#define KIZAMI_TILE_COMPARISON(op, Op)                                        \
  template <class T, class U>                                                 \
  requires detail::WithNumericTile<T, U>                                      \
  [[nodiscard]] constexpr auto operator op(const T& a, const U& b) noexcept { \
    if constexpr (detail::check_comparison<T, U>()) {                         \
      return detail::comparison<detail::Op>("operator" #op, a, b);            \
    }                                                                         \
  }
KIZAMI_TILE_COMPARISON(<, Less)
KIZAMI_TILE_COMPARISON(<=, LessEqual)
KIZAMI_TILE_COMPARISON(>, Greater)
KIZAMI_TILE_COMPARISON(>=, GreaterEqual)
KIZAMI_TILE_COMPARISON(==, Equal)
KIZAMI_TILE_COMPARISON(!=, NotEqual)
#undef KIZAMI_TILE_COMPARISON

// ---- shifts: the left operand's type, whatever the right one's ------------------------------------------------------

#define KIZAMI_TILE_SHIFT(op, Op)                                                                                \
  template <class T, class U>                                                                                    \
  requires detail::WithNumericTile<T, U>                                                                         \
  [[nodiscard]] constexpr auto operator op(const T& a, const U& count) noexcept {                                \
    static_assert(integral_tile<T> && integral_tile<U>, "this operation needs integer elements");                \
    if constexpr (integral_tile<T> && integral_tile<U> && detail::check_shapes<T, U>()) {                        \
      return detail::map<mutual_broadcast_t<T, U, detail::ElementT<T>>>("operator" #op, detail::Op{}, a, count); \
    }                                                                                                            \
  }
KIZAMI_TILE_SHIFT(<<, ShiftLeft)
KIZAMI_TILE_SHIFT(>>, ShiftRight)
#undef KIZAMI_TILE_SHIFT

// ---- logic: both operands are always evaluated ----------------------------------------------------------------------

#define KIZAMI_TILE_LOGIC(op)                                                                                          \
  template <class T, class U>                                                                                          \
  requires detail::WithTile<T, U>                                                                                      \
  [[nodiscard]] constexpr auto operator op(const T& a, const U& b) noexcept {                                          \
    if constexpr (detail::check_shapes<T, U>()) {                                                                      \
      return detail::map<mutual_broadcast_t<T, U, bool>>(                                                              \
          "operator" #op, [](auto x, auto y) { return detail::scalar_cast<bool>(x) op detail::scalar_cast<bool>(y); }, \
          a, b);                                                                                                       \
    }                                                                                                                  \
  }
KIZAMI_TILE_LOGIC(&&)
KIZAMI_TILE_LOGIC(||)
#undef KIZAMI_TILE_LOGIC

// ---- unary ----------------------------------------------------------------------------------------------------------

/// Integral promotion.
template <class T>
requires detail::kIsTile<T>
[[nodiscard]] constexpr auto operator+(const T& a) noexcept {
  if constexpr (pointer_tile<T>) {
    return a;
  } else {
    static_assert(arithmetic_tile<T>, "FP8 and TF32 have no arithmetic: element_cast to a wider type first");
    if constexpr (arithmetic_tile<T>) {
      using Result = arithmetic_tile_promotion_t<T>;
      return detail::map<Result>(
          "unary +", [](auto x) { return detail::scalar_cast<detail::ElementT<Result>>(x); }, a);
    }
  }
}
template <class T>
requires detail::kIsTile<T>
[[nodiscard]] constexpr T operator-(const T& a) noexcept {
  static_assert(arithmetic_tile<T>, "unary minus needs integers, double, float, __half or __nv_bfloat16");
  return detail::map<T>("unary -", detail::Negate{}, a);
}
template <class T>
requires detail::kIsTile<T>
[[nodiscard]] constexpr T operator~(const T& a) noexcept {
  static_assert(integral_tile<T>, "this operation needs integer elements");
  return detail::map<T>("operator~", detail::Complement{}, a);
}
template <class T>
requires detail::kIsTile<T>
[[nodiscard]] constexpr auto operator!(const T& a) noexcept {
  return detail::map<tile_with_element_t<T, bool>>(
      "operator!", [](auto x) { return !detail::scalar_cast<bool>(x); }, a);
}

}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
