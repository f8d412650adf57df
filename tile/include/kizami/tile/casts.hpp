// SPDX-License-Identifier: MIT
// element_cast and element_bitcast: the same elements in another type, or other elements from the same bits.
#pragma once

#include <bit>
#include <string_view>

#include "kizami/tile/elementwise.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {
namespace detail {

template <class To>
struct Cast {
  template <class From>
  constexpr To operator()(From x) const {
    return scalar_cast<To>(x);
  }
  template <class From>
  constexpr std::string_view fault(From x) const {
    if constexpr (kIsFloat<From> && kIsIntegral<To> && !std::is_same_v<To, bool>) {
      if (!fits_integer<To>(scalar_cast<double>(x))) return "the value is beyond the integer type";
    }
    return static_cast<void>(x), "";
  }
};

}  // namespace detail

/// Converts every element. @bound rounded once to nearest, ties to even; FP8 saturates; floating point to integer
/// truncates, and beyond the integer type goes to its end (undefined in the language, a fault in debug mode).
template <class E, tile_like T>
[[nodiscard]] constexpr auto element_cast(const T& x) noexcept {
  static_assert(scalar<E>, "element_cast<E>: E must be a scalar of tile code");
  static_assert(
      scalar_convertible_to<detail::ElementT<T>, E>,
      "element_cast<E>: pointers convert to bool and to compatible pointers only; element_bitcast to integers");
  return detail::map<tile_with_element_t<T, std::remove_cv_t<E>>>("element_cast", detail::Cast<std::remove_cv_t<E>>{},
                                                                  x);
}

/// The bits of every element as an E.
template <class E, tile_like T>
[[nodiscard]] constexpr auto element_bitcast(const T& x) noexcept {
  static_assert(scalar<E>, "element_bitcast<E>: E must be a scalar of tile code");
  static_assert(sizeof(E) == sizeof(detail::ElementT<T>), "element_bitcast<E>: both element types must have one size");
  if constexpr (scalar<E> && sizeof(E) == sizeof(detail::ElementT<T>)) {
    using To = std::remove_cv_t<E>;
    return detail::map<tile_with_element_t<T, To>>(
        "element_bitcast", [](auto e) { return std::bit_cast<To>(e); }, x);
  }
}

}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
