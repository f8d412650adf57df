// SPDX-License-Identifier: MIT
// Tiles of pointers: arithmetic and comparison, load and store with masks, and the atomic functions. Pointers are taken
// by value, so that an array is the pointer to its first element.
#pragma once

#include <cstddef>
#include <type_traits>

#include "kizami/tile/memory.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {

template <class T>
concept loadable_tile = pointer_tile<T> && !std::is_void_v<std::remove_pointer_t<detail::ElementT<T>>> &&
                        !std::is_volatile_v<std::remove_pointer_t<detail::ElementT<T>>>;
template <class T>
concept storeable_tile = loadable_tile<T> && !std::is_const_v<std::remove_pointer_t<detail::ElementT<T>>>;
/// Whether pointers of these types can be compared.
template <class T, class U>
concept pointer_comparable = pointer_scalar<T> && pointer_scalar<U> && requires(T p, U q) {
  p == q;
};
/// What a load through T gives.
template <tile_like T>
using tile_load_t = tile_with_element_t<T, std::remove_cv_t<std::remove_pointer_t<detail::ElementT<T>>>>;

// ---- arithmetic and comparison --------------------------------------------------------------------------------------

namespace detail {

template <class T, class U>
concept PointerAndNumber = WithTile<T, U> && pointer_tile<T> && numeric_tile<U>;
template <class T, class U>
concept TwoPointers = WithTile<T, U> && pointer_tile<T> && pointer_tile<U>;

template <class P, class I>
consteval bool check_offset() {
  static_assert(integral_tile<I>, "an offset of pointers must be of integers");
  return integral_tile<I> && check_shapes<P, I>();
}
template <class P>
consteval bool check_pointee() {
  static_assert(!std::is_void_v<std::remove_pointer_t<ElementT<P>>>, "a pointer to void has no arithmetic");
  return !std::is_void_v<std::remove_pointer_t<ElementT<P>>>;
}
/// p + n elements, by way of integers: a pointer outside its array is no fault until it is used.
template <class P, class I>
[[nodiscard]] P advanced(P p, I n) noexcept {
  const auto bytes = static_cast<std::uintptr_t>(static_cast<std::intptr_t>(n)) * sizeof(std::remove_pointer_t<P>);
  return reinterpret_cast<P>(reinterpret_cast<std::uintptr_t>(p) + bytes);
}
template <class T, class U>
[[nodiscard]] auto advance(std::string_view name, const T& p, const U& n, bool is_back) noexcept {
  using P = ElementT<T>;
  return map<mutual_broadcast_t<T, U, P>>(
      name,
      [is_back](P pointer, auto i) {
        const auto count = static_cast<std::intptr_t>(i);
        return advanced(pointer, is_back ? -count : count);
      },
      p, n);
}
template <class P, class Q>
consteval bool check_comparable_pointers() {
  constexpr bool kCompares = pointer_comparable<P, Q>;
  static_assert(kCompares, "pointers to unrelated types have neither comparison nor difference");
  return kCompares;
}

}  // namespace detail

template <class T, class U>
requires detail::PointerAndNumber<T, U>
[[nodiscard]] auto operator+(T p, const U& n) noexcept {
  if constexpr (detail::check_offset<T, U>() && detail::check_pointee<T>()) {
    return detail::advance("operator+", p, n, false);
  }
}
template <class T, class U>
requires detail::PointerAndNumber<U, T>
[[nodiscard]] auto operator+(const T& n, U p) noexcept { return p + n; }
template <class T, class U>
requires detail::PointerAndNumber<T, U>
[[nodiscard]] auto operator-(T p, const U& n) noexcept {
  if constexpr (detail::check_offset<T, U>() && detail::check_pointee<T>()) {
    return detail::advance("operator-", p, n, true);
  }
}
/// Differences in elements.
template <class T, class U>
requires detail::TwoPointers<T, U>
[[nodiscard]] auto operator-(T a, U b) noexcept {
  using P = detail::ElementT<T>;
  using Q = detail::ElementT<U>;
  if constexpr (detail::check_shapes<T, U>() && detail::check_pointee<T>() && detail::check_pointee<U>() &&
                detail::check_comparable_pointers<P, Q>()) {
    return detail::map<mutual_broadcast_t<T, U, std::ptrdiff_t>>(
        "operator-",
        [](P p, Q q) {
          const auto bytes =
              static_cast<std::intptr_t>(reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(q));
          return static_cast<std::ptrdiff_t>(bytes / static_cast<std::intptr_t>(sizeof(std::remove_pointer_t<P>)));
        },
        a, b);
  }
}

#define KIZAMI_TILE_COMPARISON(op)                                                                                    \
  template <class T, class U>                                                                                         \
  requires detail::TwoPointers<T, U>                                                                                  \
  [[nodiscard]] auto operator op(T a, U b) noexcept {                                                                 \
    using P = detail::ElementT<T>;                                                                                    \
    using Q = detail::ElementT<U>;                                                                                    \
    if constexpr (detail::check_shapes<T, U>() && detail::check_comparable_pointers<P, Q>()) {                        \
      return detail::map<mutual_broadcast_t<T, U, bool>>(                                                             \
          "operator" #op,                                                                                             \
          [](P p, Q q) { return reinterpret_cast<std::uintptr_t>(p) op reinterpret_cast<std::uintptr_t>(q); }, a, b); \
    }                                                                                                                 \
  }
