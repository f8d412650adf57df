// SPDX-License-Identifier: MIT
// x y + z in ways that a compiler may or may not contract to one rounding. Included by two files of kernels, which are
// compiled with --fmad=false and --fmad=true.
#pragma once

#include <cuda_tile.h>

namespace ct = cuda::tiles;

template <class T>
__tile__ auto view_of(T* data, int n) {
  return ct::partition_view{ct::tensor_span{data, ct::extents{n}}, ct::shape<256>{}};
}

/// @shape x, y, z, r: [n]; grid: ceil(n / 256)
#define TERNARY(name, T, expression)                                                                          \
  extern "C" __tile_global__ void name(const T* x_data, const T* y_data, const T* z_data, T* r_data, int n) { \
    const auto i = ct::bid().x;                                                                               \
    const auto x = view_of(x_data, n).load_masked(i);                                                         \
    const auto y = view_of(y_data, n).load_masked(i);                                                         \
    const auto z = view_of(z_data, n).load_masked(i);                                                         \
    view_of(r_data, n).store_masked(expression, i);                                                           \
  }

#define CONTRACTION(suffix, T)                                                                                   \
  TERNARY(operators_##suffix, T, x* y + z)                                                                       \
  TERNARY(functions_##suffix, T, ct::add(ct::mul(x, y), z))                                                      \
  TERNARY(tagged_##suffix, T, ct::add(ct::mul(x, y, ct::round_ties_to_even_t{}), z, ct::round_ties_to_even_t{})) \
  TERNARY(fma_##suffix, T, ct::fma(x, y, z))
CONTRACTION(f32, float)
CONTRACTION(f64, double)
