// SPDX-License-Identifier: MIT
// Lists of extents, strides and offsets, each value known to the compiler or at run time; shapes (extents that are all
// known) and what shapes do to each other under broadcasting.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kizami/tile/constants.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {

using std::int32_t;
using std::int64_t;
using std::uint32_t;
using std::uint64_t;

template <class T, class U>
concept same_as = std::same_as<T, U>;

enum DynamicExtentType : std::size_t { dynamic_extent = static_cast<std::size_t>(-1) };
enum DynamicStrideType : std::size_t { dynamic_stride = static_cast<std::size_t>(-1) };
enum DynamicOffsetType : std::ptrdiff_t {
  dynamic_offset = std::ptrdiff_t(std::size_t{1} << (8 * sizeof(std::ptrdiff_t) - 1))
};

namespace detail {

/// The values of a list that are known at run time only.
template <class I, std::size_t kCount>
struct DynamicValues {
  I values[kCount]{};
  constexpr I& operator[](std::size_t i) noexcept { return values[i]; }
  constexpr I operator[](std::size_t i) const noexcept { return values[i]; }
};
template <class I>
struct DynamicValues<I, 0> {};

/// Values of type I, the static ones (those that differ from kDynamic) taking no space.
template <class I, class Static, Static kDynamic, Static... kValues>
class MixedValues {
 public:
  static constexpr std::size_t kRank = sizeof...(kValues);
  static constexpr std::size_t kRankDynamic = (std::size_t{kValues == kDynamic} + ... + 0);

  constexpr MixedValues() = default;
  /// Takes the dynamic values in their order, or one value for every dimension.
  template <class... Vs>
  constexpr explicit MixedValues(std::in_place_t, Vs... values) {
    if constexpr (kRankDynamic != 0) {
      const std::array<I, sizeof...(Vs)> given{static_cast<I>(values)...};
      std::size_t next = 0;
      for (std::size_t i = 0; i < kRank; ++i) {
        if (kStatic[i] == kDynamic) {
          dynamic_[next] = given[kRank == sizeof...(Vs) ? i : next];
          ++next;
        }
      }
    }
  }

  [[nodiscard]] static constexpr Static static_value(std::size_t i) noexcept { return kStatic[i]; }
  [[nodiscard]] constexpr I value(std::size_t i) const noexcept {
    if constexpr (kRankDynamic != 0) {
      if (kStatic[i] == kDynamic) {
        std::size_t before = 0;
        for (std::size_t j = 0; j < i; ++j) before += kStatic[j] == kDynamic ? 1 : 0;
        return dynamic_[before];
      }
    }
    return static_cast<I>(kStatic[i]);
  }

 private:
  static constexpr std::array<Static, kRank + 1> kStatic{kValues..., kDynamic};  // never empty
  [[no_unique_address]] DynamicValues<I, kRankDynamic> dynamic_{};
};

template <class I, std::size_t kRank, std::size_t kRankDynamic, class... Vs>
inline constexpr bool kInitialises = sizeof...(Vs) != 0 && (std::is_convertible_v<Vs, I> && ...) &&
                                     (sizeof...(Vs) == kRankDynamic || sizeof...(Vs) == kRank);

template <class Static, Static kDynamic, class T>
inline constexpr Static kStaticOr = kDynamic;
template <class Static, Static kDynamic, auto kValue>
inline constexpr Static kStaticOr<Static, kDynamic, integral_constant<kValue>> = static_cast<Static>(kValue);

}  // namespace detail

/// Extents of an array or a tile. @range values representable in I; construct from the dynamic ones, or from all.
template <integral I, std::size_t... kExtents>
struct extents : private detail::MixedValues<I, std::size_t, dynamic_extent, kExtents...> {
  static_assert(!std::is_const_v<I> && !std::is_volatile_v<I> && !std::is_same_v<I, bool>,
                "extents<I, ...>: I is an unqualified integer type other than bool");
  using index_type = I;
  using size_type = std::make_unsigned_t<I>;
  using rank_type = std::size_t;

