// SPDX-License-Identifier: MIT
// Tiles from numbers and back, by way of memory, as kernels do it; and NumPy's index arithmetic at run time as the
// independent reference of broadcasting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kizami/tile.hpp"

namespace kizami::tile_test {

namespace ct = cuda::tiles;

/// A tile of type T whose elements are make(0), make(1), ... in row-major order.
template <class T, class Make>
T tile_of(const Make& make) {
  using E = ct::tile_element_t<T>;
  std::vector<E> memory;
  for (std::size_t i = 0; i < ct::tile_size_v<T>; ++i) memory.push_back(static_cast<E>(make(i)));
  using Flat = ct::tile<E, ct::shape<ct::tile_size_v<T>>>;
  const ct::partition_view view{ct::tensor_span{memory.data(), ct::shape<ct::tile_size_v<T>>{}},
                                ct::shape<ct::tile_size_v<T>>{}};
  const Flat flat = view.load(0);
  return ct::reshape(flat, ct::tile_shape_t<T>{});
}

/// The elements of a tile, or the scalar itself, in row-major order.
template <class T>
std::vector<ct::tile_element_t<T>> values_of(const T& x) {
  using E = ct::tile_element_t<T>;
  constexpr std::size_t kSize = ct::tile_size_v<T>;
  std::vector<E> memory(kSize);
  const ct::partition_view view{ct::tensor_span{memory.data(), ct::shape<kSize>{}}, ct::shape<kSize>{}};
  view.store(ct::reshape(x, ct::shape<kSize>{}), 0);
  return memory;
}
template <class T>
requires(ct::scalar<T>) std::vector<T> values_of(const T& x) { return {x}; }

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
