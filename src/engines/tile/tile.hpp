// SPDX-License-Identifier: MIT
// Engine tile: the INT8 product as a kernel in CUDA Tile C++ (tile_kernels/product_i8.hpp), run on processors by the
// host implementation of cuda::tiles.
#pragma once

#include "product/product.hpp"

namespace kizami::engines {

/// @range  beyond that of ProductDesc: row strides and c_col_stride below 2^31, for tile kernels index by int
/// @exact  as cpu_ref, every epilogue but kCompare
/// Takes no workspace; each thread that runs blocks maps a stack and scratch of its own the first time, and keeps them.
[[nodiscard]] const product::Engine& tile_engine();

}  // namespace kizami::engines