  static constexpr rank_type rank() noexcept { return sizeof...(kExtents); }
  static constexpr rank_type rank_dynamic() noexcept { return Values::kRankDynamic; }
  static constexpr std::size_t static_extent(rank_type i) noexcept { return Values::static_value(i); }
  [[nodiscard]] constexpr index_type extent(rank_type i) const noexcept { return this->value(i); }

  constexpr extents() = default;
  template <class... Vs>
  requires detail::kInitialises<I, sizeof...(kExtents),
                                detail::MixedValues<I, std::size_t, dynamic_extent, kExtents...>::kRankDynamic, Vs...>
  constexpr explicit extents(Vs... values) noexcept : Values(std::in_place, values...) {}

 private:
  using Values = detail::MixedValues<I, std::size_t, dynamic_extent, kExtents...>;
};
template <class... Vs>
extents(Vs...) -> extents<std::uint32_t, detail::kStaticOr<std::size_t, dynamic_extent, Vs>...>;

/// Extents that the compiler knows, with the index type of tiles.
template <std::size_t... kExtents>
using shape = extents<std::uint32_t, kExtents...>;

/// Strides in elements; as extents otherwise.
template <integral I, std::size_t... kStrides>
struct strides : private detail::MixedValues<I, std::size_t, dynamic_stride, kStrides...> {
  static_assert(!std::is_const_v<I> && !std::is_volatile_v<I> && !std::is_same_v<I, bool>,
                "strides<I, ...>: I is an unqualified integer type other than bool");
  using stride_type = I;
  using rank_type = std::size_t;

  static constexpr rank_type rank() noexcept { return sizeof...(kStrides); }
  static constexpr rank_type rank_dynamic() noexcept { return Values::kRankDynamic; }
  static constexpr std::size_t static_stride(rank_type i) noexcept { return Values::static_value(i); }
  [[nodiscard]] constexpr stride_type stride(rank_type i) const noexcept { return this->value(i); }

  constexpr strides() = default;
  template <class... Vs>
  requires detail::kInitialises<I, sizeof...(kStrides),
                                detail::MixedValues<I, std::size_t, dynamic_stride, kStrides...>::kRankDynamic, Vs...>
  constexpr explicit strides(Vs... values) noexcept : Values(std::in_place, values...) {}

 private:
  using Values = detail::MixedValues<I, std::size_t, dynamic_stride, kStrides...>;
};
template <class... Vs>
strides(Vs...) -> strides<std::uint32_t, detail::kStaticOr<std::size_t, dynamic_stride, Vs>...>;

/// Offsets in elements, signed; as extents otherwise.
template <integral I, std::ptrdiff_t... kOffsets>
struct offsets : private detail::MixedValues<I, std::ptrdiff_t, dynamic_offset, kOffsets...> {
  static_assert(!std::is_const_v<I> && !std::is_volatile_v<I> && !std::is_same_v<I, bool>,
                "offsets<I, ...>: I is an unqualified integer type other than bool");
  using offset_type = I;
  using rank_type = std::size_t;

  static constexpr rank_type rank() noexcept { return sizeof...(kOffsets); }
  static constexpr rank_type rank_dynamic() noexcept { return Values::kRankDynamic; }
  static constexpr std::ptrdiff_t static_offset(rank_type i) noexcept { return Values::static_value(i); }
  [[nodiscard]] constexpr offset_type offset(rank_type i) const noexcept { return this->value(i); }

  constexpr offsets() = default;
  template <class... Vs>
  requires detail::kInitialises<
      I, sizeof...(kOffsets), detail::MixedValues<I, std::ptrdiff_t, dynamic_offset, kOffsets...>::kRankDynamic, Vs...>
  constexpr explicit offsets(Vs... values) noexcept : Values(std::in_place, values...) {}

