// SPDX-License-Identifier: MIT
// What a kernel file spells outside cuda::tiles: __tile_global__, __tile__, __host__, __device__, uint3 and dim3. On
// the host the annotations are empty. Hints, [[cutile::hint(...)]], are accepted and ignored.
#pragma once

#include "kizami/tile/abi.hpp"

#if defined(KIZAMI_TILE_HAS_CUDA_FORMATS)
#include <vector_types.h>
#else
namespace kizami::tile {

struct Uint3 {
  unsigned int x, y, z;
};
/// Three counts, each at least 1, as CUDA's.
struct Dim3 {
  unsigned int x, y, z;
  constexpr Dim3(unsigned int nx = 1, unsigned int ny = 1, unsigned int nz = 1)  // NOLINT(google-explicit-constructor)
      : x(nx), y(ny), z(nz) {}
  constexpr Dim3(Uint3 n) : x(n.x), y(n.y), z(n.z) {}  // NOLINT(google-explicit-constructor)
};

}  // namespace kizami::tile

using uint3 = kizami::tile::Uint3;
using dim3 = kizami::tile::Dim3;
#endif

#if !defined(__host__)
#define __host__
#endif
#if !defined(__device__)
#define __device__
#endif
#undef __tile__  // CUDA 13's headers define both, for its own compiler
#undef __tile_global__
#define __tile__
#define __tile_global__

// A hint may stand before a declaration or a statement; the compilers of the host do not know its namespace.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wunknown-attributes"
#elif defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wattributes"
#endif
