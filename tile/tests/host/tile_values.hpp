// SPDX-License-Identifier: MIT
// Tiles from numbers and back, by way of memory, as kernels do it; and NumPy's index arithmetic at run time as the
// independent reference of broadcasting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "kizami/tile.hpp"

namespace kizami::tile_test {

namespace ct = cuda::tiles;

/// An element as tests hold it: std::vector<bool> is no array.
template <class E>
using Held = std::conditional_t<std::is_same_v<E, bool>, unsigned char, E>;

/// The value of an element of a floating-point format.
template <class E>
[[nodiscard]] double real(E x) {
  if constexpr (std::is_same_v<E, double>) return x;
  return static_cast<double>(static_cast<float>(x));
}

/// A tile of type T whose elements are make(0), make(1), ... in row-major order.
template <class T, class Make>
T tile_of(const Make& make) {
  using E = ct::tile_element_t<T>;
  constexpr std::size_t kSize = ct::tile_size_v<T>;
  const auto memory = std::make_unique<E[]>(kSize);
  for (std::size_t i = 0; i < kSize; ++i) memory[i] = static_cast<E>(make(i));
  const ct::partition_view view{ct::tensor_span{memory.get(), ct::shape<kSize>{}}, ct::shape<kSize>{}};
  return ct::reshape(view.load(0), ct::tile_shape_t<T>{});
}

/// The elements of a tile, or the scalar itself, in row-major order.
template <class T>
std::vector<Held<ct::tile_element_t<T>>> values_of(const T& x) {
  using E = ct::tile_element_t<T>;
  constexpr std::size_t kSize = ct::tile_size_v<T>;
  const auto memory = std::make_unique<E[]>(kSize);
  const ct::partition_view view{ct::tensor_span{memory.get(), ct::shape<kSize>{}}, ct::shape<kSize>{}};
  view.store(ct::reshape(x, ct::shape<kSize>{}), 0);
  return {memory.get(), memory.get() + kSize};
}

using Dims = std::vector<std::size_t>;

template <class T>
Dims dims_of() {
  Dims dims;
  for (std::size_t d = 0; d < ct::tile_rank_v<T>; ++d) dims.push_back(ct::tile_shape_t<T>::static_extent(d));
  return dims;
}
inline std::size_t size_of(const Dims& dims) {
  std::size_t size = 1;
  for (const std::size_t n : dims) size *= n;
  return size;
}
/// Coordinates of element i of a row-major array.
inline Dims coordinates(const Dims& dims, std::size_t i) {
  Dims c(dims.size());
  for (std::size_t d = dims.size(); d-- > 0;) {
    c[d] = i % dims[d];
    i /= dims[d];
  }
  return c;
}
inline std::size_t flat_index(const Dims& dims, const Dims& c) {
  std::size_t i = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) i = i * dims[d] + c[d];
  return i;
}
/// NumPy's rule: the element of an array of shape `from` that broadcasting pairs with coordinates `c` of the result.
inline std::size_t broadcast_index(const Dims& from, const Dims& c) {
  Dims own(from.size());
  for (std::size_t d = 0; d < from.size(); ++d) own[d] = from[d] == 1 ? 0 : c[c.size() - from.size() + d];
  return flat_index(from, own);
}

}  // namespace kizami::tile_test