KIZAMI_TILE_COMPARISON(<)
KIZAMI_TILE_COMPARISON(<=)
KIZAMI_TILE_COMPARISON(>)
KIZAMI_TILE_COMPARISON(>=)
KIZAMI_TILE_COMPARISON(==)
KIZAMI_TILE_COMPARISON(!=)
#undef KIZAMI_TILE_COMPARISON

template <class T>
requires(detail::kIsTile<T>&& pointer_tile<T>) [[nodiscard]] auto operator==(const T& p, std::nullptr_t) noexcept {
  return p == static_cast<detail::ElementT<T>>(nullptr);
}
template <class T>
requires(detail::kIsTile<T>&& pointer_tile<T>) [[nodiscard]] auto operator!=(const T& p, std::nullptr_t) noexcept {
  return p != static_cast<detail::ElementT<T>>(nullptr);
}

// ---- the loop under loads, stores and atomics -----------------------------------------------------------------------

namespace detail {

struct NoMask {};

template <class T>
consteval bool check_loadable() {
  static_assert(loadable_tile<T>,
                "the first argument must be a pointer, or a tile of pointers, to a scalar that is "
                "neither void nor volatile");
  return loadable_tile<T>;
}
template <class T>
consteval bool check_storeable() {
  static_assert(storeable_tile<T>,
                "the first argument must be a pointer, or a tile of pointers, to a scalar that is "
                "neither void, nor volatile, nor const");
  return storeable_tile<T>;
}
template <class Mask, class T>
consteval bool check_mask() {
  if constexpr (std::is_same_v<Mask, NoMask>) {
    return true;
  } else {
    constexpr bool kBroadcasts = broadcastable_to<Mask, ShapeT<T>>;
    static_assert(kBroadcasts, "the mask must broadcast to the shape of the pointers");
    return kBroadcasts;
  }
}
template <class Value, class T>
consteval bool check_stored_value() {
  constexpr bool kHasShape = same_shape<ShapeT<Value>, ShapeT<T>>;
  static_assert(kHasShape, "the stored tile must have the shape of the pointers, or of the view");
  constexpr bool kKeeps = non_narrowing_scalar_convertible_to<ElementT<Value>, ElementT<tile_load_t<T>>>;
  static_assert(kKeeps, "the stored elements would be narrowed to those in memory: element_cast first");
  return kHasShape && kKeeps;
}

/// Calls body(i, p) for each pointer whose mask holds, and otherwise(i) for the others.
template <class Mask, class T, class Body, class Otherwise>
void for_each_pointer(std::string_view name, const T& pointers, const Mask& mask, const Body& body,
                      const Otherwise& otherwise) {
  const auto visit = [&](std::size_t i, std::size_t j) {
    if constexpr (!std::is_same_v<Mask, NoMask>) {
      require_defined(name, mask, j);
      if (!scalar_cast<bool>(Access::elements(mask)[j])) {
        otherwise(i);
        return;
      }
    }
    auto* const p = Access::elements(pointers)[i];
    if constexpr (kDebug) {
      require_defined(name, pointers, i);
      const bool is_fine = Access::is_defined(pointers, i) && p != nullptr;
      if (p == nullptr) report_element<T>(name, i, "the pointer is null");
      if (is_fine && reinterpret_cast<std::uintptr_t>(p) % alignof(std::remove_pointer_t<ElementT<T>>) != 0) {
        report_element<T>(name, i, "the pointer is not aligned to its type");
      } else if (is_fine) {
        body(i, p);
        return;
      }
      otherwise(i);
    } else {
      body(i, p);
    }
  };
  if constexpr (std::is_same_v<Mask, NoMask>) {
    for (std::size_t i = 0; i < kSize<T>; ++i) visit(i, 0);
  } else {
    for_each_broadcast<ShapeT<T>, ShapeT<Mask>>(visit);
  }
}

/// Loads by `read`; where the mask does not hold the padding, or undefined elements.
template <class T, class Mask, class Padding, class Read>
[[nodiscard]] tile_load_t<T> load_pointers(std::string_view name, const T& pointers, const Mask& mask,
                                           const Padding& padding, const Read& read) noexcept {
  using Result = tile_load_t<T>;
  Result result;
  const auto load = [&](std::size_t i, const auto* p) {
    Access::elements(result)[i] = read(p);
    Access::set_defined(result, i, true);
  };
  const auto pad = [&](std::size_t i) {
    if constexpr (std::is_same_v<Padding, NoMask>) {
      Access::elements(result)[i] = ElementT<Result>{};
      Access::set_defined(result, i, false);
    } else {
      copy_padding(result, i, padding);
    }
  };
  for_each_pointer(name, pointers, mask, load, pad);
  return result;
}
/// Puts the padding that broadcasting pairs with element i.
template <class Result, class Padding>
void copy_padding(Result& result, std::size_t i, const Padding& padding) {
  constexpr auto kStrides = broadcast_strides<ShapeT<Result>, ShapeT<Padding>>();
  std::size_t from = 0;
  std::size_t rest = i;
  for (std::size_t d = ShapeT<Result>::rank(); d-- > 0;) {
    from += rest % ShapeT<Result>::static_extent(d) * kStrides[d];
    rest /= ShapeT<Result>::static_extent(d);
  }
  Access::elements(result)[i] = scalar_cast<ElementT<Result>>(Access::elements(padding)[from]);
  Access::set_defined(result, i, Access::is_defined(padding, from));
}
template <class Padding, class T>
consteval bool check_padding() {
  constexpr bool kBroadcasts = broadcastable_to<Padding, ShapeT<T>>;
  static_assert(kBroadcasts, "the padding must broadcast to the shape of the pointers");
  constexpr bool kKeeps = non_narrowing_scalar_convertible_to<ElementT<Padding>, ElementT<tile_load_t<T>>>;
  static_assert(kKeeps, "the padding would be narrowed to the elements in memory: cast it");
  return kBroadcasts && kKeeps;
}

/// Stores by `write`, without checks of races if is_atomic.
template <bool kIsAtomic, class T, class Value, class Mask, class Write>
void store_pointers(std::string_view name, const T& pointers, const Value& value, const Mask& mask,
                    const Write& write) noexcept {
  using E = ElementT<tile_load_t<T>>;
  if constexpr (kDebug) {
    StoreWatch<Value> watch(name);
    for_each_pointer(
        name, pointers, mask,
        [&](std::size_t i, E* p) {
          if constexpr (kIsAtomic) {
            require_defined(name, value, i);
          } else if (!watch.allows(value, i, p)) {
            return;
          }
          write(p, scalar_cast<E>(Access::elements(value)[i]));
        },
        [](std::size_t) {});
    watch.finish();
  } else {
    for_each_pointer(
        name, pointers, mask, [&](std::size_t i, E* p) { write(p, scalar_cast<E>(Access::elements(value)[i])); },
        [](std::size_t) {});
  }
}

/// Updates memory by update(p, values...); returns the old elements, undefined where the mask does not hold.
template <class T, class Mask, class Update, class... Values>
tile_load_t<T> update_pointers(std::string_view name, const T& pointers, const Mask& mask, const Update& update,
                               const Values&... values) noexcept {
  using E = ElementT<tile_load_t<T>>;
  tile_load_t<T> old;
  for_each_pointer(
      name, pointers, mask,
      [&](std::size_t i, E* p) {
        (require_defined(name, values, i), ...);
        Access::elements(old)[i] = update(p, scalar_cast<E>(Access::elements(values)[i])...);
        Access::set_defined(old, i, true);
      },
      [&](std::size_t i) {
        Access::elements(old)[i] = E{};
        Access::set_defined(old, i, false);
      });
  return old;
}

}  // namespace detail

