// SPDX-License-Identifier: MIT
// Functions that move elements and compute nothing: reshape, broadcast, transpose, permute, cat, extract, select.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "kizami/tile/elementwise.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {
namespace detail {

/// Copies an element with its definedness. @shape i of result, j of x
template <class R, class T>
constexpr void copy_element(R& result, std::size_t i, const T& x, std::size_t j) {
  Access::elements(result)[i] = Access::elements(x)[j];
  if constexpr (kDebug) Access::set_defined(result, i, Access::is_defined(x, j));
}

/// result[c] = x[sum_d c[d] steps[d] + start] for all coordinates c of result.
template <class R, class T, std::size_t kRank>
[[nodiscard]] constexpr R strided_copy(const T& x, const std::array<std::size_t, kRank>& steps, std::size_t start) {
  using S = ShapeT<R>;
  R result;
  if constexpr (S::rank() == 0) {
    copy_element(result, 0, x, start);
  } else {
    constexpr std::size_t kInner = S::static_extent(S::rank() - 1);
    for (std::size_t outer = 0; outer < shape_size_v<S>; outer += kInner) {
      std::size_t from = start;
      std::size_t rest = outer / kInner;
      for (std::size_t d = S::rank() - 1; d-- > 0;) {
        from += rest % S::static_extent(d) * steps[d];
        rest /= S::static_extent(d);
      }
      for (std::size_t i = 0; i < kInner; ++i) copy_element(result, outer + i, x, from + i * steps[S::rank() - 1]);
    }
  }
  return result;
}

/// Steps of a row-major array of shape S.
template <class S>
consteval auto row_major_steps() {
  std::array<std::size_t, S::rank() + 1> steps{};
  std::size_t step = 1;
  for (std::size_t d = S::rank(); d-- > 0;) {
    steps[d] = step;
    step *= S::static_extent(d);
  }
  return steps;
}

template <class S, class Map, std::size_t... kDims>
auto permuted_shape(std::index_sequence<kDims...>) -> shape<S::static_extent(Map::mapping(kDims))...>;
template <class S, class Map>
using PermutedShape = decltype(permuted_shape<S, Map>(std::make_index_sequence<Map::rank()>{}));

template <std::size_t kDim, class S, std::size_t... kDims>
auto doubled_shape(std::index_sequence<kDims...>) -> shape<(S::static_extent(kDims) << (kDims == kDim ? 1 : 0))...>;

template <class T>
struct Transposed {
  using type = T;
};
template <class E, std::size_t kRows, std::size_t kCols, std::size_t... kRest>
struct Transposed<tile<E, shape<kRows, kCols, kRest...>>> {
  using type = tile<E, shape<kCols, kRows, kRest...>>;
};
template <class T, class Map>
struct Permuted {  // a scalar
  using type = T;
};
template <class E, class S, class Map>
struct Permuted<tile<E, S>, Map> {
  using type = tile<E, PermutedShape<S, Map>>;
};

template <class S, class T>
consteval bool divides() {
  for (std::size_t d = 0; d < S::rank(); ++d) {
    if (T::static_extent(d) % S::static_extent(d) != 0) return false;
  }
  return true;
}

/// Reports an index of extract that is beyond the sub-tiles.
template <class T>
void report_extract(std::size_t dim, std::size_t index, std::size_t count) {
  std::string text("extract: index ");
  text += std::to_string(index);
  text += " of dimension ";
  text += std::to_string(dim);
  text += " of ";
  text += tile_name<T>();
  text += " is out of bounds, sub-tiles: ";
  text += std::to_string(count);
  report_fault(text);
}

}  // namespace detail

template <class S, class T>
concept extractable_from = tile_shape<S> && tile_like<T> &&
    (S::rank() == tile_rank_v<T>)&&detail::divides<S, detail::ShapeT<T>>();
/// What transpose, permute and cat make of their arguments' types.
template <tile_like T>
using tile_transpose_t = typename detail::Transposed<T>::type;
template <tile_like T, class Map>
requires(detail::kIsDimensionMap<Map>&& Map::rank() ==
         tile_rank_v<T>) using tile_permutation_t = typename detail::Permuted<T, Map>::type;
template <tile_like T, tile_like U, std::size_t kDim>
requires(std::is_same_v<T, U>&& kDim < tile_rank_v<T>) using concatenation_t =
    tile<detail::ElementT<T>,
         decltype(detail::doubled_shape<kDim, detail::ShapeT<T>>(std::make_index_sequence<tile_rank_v<T>>{}))>;
template <class T, class U, std::size_t kDim>
concept concatenation_compatible = tile_like<T> && tile_like<U> && requires {
  typename concatenation_t<T, U, kDim>;
};

/// The same elements in row-major order under another shape.
template <class S, tile_like T>
[[nodiscard]] constexpr auto reshape(const T& x, S = {}) noexcept {
  static_assert(tile_shape<S>, "reshape: the shape must be static, with powers of two");
  if constexpr (tile_shape<S>) {
    constexpr bool kHasSize = shape_size_v<S> == tile_size_v<T>;
    static_assert(kHasSize, "reshape: the shapes must have the same number of elements");
    if constexpr (kHasSize) {
      tile<detail::ElementT<T>, S> result;
      for (std::size_t i = 0; i < shape_size_v<S>; ++i) detail::copy_element(result, i, x, i);
      return result;
    }
  }
}

/// x stretched to S: aligned at the last dimension, extents of 1 repeated.
template <class S, tile_like T>
[[nodiscard]] constexpr auto broadcast(const T& x, S = {}) noexcept {
  static_assert(tile_shape<S>, "broadcast: the shape must be static, with powers of two");
  if constexpr (tile_shape<S>) {
    static_assert(broadcastable_to<T, S>,
                  "broadcast: every extent, aligned at the last, must be 1 or that of the shape");
    if constexpr (broadcastable_to<T, S>) {
      tile<detail::ElementT<T>, S> result;
      detail::for_each_broadcast<S, detail::ShapeT<T>>(
          [&](std::size_t i, std::size_t j) { detail::copy_element(result, i, x, j); });
      return result;
    }
  }
}

