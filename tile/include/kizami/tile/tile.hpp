// SPDX-License-Identifier: MIT
// The tile: an immutable value of a static shape, whose elements only the functions of this library see. A scalar is a
// tile of rank 0 to all of them.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "kizami/tile/extents.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {

template <class E, class S>
class tile;

namespace detail {

template <class T>
struct TileTraits {  // a scalar
  using element = T;
  using shape_type = shape<>;
  static constexpr bool kIsTile = false;
};
template <class E, class S>
struct TileTraits<tile<E, S>> {
  using element = E;
  using shape_type = S;
  static constexpr bool kIsTile = true;
};
template <class T>
using Traits = TileTraits<std::remove_cvref_t<T>>;

template <class T>
inline constexpr bool kIsTile = Traits<T>::kIsTile;
template <class T>
using ElementT = typename Traits<T>::element;
template <class T>
using ShapeT = typename Traits<T>::shape_type;

template <class T, class E>
struct WithElement {
  using type = std::conditional_t<kIsTile<T>, tile<E, ShapeT<T>>, E>;
};

}  // namespace detail

// ---- concepts -------------------------------------------------------------------------------------------------------

template <class T>
concept tile_like = detail::kIsTile<T> || detail::kIsScalar<std::remove_cv_t<T>>;
template <class T>
concept pointer_tile = tile_like<T> && detail::kIsPointer<detail::ElementT<T>>;
template <class T>
concept numeric_tile = tile_like<T> && detail::kIsNumeric<detail::ElementT<T>>;
template <class T>
concept arithmetic_tile = numeric_tile<T> && detail::kIsArithmetic<detail::ElementT<T>>;
template <class T>
concept floating_point_tile = numeric_tile<T> && detail::kIsFloat<detail::ElementT<T>>;
template <class T>
concept integral_tile = arithmetic_tile<T> && detail::kIsIntegral<detail::ElementT<T>>;
template <class T>
concept basic_floating_point_tile = arithmetic_tile<T> && floating_point_tile<T>;
template <class T>
concept restricted_floating_point_tile = floating_point_tile<T> && detail::kIsRestrictedFloat<detail::ElementT<T>>;

template <class T>
concept scalar = tile_like<T> && !detail::kIsTile<T>;
template <class T>
concept pointer_scalar = scalar<T> && pointer_tile<T>;
template <class T>
concept numeric_scalar = scalar<T> && numeric_tile<T>;
template <class T>
concept arithmetic_scalar = scalar<T> && arithmetic_tile<T>;
template <class T>
concept floating_point_scalar = scalar<T> && floating_point_tile<T>;
template <class T>
concept integral_scalar = scalar<T> && integral_tile<T>;
template <class T>
concept basic_floating_point_scalar = scalar<T> && basic_floating_point_tile<T>;
template <class T>
concept restricted_floating_point_scalar = scalar<T> && restricted_floating_point_tile<T>;

template <tile_like T>
using tile_element_t = detail::ElementT<T>;
template <tile_like T>
using tile_shape_t = detail::ShapeT<T>;
template <tile_like T>
inline constexpr std::size_t tile_rank_v = detail::ShapeT<T>::rank();
template <tile_like T>
inline constexpr std::size_t tile_size_v = shape_size_v<detail::ShapeT<T>>;
/// T with elements of type E; E itself if T is a scalar.
template <tile_like T, class E>
using tile_with_element_t = typename detail::WithElement<T, E>::type;

template <class T, class U>
concept scalar_convertible_to = scalar<T> && scalar<U> && detail::converts<std::remove_cv_t<T>, std::remove_cv_t<U>>();
template <class T, class U>
concept non_narrowing_scalar_convertible_to =
    scalar_convertible_to<T, U> && !detail::narrows<std::remove_cv_t<T>, std::remove_cv_t<U>>();
template <class S, class T>
concept same_shape = shape_like<S> && shape_like<T> &&(S::rank() == T::rank()) && extents_equal(S{}, T{});
template <class T, class U>
concept tile_convertible_to = tile_like<T> && tile_like<U> &&
    scalar_convertible_to<detail::ElementT<T>, detail::ElementT<U>> && same_shape<detail::ShapeT<T>, detail::ShapeT<U>>;
template <class T, class U>
concept non_narrowing_tile_convertible_to =
    tile_convertible_to<T, U> && non_narrowing_scalar_convertible_to<detail::ElementT<T>, detail::ElementT<U>>;
template <class T>
concept bool_tile_convertible = tile_like<T>;  // every scalar converts to bool
template <class T, class U>
concept broadcastable_to = tile_like<T> && tile_shape<U> && shape_broadcastable_to<detail::ShapeT<T>, U>;
template <class T, class U>
concept broadcast_compatible =
    tile_like<T> && tile_like<U> && shape_broadcast_compatible<detail::ShapeT<T>, detail::ShapeT<U>> &&
    tile_shape<shape_broadcast_t<detail::ShapeT<T>, detail::ShapeT<U>>>;