// ---- load, store ----------------------------------------------------------------------------------------------------

template <tile_like T>
[[nodiscard]] auto load(T pointers) noexcept {
  if constexpr (detail::check_loadable<T>()) {
    return detail::load_pointers("load", pointers, detail::NoMask{}, detail::NoMask{}, detail::PlainRead{});
  }
}
/// Elements whose mask does not hold are undefined: prefer the form with padding.
template <tile_like T, tile_like Mask>
[[nodiscard]] auto load_masked(T pointers, const Mask& mask) noexcept {
  if constexpr (detail::check_loadable<T>()) {
    if constexpr (detail::check_mask<Mask, T>()) {
      return detail::load_pointers("load_masked", pointers, mask, detail::NoMask{}, detail::PlainRead{});
    }
  }
}
template <tile_like T, tile_like Mask, tile_like Padding>
[[nodiscard]] auto load_masked(T pointers, const Mask& mask, const Padding& padding) noexcept {
  if constexpr (detail::check_loadable<T>()) {
    if constexpr (detail::check_mask<Mask, T>() && detail::check_padding<Padding, T>()) {
      return detail::load_pointers("load_masked", pointers, mask, padding, detail::PlainRead{});
    }
  }
}
template <tile_like T, tile_like Value>
void store(T pointers, const Value& value) noexcept {
  if constexpr (detail::check_storeable<T>()) {
    if constexpr (detail::check_stored_value<Value, T>()) {
      detail::store_pointers<false>("store", pointers, value, detail::NoMask{}, detail::PlainWrite{});
    }
  }
}
template <tile_like T, tile_like Value, tile_like Mask>
void store_masked(T pointers, const Value& value, const Mask& mask) noexcept {
  if constexpr (detail::check_storeable<T>()) {
    if constexpr (detail::check_stored_value<Value, T>() && detail::check_mask<Mask, T>()) {
      detail::store_pointers<false>("store_masked", pointers, value, mask, detail::PlainWrite{});
    }
  }
}

}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