/// Dimension i of the result is dimension map[i] of x.
template <class Map, tile_like T>
[[nodiscard]] constexpr auto permute(const T& x, Map = {}) noexcept {
  static_assert(detail::kIsDimensionMap<Map>, "permute: the second argument must be a dimension_map");
  if constexpr (detail::kIsDimensionMap<Map>) {
    static_assert(Map::rank() == tile_rank_v<T>, "permute: the dimension_map must have the rank of the tile");
    if constexpr (Map::rank() == tile_rank_v<T> && !detail::kIsTile<T>) {
      return x;
    } else if constexpr (Map::rank() == tile_rank_v<T>) {
      using S = detail::ShapeT<T>;
      constexpr auto kFrom = detail::row_major_steps<S>();
      std::array<std::size_t, S::rank() + 1> steps{};
      for (std::size_t d = 0; d < S::rank(); ++d) steps[d] = kFrom[Map::mapping(d)];
      return detail::strided_copy<tile_permutation_t<T, Map>>(x, steps, 0);
    }
  }
}

/// Swaps the first two dimensions; below rank 2, x itself.
template <tile_like T>
[[nodiscard]] constexpr auto transpose(const T& x) noexcept {
  if constexpr (tile_rank_v<T> < 2) {
    return x;
  } else {
    return [&]<std::size_t... kRest>(std::index_sequence<kRest...>) {
      return permute(x, dimension_map<1, 0, (kRest + 2)...>{});
    }
    (std::make_index_sequence<tile_rank_v<T> - 2>{});
  }
}

/// a and b side by side along dimension kDim. @shape equal types; that extent doubles
template <auto kDim, tile_like T, tile_like U>
[[nodiscard]] constexpr auto cat(const T& a, const U& b, integral_constant<kDim> = {}) noexcept {
  static_assert(std::is_same_v<T, U>, "cat: both tiles must have the same type");
  constexpr bool kHasDim = kDim >= 0 && static_cast<std::size_t>(kDim) < tile_rank_v<T>;
  static_assert(kHasDim, "cat: the dimension must be below the rank of the tiles");
  if constexpr (std::is_same_v<T, U> && kHasDim) {
    using S = detail::ShapeT<T>;
    concatenation_t<T, U, static_cast<std::size_t>(kDim)> result;
    // The elements below dimension kDim lie together in both operands.
    constexpr std::size_t kRun = S::static_extent(kDim) * detail::row_major_steps<S>()[kDim];
    for (std::size_t from = 0; from < shape_size_v<S>; ++from) {
      const std::size_t to = from / kRun * 2 * kRun + from % kRun;
      detail::copy_element(result, to, a, from);
      detail::copy_element(result, to + kRun, b, from);
    }
    return result;
  }
}

/// The sub-tile of shape S at (indices...) in units of sub-tiles. @range indices inside; beyond is a fault
template <class S, tile_like T, class... Indices>
[[nodiscard]] constexpr auto extract(const T& x, S, Indices... indices) noexcept {
  static_assert(tile_shape<S>, "extract: the shape must be static, with powers of two");
  static_assert((std::is_convertible_v<Indices, std::size_t> && ...), "extract: the indices must be integers");
  if constexpr (tile_shape<S>) {
    constexpr bool kHasRank = S::rank() == tile_rank_v<T> && sizeof...(Indices) == S::rank();
    static_assert(kHasRank,
                  "extract: the shape must have the rank of the tile, and there must be an index for each dimension");
    if constexpr (kHasRank) {
      constexpr bool kDivides = detail::divides<S, detail::ShapeT<T>>();
      static_assert(kDivides, "extract: every extent of the shape must divide that of the tile");
      if constexpr (kDivides) {
        constexpr auto kSteps = detail::row_major_steps<detail::ShapeT<T>>();
        const std::array<std::size_t, S::rank() + 1> at{static_cast<std::size_t>(indices)...};
        std::size_t start = 0;
        for (std::size_t d = 0; d < S::rank(); ++d) {
          const std::size_t count = detail::ShapeT<T>::static_extent(d) / S::static_extent(d);
          if (kDebug && at[d] >= count) detail::report_extract<T>(d, at[d], count);
          start += at[d] % count * S::static_extent(d) * kSteps[d];
        }
        return detail::strided_copy<tile<detail::ElementT<T>, S>>(x, kSteps, start);
      }
    }
  }
}

/// a where the condition holds, else b. @shape that of a and b, which have one type; the condition broadcasts to it
template <tile_like C, tile_like T, tile_like U>
[[nodiscard]] constexpr T select(const C& condition, const T& a, const U& b) noexcept {
  static_assert(std::is_same_v<T, U>,
                "select: both branches must have the same type; make a tile of a scalar with full");
  constexpr bool kBroadcasts = broadcastable_to<C, detail::ShapeT<T>>;
  static_assert(kBroadcasts, "select: the condition must broadcast to the shape of the branches");
  if constexpr (std::is_same_v<T, U> && kBroadcasts) {
    T result;
    detail::for_each_broadcast<detail::ShapeT<T>, detail::ShapeT<C>>([&](std::size_t i, std::size_t j) {
      detail::require_defined("select, condition", condition, j);
      const bool is_first = detail::scalar_cast<bool>(detail::Access::elements(condition)[j]);
      detail::copy_element(result, i, is_first ? a : b, i);
    });
    return result;
  }
}

}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