 private:
  using Values = detail::MixedValues<I, std::ptrdiff_t, dynamic_offset, kOffsets...>;
};
template <class... Vs>
offsets(Vs...) -> offsets<std::int32_t, detail::kStaticOr<std::ptrdiff_t, dynamic_offset, Vs>...>;

// ---- concepts: any type with these members will do, std::extents for instance ---------------------------------------

template <class T>
concept extents_like = std::copyable<std::remove_cv_t<T>> && requires(const T& x, typename T::rank_type i) {
  requires std::is_integral_v<typename T::rank_type> && std::is_integral_v<typename T::index_type>;
  requires !std::is_same_v<typename T::index_type, bool>;
  { T::rank() } -> std::same_as<typename T::rank_type>;
  { T::rank_dynamic() } -> std::same_as<typename T::rank_type>;
  { T::static_extent(i) } -> std::same_as<std::size_t>;
  { x.extent(i) } -> std::same_as<typename T::index_type>;
};
template <class T>
concept strides_like = std::copyable<std::remove_cv_t<T>> && requires(const T& x, typename T::rank_type i) {
  requires std::is_integral_v<typename T::rank_type> && std::is_integral_v<typename T::stride_type>;
  requires !std::is_same_v<typename T::stride_type, bool>;
  { T::rank() } -> std::same_as<typename T::rank_type>;
  { T::rank_dynamic() } -> std::same_as<typename T::rank_type>;
  { T::static_stride(i) } -> std::same_as<std::size_t>;
  { x.stride(i) } -> std::same_as<typename T::stride_type>;
};
template <class T>
concept offsets_like = std::copyable<std::remove_cv_t<T>> && requires(const T& x, typename T::rank_type i) {
  requires std::is_integral_v<typename T::rank_type> && std::is_integral_v<typename T::offset_type>;
  requires !std::is_same_v<typename T::offset_type, bool>;
  { T::rank() } -> std::same_as<typename T::rank_type>;
  { T::rank_dynamic() } -> std::same_as<typename T::rank_type>;
  { T::static_offset(i) } -> std::same_as<std::ptrdiff_t>;
  { x.offset(i) } -> std::same_as<typename T::offset_type>;
};
template <class T>
concept shape_like = extents_like<T> &&(T::rank_dynamic() == 0);

template <extents_like T, extents_like U>
[[nodiscard]] constexpr bool extents_equal(const T& a, const U& b) noexcept {
  if (T::rank() != U::rank()) return false;
  for (std::size_t i = 0; i < T::rank(); ++i) {
    if (!(a.extent(i) == b.extent(i))) return false;
  }
  return true;
}
template <strides_like T, strides_like U>
[[nodiscard]] constexpr bool strides_equal(const T& a, const U& b) noexcept {
  if (T::rank() != U::rank()) return false;
  for (std::size_t i = 0; i < T::rank(); ++i) {
    if (!(a.stride(i) == b.stride(i))) return false;
  }
  return true;
}
template <offsets_like T, offsets_like U>
[[nodiscard]] constexpr bool offsets_equal(const T& a, const U& b) noexcept {
  if (T::rank() != U::rank()) return false;
  for (std::size_t i = 0; i < T::rank(); ++i) {
    if (!(a.offset(i) == b.offset(i))) return false;
  }
  return true;
}
template <extents_like T, extents_like U>
[[nodiscard]] constexpr bool operator==(const T& a, const U& b) noexcept {
  return extents_equal(a, b);
}
template <strides_like T, strides_like U>
[[nodiscard]] constexpr bool operator==(const T& a, const U& b) noexcept {
  return strides_equal(a, b);
}
template <offsets_like T, offsets_like U>
[[nodiscard]] constexpr bool operator==(const T& a, const U& b) noexcept {
  return offsets_equal(a, b);
}

