// SPDX-License-Identifier: MIT
// Promises to the compiler about values: each function returns its argument. On the host they change nothing, but in
// debug mode a promise that does not hold is a fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "kizami/tile/elementwise.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {
namespace detail {

template <auto kValue>
inline constexpr bool kIsPowerOfTwo = kValue > 0 && (kValue & (kValue - 1)) == 0;

/// In debug mode, reports every defined element that does not satisfy `holds(element, i)`.
template <class T, class Holds>
void check_assumption(std::string_view name, const T& x, std::string_view what, const Holds& holds) {
  if constexpr (kDebug) {
    for (std::size_t i = 0; i < shape_size_v<ShapeT<T>>; ++i) {
      if (Access::is_defined(x, i) && !holds(Access::elements(x)[i], i)) report_element<T>(name, i, what);
    }
  } else {
    static_cast<void>(name), static_cast<void>(x), static_cast<void>(what), static_cast<void>(holds);
  }
}

template <class P>
[[nodiscard]] std::uintptr_t address(P p) {
  return reinterpret_cast<std::uintptr_t>(p);
}
/// Index of element i along dimension kDim.
template <class T, std::size_t kDim>
constexpr std::size_t index_along(std::size_t i) {
  std::size_t inner = 1;
  for (std::size_t d = kDim + 1; d < ShapeT<T>::rank(); ++d) inner *= ShapeT<T>::static_extent(d);
  return i / inner % ShapeT<T>::static_extent(kDim);
}

template <class T>
consteval bool check_assumed_pointer() {
  static_assert(pointer_tile<T>, "this assumption is about pointers");
  return pointer_tile<T>;
}
template <class T>
consteval bool check_assumed_integer() {
  constexpr bool kIsInteger = integral_tile<T> && !std::is_same_v<ElementT<T>, bool>;
  static_assert(kIsInteger, "this assumption is about integers other than bool");
  return kIsInteger;
}

}  // namespace detail

