// SPDX-License-Identifier: MIT
// The mathematical functions, element by element, on tiles and scalars of double, float, __half and __nv_bfloat16. They
// are those of the C library, in float for the two 16-bit formats; the language states no accuracy.
#pragma once

#include <cmath>

#include "kizami/tile/arithmetic.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {
namespace detail {

/// f in the working type of the elements, rounded once to them.
template <class T, class F>
[[nodiscard]] T map_math(std::string_view name, const F& f, const T& x) noexcept {
  using E = ElementT<T>;
  return map<T>(
      name, [&](E e) { return scalar_cast<E>(f(scalar_cast<WorkingT<E>>(e))); }, x);
}
template <class T>
consteval bool check_math() {
  static_assert(basic_floating_point_tile<T>,
                "mathematical functions need elements of double, float, __half or __nv_bfloat16: element_cast first");
  return basic_floating_point_tile<T>;
}
/// exp and tanh: round_full for every type, round_approximate for float.
template <rounding_mode kMode, class T>
consteval bool check_full_or_approximate() {
  constexpr bool kIsKnown = kMode == rounding_mode::round_full || kMode == rounding_mode::round_approximate;
  static_assert(kIsKnown, "this function takes round_full and round_approximate only");
  constexpr bool kIsForType = kMode == rounding_mode::round_full || std::is_same_v<ElementT<T>, float>;
  static_assert(kIsForType, "round_approximate is for elements of type float only");
  return kIsKnown && kIsForType;
}

}  // namespace detail

#define KIZAMI_TILE_MATH(name)                            \
  template <tile_like T>                                  \
  [[nodiscard]] T name(const T& x) noexcept {             \
    if constexpr (detail::check_math<T>()) {              \
      return detail::map_math(                            \
          #name, [](auto e) { return std::name(e); }, x); \
    }                                                     \
  }
KIZAMI_TILE_MATH(ceil)
KIZAMI_TILE_MATH(floor)
KIZAMI_TILE_MATH(log)
KIZAMI_TILE_MATH(log2)
KIZAMI_TILE_MATH(sin)
KIZAMI_TILE_MATH(cos)
KIZAMI_TILE_MATH(tan)
KIZAMI_TILE_MATH(sinh)
KIZAMI_TILE_MATH(cosh)
#undef KIZAMI_TILE_MATH

#define KIZAMI_TILE_MATH(name)                                                                \
  template <rounding_mode kMode = rounding_mode::round_full, tile_like T>                     \
  [[nodiscard]] T name(const T& x, rounding_mode_constant<kMode> = {}) noexcept {             \
    if constexpr (detail::check_math<T>() && detail::check_full_or_approximate<kMode, T>()) { \
      return detail::map_math(                                                                \
          #name, [](auto e) { return std::name(e); }, x);                                     \
    }                                                                                         \
  }
KIZAMI_TILE_MATH(exp)
KIZAMI_TILE_MATH(tanh)
#undef KIZAMI_TILE_MATH

template <subnormals_rounding_mode kSubnormals = default_subnormals_rounding_mode(), tile_like T>
[[nodiscard]] T exp2(const T& x, subnormals_rounding_mode_constant<kSubnormals> = {}) noexcept {
  if constexpr (detail::check_math<T>() &&
                detail::check_modes<default_rounding_mode(), kSubnormals, detail::ElementT<T>>()) {
    return detail::map_math(
        "exp2", [](auto e) { return detail::flushed<kSubnormals>(std::exp2(detail::flushed<kSubnormals>(e))); }, x);
  }
}
/// 1 / sqrt(x).
template <subnormals_rounding_mode kSubnormals = default_subnormals_rounding_mode(), tile_like T>
[[nodiscard]] T rsqrt(const T& x, subnormals_rounding_mode_constant<kSubnormals> = {}) noexcept {
  if constexpr (detail::check_math<T>() &&
                detail::check_modes<default_rounding_mode(), kSubnormals, detail::ElementT<T>>()) {
    return detail::map_math(
        "rsqrt", [](auto e) { return 1 / std::sqrt(detail::flushed<kSubnormals>(e)); }, x);
  }
}
/// Correctly rounded in the precise modes.
template <rounding_mode kMode = default_rounding_mode(),
          subnormals_rounding_mode kSubnormals = default_subnormals_rounding_mode(), tile_like T>
[[nodiscard]] T sqrt(const T& x, rounding_mode_constant<kMode> = {},
                     subnormals_rounding_mode_constant<kSubnormals> = {}) noexcept {
  static_assert(kMode != rounding_mode::round_full, "sqrt takes the precise rounding modes and round_approximate");
  if constexpr (detail::check_math<T>() && detail::check_modes<kMode, kSubnormals, detail::ElementT<T>>()) {
    return detail::map<T>("sqrt", detail::RoundedSqrt<kMode, kSubnormals>{}, x);
  }
}

namespace detail {
struct Power {
  template <class T>
  T operator()(T a, T b) const {
    return rounded_once([](auto x, auto y) { return std::pow(x, y); }, a, b);
  }
};
struct ArcTangent2 {
  template <class T>
  T operator()(T a, T b) const {
    return rounded_once([](auto x, auto y) { return std::atan2(x, y); }, a, b);
  }
};
}  // namespace detail

template <tile_like T, tile_like U>
[[nodiscard]] auto pow(const T& base, const U& exponent) noexcept {
  if constexpr (detail::check_math<T>() && detail::check_math<U>()) {
    if constexpr (detail::check_arithmetic<T, U>()) return detail::arithmetic<detail::Power>("pow", base, exponent);
  }
}
/// The angle of the point (x, y), in radians.
template <tile_like T, tile_like U>
[[nodiscard]] auto atan2(const T& y, const U& x) noexcept {
  if constexpr (detail::check_arithmetic<T, U>()) {
    if constexpr (detail::check_math<arithmetic_tile_conversion_t<T, U>>()) {
      return detail::arithmetic<detail::ArcTangent2>("atan2", y, x);
    }
  }
}

/// Whether an element is NaN, of any floating-point type.
template <tile_like T>
[[nodiscard]] constexpr auto isnan(const T& x) noexcept {
  static_assert(floating_point_tile<T>, "isnan needs floating-point elements");
  return detail::map<tile_with_element_t<T, bool>>(
      "isnan", [](auto e) { return detail::scalar_cast<double>(e) != detail::scalar_cast<double>(e); }, x);
}
/// Whether an element is infinite. @range E4M3 has no infinity
template <tile_like T>
[[nodiscard]] constexpr auto isinf(const T& x) noexcept {
  static_assert(floating_point_tile<T>, "isinf needs floating-point elements");
  return detail::map<tile_with_element_t<T, bool>>(
      "isinf",
      [](auto e) {
        const double value = detail::scalar_cast<double>(e);
        return value == std::numeric_limits<double>::infinity() || value == -std::numeric_limits<double>::infinity();
      },
      x);
}

}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
