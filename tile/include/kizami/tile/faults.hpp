// SPDX-License-Identifier: MIT
// The sentences of the debug mode: which function, tile and element a broken rule concerns.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kizami/tile/context.hpp"
#include "kizami/tile/tile.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {
namespace detail {

template <class E>
[[nodiscard]] std::string scalar_name() {
  if constexpr (kIsPointer<E>) {
    using Pointee = std::remove_pointer_t<E>;
    std::string text(std::is_const_v<Pointee> ? "const " : "");
    text += scalar_name<std::remove_cv_t<Pointee>>();
    text += '*';
    return text;
  } else if constexpr (std::is_void_v<E>) {
    return "void";
  } else if constexpr (std::is_same_v<E, bool>) {
    return "bool";
  } else if constexpr (std::is_same_v<E, __half>) {
    return "__half";
  } else if constexpr (std::is_same_v<E, __nv_bfloat16>) {
    return "__nv_bfloat16";
  } else if constexpr (std::is_same_v<E, __nv_fp8_e4m3>) {
    return "__nv_fp8_e4m3";
  } else if constexpr (std::is_same_v<E, __nv_fp8_e5m2>) {
    return "__nv_fp8_e5m2";
  } else if constexpr (std::is_same_v<E, __nv_tf32>) {
    return "__nv_tf32";
  } else if constexpr (std::is_floating_point_v<E>) {
    return std::is_same_v<E, float> ? "float" : "double";
  } else {
    std::string text(std::is_signed_v<E> ? "int" : "uint");
    text += std::to_string(8 * sizeof(E));
    return text;
  }
}

// Sentences grow by +=: g++ 12 warns wrongly of overlaps where strings are added.

/// Adds numbers separated by commas, in parentheses.
template <class Numbers>
[[nodiscard]] std::string tuple_text(const Numbers& numbers, std::size_t count) {
  std::string text(1, '(');
  for (std::size_t i = 0; i < count; ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(numbers[i]);
  }
  text += ')';
  return text;
}

// What follows is no template where it can be: a program has hundreds of types of tiles.

/// The extents of a shape, and a number more.
template <class S>
[[nodiscard]] constexpr std::array<std::size_t, S::rank() + 1> extents_of() noexcept {
  std::array<std::size_t, S::rank() + 1> extents{};
  for (std::size_t d = 0; d < S::rank(); ++d) extents[d] = S::static_extent(d);
  return extents;
}
template <class S>
inline constexpr auto kExtentsOf = extents_of<S>();

[[nodiscard]] inline std::string tile_text(const std::string& scalar, const std::size_t* extents, std::size_t rank) {
  std::string text("tile<");
  text += scalar;
  text += ", ";
  for (std::size_t d = 0; d < rank; ++d) {
    if (d != 0) text += 'x';
    text += std::to_string(extents[d]);
  }
  text += rank == 0 ? "scalar>" : ">";
  return text;
}

/// For instance "tile<float, 64x64>"; a scalar is its type alone.
template <class T>
[[nodiscard]] std::string tile_name() {
  if constexpr (!kIsTile<T>) {
    return scalar_name<std::remove_cvref_t<T>>();
  } else {
    return tile_text(scalar_name<ElementT<T>>(), kExtentsOf<ShapeT<T>>.data(), ShapeT<T>::rank());
  }
}

[[nodiscard]] inline std::string index_text(const std::size_t* extents, std::size_t rank, std::size_t i) {
  std::vector<std::size_t> index(rank);
  for (std::size_t d = rank; d-- > 0;) {
    index[d] = i % extents[d];
    i /= extents[d];
  }
  return tuple_text(index, rank);
}

/// The index of the i-th element in row-major order, for instance "(2, 5)".
template <class S>
[[nodiscard]] std::string element_index(std::size_t i) {
  return index_text(kExtentsOf<S>.data(), S::rank(), i);
}

inline void report_text(std::string_view function, const std::string& tile, const std::string& index,
                        std::string_view what) {
  std::string text(function);
  text += ": ";
  text += tile;
  text += ", element ";
  text += index;
  text += ": ";
  text += what;
  report_fault(text);
}

/// Reports that element i of a tile of type T broke a rule of `function`.
template <class T>
void report_element(std::string_view function, std::size_t i, std::string_view what) {
  report_text(function, tile_name<T>(), element_index<ShapeT<T>>(i), what);
}

/// Reports the use of an undefined element as a mask, condition, index, pointer, stored value or scalar.
template <class T>
void require_defined(std::string_view function, const T& x, std::size_t i) {
  if constexpr (kDebug) {
    if (!Access::is_defined(x, i)) report_element<T>(function, i, "the element is undefined");
  } else {
    static_cast<void>(function), static_cast<void>(x), static_cast<void>(i);
  }
}

}  // namespace detail
}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