// ---- shapes of tiles ------------------------------------------------------------------------------------------------

namespace detail {

inline constexpr std::size_t kMaxTileElems = std::size_t{1} << 24;

template <class T>
inline constexpr bool kIsShapeType = false;
template <std::size_t... kExtents>
inline constexpr bool kIsShapeType<extents<std::uint32_t, kExtents...>> = ((kExtents != dynamic_extent) && ...);

template <class S>
consteval bool extents_are_powers_of_two() {
  for (std::size_t i = 0; i < S::rank(); ++i) {
    const std::size_t n = S::static_extent(i);
    if (n == 0 || (n & (n - 1)) != 0) return false;
  }
  return true;
}

/// Product of the extents; kMaxTileElems + 1 if it is larger than kMaxTileElems.
template <class S>
consteval std::size_t capped_size() {
  std::size_t size = 1;
  for (std::size_t i = 0; i < S::rank(); ++i) {
    const std::size_t n = S::static_extent(i);
    if (n > kMaxTileElems || size * n > kMaxTileElems) return kMaxTileElems + 1;
    size *= n;
  }
  return size;
}

}  // namespace detail

/// A shape that a tile can have: static extents, each a power of two, at most 2^24 elements.
template <class T>
concept tile_shape = detail::kIsShapeType<T> && detail::extents_are_powers_of_two<T>() &&
    (detail::capped_size<T>() <= detail::kMaxTileElems);

template <shape_like S>
inline constexpr std::size_t shape_size_v = [] {
  std::size_t size = 1;
  for (std::size_t i = 0; i < S::rank(); ++i) size *= S::static_extent(i);
  return size;
}();

namespace detail {

/// Extent of S at dimension `from_end` from the last (0 = last); 1 for the dimensions that S lacks.
template <class S>
constexpr std::size_t trailing_extent(std::size_t from_end) {
  return from_end < S::rank() ? S::static_extent(S::rank() - 1 - from_end) : 1;
}
template <class S, class T>
inline constexpr std::size_t kBroadcastRank = S::rank() > T::rank() ? S::rank() : T::rank();

template <class S, class T>
consteval bool shapes_broadcast() {
  for (std::size_t i = 0; i < kBroadcastRank<S, T>; ++i) {
    const std::size_t m = trailing_extent<S>(i);
    const std::size_t n = trailing_extent<T>(i);
    if (m != n && m != 1 && n != 1) return false;
  }
  return true;
}
template <class S, class T>
consteval bool shape_broadcasts_to() {
  if (S::rank() > T::rank()) return false;
  for (std::size_t i = 0; i < S::rank(); ++i) {
    const std::size_t m = trailing_extent<S>(i);
    if (m != trailing_extent<T>(i) && m != 1) return false;
  }
  return true;
}
template <class S, class T>
consteval std::size_t broadcast_extent(std::size_t dim) {
  const std::size_t from_end = kBroadcastRank<S, T> - 1 - dim;
  const std::size_t m = trailing_extent<S>(from_end);
  return m == 1 ? trailing_extent<T>(from_end) : m;
}
template <class S, class T, class Dims = std::make_index_sequence<kBroadcastRank<S, T>>>
struct BroadcastShape;
template <class S, class T, std::size_t... kDims>
struct BroadcastShape<S, T, std::index_sequence<kDims...>> {
  using type = shape<broadcast_extent<S, T>(kDims)...>;
};

}  // namespace detail

template <class S, class T>
concept shape_broadcast_compatible = shape_like<S> && shape_like<T> && detail::shapes_broadcast<S, T>();
template <class S, class T>
concept shape_broadcastable_to = shape_like<S> && shape_like<T> && detail::shape_broadcasts_to<S, T>();
/// The shape to which both broadcast: aligned at the last dimension, 1 stretches.
template <class S, class T>
using shape_broadcast_t = typename detail::BroadcastShape<S, T>::type;

}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
