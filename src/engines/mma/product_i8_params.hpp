// SPDX-License-Identifier: MIT
// What the host hands to the kernel of product_i8_sm80.cuh: one struct, passed by value.
#pragma once

#include <cstdint>

#include "engines/form_kernels.hpp"
#include "engines/result_params.hpp"
#include "engines/tile_order.hpp"

namespace kizami::engines::mma {

/// num_k_blocks: stages of a line, as long as the form has them; 0 if k is.
struct ProductParams : TileOrder, ResultParams, WindowParams {
  const std::int8_t* a;
  const std::int8_t* b;
  std::int64_t a_row_stride;  ///< bytes, as all strides here
  std::int64_t a_plane_stride;
  std::int64_t b_row_stride;
  std::int64_t b_plane_stride;
  std::int32_t line_bytes;  ///< of a line without windows: k, rounded up to product::kPadBytes
};
static_assert(sizeof(ProductParams) <= 4096, "the limit of kernel parameters");

// One per MmaForm, each in a unit of its own.
[[nodiscard]] FormKernels tile_256x128_kernels();
[[nodiscard]] FormKernels tile_256x128_long_kernels();
[[nodiscard]] FormKernels tile_128x128_kernels();

}  // namespace kizami::engines::mma
