// SPDX-License-Identifier: MIT
// One operation of the language as a kernel that is run on the host and on a device and must give the same: what its
// arguments are, and how far the results may be apart. operations.hpp is the list.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kizami/tile.hpp"

namespace kizami::tile_operations {

constexpr int kElements = 1024;  // of each of the arrays x, y and z

/// What an array holds. The operations must be defined for it, so that host and device may not differ.
enum class Fill : std::uint8_t {
  kSmall,     ///< whole numbers from -4 to 4, or to 8 if unsigned: sums and products of a tile stay exact
  kCount,     ///< whole numbers from 1 to 7: shifts, divisors
  kBits,      ///< any bits: integers
  kFlags,     ///< 0 or 1
  kReal,      ///< random significands, +-2^-4 .. 2^4
  kPositive,  ///< the same above 0
  kSpecial,   ///< NaN, infinities and numbers in turn
  kOrder,     ///< 37 i mod the number of elements: each index once
};

inline namespace KIZAMI_TILE_BACKEND {
namespace ct = cuda::tiles;
using namespace ct::literals;

/// The first elements of an array as a tile, row-major.
template <std::size_t... kN, class T>
__tile__ auto in(T* data) {
  return ct::partition_view{ct::tensor_span{data, ct::shape<kN...>{}}, ct::shape<kN...>{}}.load((kN - kN)...);
}
/// A tile to the first elements of an array.
template <class T, std::size_t... kN>
__tile__ void out(T* data, ct::tile<T, ct::shape<kN...>> tile) {
  ct::partition_view{ct::tensor_span{data, ct::shape<kN...>{}}, ct::shape<kN...>{}}.store(tile, (kN - kN)...);
}
/// The addresses of the first elements of an array.
template <int kN, class T>
__tile__ auto addresses(T* data) {
  return data + ct::iota<ct::tile<int, ct::shape<kN>>>();
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_operations

// OPERATION(name, type of x, y, z, what x, y and z hold before, units in the last place that results may be apart, body)
#if defined(__CUDACC_TILE__)
#define OPERATION(name, X, Y, Z, x_fill, y_fill, z_fill, units, ...) \
  extern "C" __tile_global__ void name([[maybe_unused]] const X* x, [[maybe_unused]] const Y* y, Z* z) __VA_ARGS__
#else
#include "tile/tests/operations/listed.hpp"
#define OPERATION(name, X, Y, Z, x_fill, y_fill, z_fill, units, ...)               \
  inline void name([[maybe_unused]] const X* x, [[maybe_unused]] const Y* y, Z* z) \
      __VA_ARGS__ inline const bool name##_is_listed =                             \
          list_operation<X, Y, Z>(#name, name, Fill::x_fill, Fill::y_fill, Fill::z_fill, units);
#endif
