// SPDX-License-Identifier: MIT
// Tiles from nothing: full, zeros, ones, iota.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kizami/tile/elementwise.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {

/// Every element x.
template <tile_like T>
[[nodiscard]] constexpr T full(tile_element_t<T> x) noexcept {
  T result;
  std::fill_n(detail::Access::elements(result), tile_size_v<T>, x);
  detail::define_all(result);
  return result;
}
template <numeric_tile T>
[[nodiscard]] constexpr T zeros() noexcept {
  return full<T>(detail::scalar_cast<tile_element_t<T>>(0));
}
template <numeric_tile T>
[[nodiscard]] constexpr T ones() noexcept {
  return full<T>(detail::scalar_cast<tile_element_t<T>>(1));
}
/// 0, 1, 2, ... in row-major order.
template <tile_like T>
[[nodiscard]] constexpr T iota() noexcept {
  static_assert(integral_tile<T>, "iota makes integers: element_cast the result");
  if constexpr (integral_tile<T>) {
    static_assert(tile_size_v<T> - 1 <= static_cast<std::uint64_t>(std::numeric_limits<tile_element_t<T>>::max()),
                  "iota: the last index does not fit the element type");
    T result;
    for (std::size_t i = 0; i < tile_size_v<T>; ++i) {
      detail::Access::elements(result)[i] = static_cast<tile_element_t<T>>(i);
    }
    detail::define_all(result);
    return result;
  }
}

}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