// ---- the tile -------------------------------------------------------------------------------------------------------

namespace detail {

/// Elements in row-major order, and in debug mode which of them are defined.
template <class E, std::size_t kSize>
struct TileStorage {
  E elements[kSize];
};
#if defined(KIZAMI_TILE_DEBUG)
template <class E, std::size_t kSize>
struct CheckedStorage : TileStorage<E, kSize> {
  std::array<bool, kSize> defined{};
};
template <class E, std::size_t kSize>
using StorageT = CheckedStorage<E, kSize>;
#else
template <class E, std::size_t kSize>
using StorageT = TileStorage<E, kSize>;
#endif

struct Access;

/// The two conversions of a tile, which elementwise.hpp defines.
template <class To, class From>
[[nodiscard]] constexpr To convert_tile(const From& from) noexcept;
template <class To, class From>
[[nodiscard]] constexpr To only_element(const From& from) noexcept;

}  // namespace detail

/// A value of shape_size_v<S> elements of type E.
/// @range E an unqualified scalar, S a tile_shape. sizeof(tile) == sizeof(E) * size and alignof(tile) == alignof(E),
///        except in debug mode; trivially copyable. Default construction leaves the elements undefined.
template <class E, class S>
class tile final {
  static_assert(detail::kIsScalar<E>,
                "tile<E, S>: E must be an unqualified scalar of tile code (an integer of 8 to 64 bits, double, float, "
                "__half, __nv_bfloat16, an FP8 type, __nv_tf32, or a pointer to one of these or to void)");
  static_assert(detail::kIsShapeType<S>, "tile<E, S>: S must be a cuda::tiles::shape<...>");
  static_assert(detail::extents_are_powers_of_two<S>(), "tile<E, S>: every extent of S must be a power of two");
  static_assert(detail::capped_size<S>() <= detail::kMaxTileElems, "tile<E, S>: a tile has at most 2^24 elements");

 public:
  using element_type = E;
  using shape_type = S;
  using rank_type = typename S::rank_type;
  using index_type = typename S::index_type;

  tile() = default;

  /// Converts element by element; implicit only if no element can change its value.
  template <tile_like Other>
  requires(tile_convertible_to<Other, tile> &&
           !std::is_same_v<Other, tile>) explicit(!non_narrowing_tile_convertible_to<Other, tile>)
      tile(const Other& other) noexcept
      : tile(detail::convert_tile<tile>(other)) {}

  /// The element of a tile that has exactly one. Of one that is not const: NVIDIA's compiler refuses the others.
  template <scalar Other>
  requires(shape_size_v<S> == 1 && scalar_convertible_to<E, Other>) explicit operator Other() noexcept {
    return detail::only_element<std::remove_cv_t<Other>>(*this);
  }

 private:
  friend detail::Access;
  detail::StorageT<E, shape_size_v<S>> storage_;
};
template <scalar E>
tile(E) -> tile<std::remove_cv_t<E>, shape<>>;

namespace detail {

/// The one way to the elements of a tile.
struct Access {
  template <class E, class S>
  [[nodiscard]] static constexpr E* elements(tile<E, S>& x) noexcept {
    return x.storage_.elements;
  }
  template <class E, class S>
  [[nodiscard]] static constexpr const E* elements(const tile<E, S>& x) noexcept {
    return x.storage_.elements;
  }
  template <class T>
  [[nodiscard]] static constexpr T* elements(T& x) noexcept {  // a scalar is its only element
    return &x;
  }

  /// Whether element i has a value; outside debug mode, and for scalars, it is taken to have one.
  template <class T>
  [[nodiscard]] static constexpr bool is_defined(const T& x, std::size_t i) noexcept {
    if constexpr (kDebug && kIsTile<T>) {
      return x.storage_.defined[i];
    } else {
      static_cast<void>(x), static_cast<void>(i);
      return true;
    }
  }
  template <class T>
  static constexpr void set_defined(T& x, std::size_t i, bool is_defined) noexcept {
    if constexpr (kDebug && kIsTile<T>) {
      x.storage_.defined[i] = is_defined;
    } else {
      static_cast<void>(x), static_cast<void>(i), static_cast<void>(is_defined);
    }
  }
};

/// Marks every element of x as defined.
template <class T>
constexpr void define_all(T& x) noexcept {
  if constexpr (kDebug) {
    for (std::size_t i = 0; i < shape_size_v<ShapeT<T>>; ++i) Access::set_defined(x, i, true);
  }
}

}  // namespace detail
}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
