// SPDX-License-Identifier: MIT
// Which element type and shape a binary operation has, and which operands it refuses. Each refusal is a sentence.
//   tile op tile, scalar op scalar   the common type of C++ without integral promotion: short + short is short
//   tile op scalar                   the tile's type; the scalar must fit it
//   comparison                       the common type in every case
// Integers convert to floating point freely; every other narrowing is refused.
#pragma once

#include <type_traits>

#include "kizami/tile/tile.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {
namespace detail {

template <class T, class U>
inline constexpr bool kHasCommon =
    kIsArithmetic<ElementT<T>>&& kIsArithmetic<ElementT<U>> && !kUnordered<ElementT<T>, ElementT<U>>;

/// The element type of an arithmetic operation. @range kHasCommon<T, U>
template <class T, class U>
struct ArithmeticElement {
  using type = CommonScalarT<ElementT<T>, ElementT<U>>;
};
template <class T, class U>
requires(kIsTile<T> && !kIsTile<U>) struct ArithmeticElement<T, U> {
  using type = ElementT<T>;
};
template <class T, class U>
requires(!kIsTile<T> && kIsTile<U>) struct ArithmeticElement<T, U> {
  using type = ElementT<U>;
};

template <class T, class U, class E>
consteval bool neither_loses() {
  return !kLosesInArithmetic<ElementT<T>, E> && !kLosesInArithmetic<ElementT<U>, E>;
}

template <class T, class U>
consteval bool arithmetic_elements_convert() {
  if constexpr (kHasCommon<T, U>) {
    return neither_loses<T, U, typename ArithmeticElement<T, U>::type>();
  } else {
    return false;
  }
}
template <class T, class U>
consteval bool comparable_elements() {
  if constexpr (kHasCommon<T, U>) {
    return neither_loses<T, U, CommonScalarT<ElementT<T>, ElementT<U>>>();
  } else {
    return false;
  }
}

template <class T, class U, class E>
struct MutualBroadcast {
  using type = tile<E, shape_broadcast_t<ShapeT<T>, ShapeT<U>>>;
};
template <class T, class U, class E>
requires(!kIsTile<T> && !kIsTile<U>) struct MutualBroadcast<T, U, E> {
  using type = E;
};

}  // namespace detail

template <class T, class U>
concept arithmetic_tile_convertible = arithmetic_tile<T> && arithmetic_tile<U> && broadcast_compatible<T, U> &&
    detail::arithmetic_elements_convert<T, U>();
template <class T, class U>
concept arithmetic_tile_comparable = arithmetic_tile<T> && arithmetic_tile<U> && broadcast_compatible<T, U> &&
    detail::comparable_elements<T, U>();

/// The tile (or scalar) of elements E and the broadcast shape of T and U.
template <tile_like T, tile_like U, class E>
using mutual_broadcast_t = typename detail::MutualBroadcast<T, U, E>::type;
template <class T, class U>
requires arithmetic_tile_convertible<T, U>
using arithmetic_tile_conversion_t = mutual_broadcast_t<T, U, typename detail::ArithmeticElement<T, U>::type>;
template <class T, class U>
requires arithmetic_tile_comparable<T, U>
using arithmetic_tile_comparison_t =
    mutual_broadcast_t<T, U, detail::CommonScalarT<detail::ElementT<T>, detail::ElementT<U>>>;
/// What unary plus gives: integral promotion of the elements.
template <arithmetic_tile T>
using arithmetic_tile_promotion_t =
    tile_with_element_t<T, typename std::conditional_t<
                               detail::kIsIntegral<detail::ElementT<T>>,
                               std::type_identity<decltype(+std::conditional_t<detail::kIsIntegral<detail::ElementT<T>>,
                                                                               detail::ElementT<T>, int>{})>,
                               std::type_identity<detail::ElementT<T>>>::type>;

namespace detail {

/// Refuses shapes that do not broadcast.
template <class T, class U>
consteval bool check_shapes() {
  static_assert(
      shape_broadcast_compatible<ShapeT<T>, ShapeT<U>>,
      "the shapes do not broadcast: aligned at the last dimension, two extents must be equal or one of them 1");
  if constexpr (shape_broadcast_compatible<ShapeT<T>, ShapeT<U>>) {
    static_assert(tile_shape<shape_broadcast_t<ShapeT<T>, ShapeT<U>>>,
                  "the broadcast shape has more than 2^24 elements");
  }
  return broadcast_compatible<T, U>;
}

/// Refuses element types that have no arithmetic or no common type.
template <class T, class U>
consteval bool check_elements() {
  static_assert(!kIsRestrictedFloat<ElementT<T>> && !kIsRestrictedFloat<ElementT<U>>,
                "FP8 and TF32 have no arithmetic: element_cast to a wider type first");
  static_assert(!kIsPointer<ElementT<T>> && !kIsPointer<ElementT<U>>, "this operation is not defined for pointers");
  static_assert(!kUnordered<ElementT<T>, ElementT<U>>,
                "__half and __nv_bfloat16 have no common type: element_cast one of the operands");
  return kHasCommon<T, U>;
}

/// Refuses, with the reason, what arithmetic_tile_convertible refuses.
template <class T, class U>
consteval bool check_arithmetic() {
  constexpr bool kBroadcasts = check_shapes<T, U>();
  if constexpr (check_elements<T, U>()) {
    using E = typename ArithmeticElement<T, U>::type;
    constexpr bool kKeeps = neither_loses<T, U, E>();
    if constexpr (kIsTile<T> != kIsTile<U>) {
      static_assert(
          kKeeps,
          "the scalar would be narrowed to the tile's element type, which alone decides the type of the result: "
          "write a literal of that type (2.0f for a tile of float), or cast the scalar");
    } else {
      static_assert(kKeeps, "the conversion to the common type would narrow an operand: element_cast it explicitly");
    }
    return kKeeps && kBroadcasts;
  } else {
    return false;
  }
}

/// Refuses, with the reason, what arithmetic_tile_comparable refuses.
template <class T, class U>
consteval bool check_comparison() {
  constexpr bool kBroadcasts = check_shapes<T, U>();
  if constexpr (check_elements<T, U>()) {
    static_assert(comparable_elements<T, U>(),
                  "the conversion to the common type would narrow an operand of the comparison: cast it explicitly");
    return comparable_elements<T, U>() && kBroadcasts;
  } else {
    return false;
  }
}

/// Refuses operands that are not integers.
template <class T, class U>
consteval bool check_integral() {
  static_assert(kIsIntegral<ElementT<T>> && kIsIntegral<ElementT<U>>, "this operation needs integer elements");
  if constexpr (kIsIntegral<ElementT<T>> && kIsIntegral<ElementT<U>>) {
    return check_arithmetic<T, U>();
  } else {
    return false;
  }
}

}  // namespace detail
}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