/// Every pointer is a multiple of kAlignment bytes.
template <auto kAlignment, tile_like T>
[[nodiscard]] T assume_aligned(T p, integral_constant<kAlignment> = {}) noexcept {
  static_assert(detail::kIsPowerOfTwo<kAlignment>, "assume_aligned: the alignment must be a power of two");
  if constexpr (detail::check_assumed_pointer<T>()) {
    detail::check_assumption("assume_aligned", p, "the pointer is not aligned as assumed", [](auto q, std::size_t) {
      return detail::address(q) % static_cast<std::uintptr_t>(kAlignment) == 0;
    });
  }
  return p;
}
/// Every kStride-th pointer along dimension kDim is a multiple of kAlignment bytes, from the first on.
template <auto kAlignment, auto kStride, auto kDim, tile_like T>
[[nodiscard]] T assume_aligned_strided(T p, integral_constant<kAlignment> = {}, integral_constant<kStride> = {},
                                       integral_constant<kDim> = {}) noexcept {
  static_assert(detail::kIsPowerOfTwo<kAlignment>, "assume_aligned_strided: the alignment must be a power of two");
  static_assert(kStride > 0 && kDim >= 0 && static_cast<std::size_t>(kDim) < tile_rank_v<T>,
                "assume_aligned_strided: the stride must be positive and the dimension below the rank");
  if constexpr (detail::check_assumed_pointer<T>()) {
    detail::check_assumption("assume_aligned_strided", p, "the pointer is not aligned as assumed",
                             [](auto q, std::size_t i) {
                               return detail::index_along<T, kDim>(i) % static_cast<std::size_t>(kStride) != 0 ||
                                      detail::address(q) % static_cast<std::uintptr_t>(kAlignment) == 0;
                             });
  }
  return p;
}
/// Every element is a multiple of kDivisor.
template <auto kDivisor, tile_like T>
[[nodiscard]] T assume_divisible(const T& x, integral_constant<kDivisor> = {}) noexcept {
  static_assert(detail::kIsPowerOfTwo<kDivisor>, "assume_divisible: the divisor must be a power of two");
  if constexpr (detail::check_assumed_integer<T>()) {
    detail::check_assumption("assume_divisible", x, "the element is not divisible as assumed", [](auto e, std::size_t) {
      return (static_cast<std::uint64_t>(e) & (static_cast<std::uint64_t>(kDivisor) - 1)) == 0;
    });
  }
  return x;
}
/// Every kStride-th element along dimension kDim is a multiple of kDivisor, from the first on.
template <auto kDivisor, auto kStride, auto kDim, tile_like T>
[[nodiscard]] T assume_divisible_strided(const T& x, integral_constant<kDivisor> = {}, integral_constant<kStride> = {},
                                         integral_constant<kDim> = {}) noexcept {
  static_assert(detail::kIsPowerOfTwo<kDivisor>, "assume_divisible_strided: the divisor must be a power of two");
  static_assert(kStride > 0 && kDim >= 0 && static_cast<std::size_t>(kDim) < tile_rank_v<T>,
                "assume_divisible_strided: the stride must be positive and the dimension below the rank");
  static_assert(std::is_signed_v<detail::ElementT<T>>, "assume_divisible_strided: the elements must be signed");
  if constexpr (detail::check_assumed_integer<T>()) {
    detail::check_assumption("assume_divisible_strided", x, "the element is not divisible as assumed",
                             [](auto e, std::size_t i) {
                               return detail::index_along<T, kDim>(i) % static_cast<std::size_t>(kStride) != 0 ||
                                      (static_cast<std::uint64_t>(e) & (static_cast<std::uint64_t>(kDivisor) - 1)) == 0;
                             });
  }
  return x;
}
/// kLow <= element <= kHigh.
template <auto kLow, auto kHigh, tile_like T>
[[nodiscard]] T assume_bounded(const T& x, integral_constant<kLow> = {}, integral_constant<kHigh> = {}) noexcept {
  static_assert(std::cmp_less_equal(kLow, kHigh), "assume_bounded: the lower bound must not exceed the upper one");
  if constexpr (detail::check_assumed_integer<T>()) {
    using E = detail::ElementT<T>;
    static_assert(std::cmp_greater_equal(kLow, std::numeric_limits<E>::min()) &&
                      std::cmp_less_equal(kHigh, std::numeric_limits<std::make_signed_t<E>>::max()),
                  "assume_bounded: the bounds must lie in the range of the elements, and in that of their signed type");
    detail::check_assumption("assume_bounded", x, "the element is not within the assumed bounds", [](E e, std::size_t) {
      return std::cmp_less_equal(kLow, e) && std::cmp_less_equal(e, kHigh);
    });
  }
  return x;
}
/// element <= kHigh.
template <auto kHigh, tile_like T>
[[nodiscard]] T assume_bounded_above(const T& x, integral_constant<kHigh> = {}) noexcept {
  if constexpr (detail::check_assumed_integer<T>()) {
    using E = detail::ElementT<T>;
    static_assert(
        std::cmp_greater_equal(kHigh, std::numeric_limits<E>::min()) &&
            std::cmp_less_equal(kHigh, std::numeric_limits<std::make_signed_t<E>>::max()),
        "assume_bounded_above: the bound must lie in the range of the elements, and in that of their signed type");
    detail::check_assumption("assume_bounded_above", x, "the element is above the assumed bound",
                             [](E e, std::size_t) { return std::cmp_less_equal(e, kHigh); });
  }
  return x;
}
/// kLow <= element.
template <auto kLow, tile_like T>
[[nodiscard]] T assume_bounded_below(const T& x, integral_constant<kLow> = {}) noexcept {
  if constexpr (detail::check_assumed_integer<T>()) {
    using E = detail::ElementT<T>;
    static_assert(std::is_signed_v<E>, "assume_bounded_below: the elements must be signed");
    static_assert(std::cmp_greater_equal(kLow, std::numeric_limits<E>::min()) &&
                      std::cmp_less_equal(kLow, std::numeric_limits<E>::max()),
                  "assume_bounded_below: the bound must lie in the range of the elements");
    detail::check_assumption("assume_bounded_below", x, "the element is below the assumed bound",
                             [](E e, std::size_t) { return std::cmp_less_equal(kLow, e); });
  }
  return x;
}
/// The elements are equal within each aligned box of shape S.
template <class S, tile_like T>
[[nodiscard]] T assume_blocked(const T& x, S = {}) noexcept {
  static_assert(shape_like<S>, "assume_blocked: the shape must be static");
  static_assert(S::rank() == tile_rank_v<T>, "assume_blocked: the shape must have the rank of the tile");
  static_assert(pointer_tile<T> || integral_tile<T>, "assume_blocked is about integers and pointers");
  static_assert(shape_size_v<S> != 0, "assume_blocked: no extent may be 0");
  detail::check_assumption("assume_blocked", x, "the element differs from the first of its box",
                           [&](auto e, std::size_t i) {
                             std::size_t first = 0;
                             std::size_t step = 1;
                             for (std::size_t d = S::rank(); d-- > 0;) {
                               const std::size_t extent = detail::ShapeT<T>::static_extent(d);
                               first += i % extent / S::static_extent(d) * S::static_extent(d) * step;
                               i /= extent;
                               step *= extent;
                             }
                             return e == detail::Access::elements(x)[first];
                           });
  return x;
}

}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
