// SPDX-License-Identifier: MIT
// What the host hands to the product kernel: one struct, passed by value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engines/form_kernels.hpp"
#include "engines/hopper/tile_walk.hpp"
#include "engines/result_params.hpp"
#include "product/product.hpp"

namespace kizami::engines::hopper {

/// Bytes of k of a stage.
inline constexpr int kBlockBytes = 128;

struct ProductParams : TileWalk, ResultParams, WindowParams {  // num_k_blocks is at least 1
  std::int32_t blocks_per_sum;  ///< floating-point planes: blocks of k that an accumulator sums exactly
};
static_assert(sizeof(ProductParams) <= 4096, "the limit of kernel parameters");

// One per HopperForm, each in a unit of its own.
[[nodiscard]] FormKernels ping_pong_128x128_kernels();
[[nodiscard]] FormKernels ping_pong_128x128_permuted_kernels();
[[nodiscard]] FormKernels ping_pong_128x128_alone_kernels();
[[nodiscard]] FormKernels ping_pong_192x128_permuted_kernels();
[[nodiscard]] FormKernels cooperative_256x128_kernels();
[[nodiscard]] FormKernels cooperative_256x128_permuted_kernels();
[[nodiscard]] FormKernels cooperative_192x256_kernels();
[[nodiscard]] FormKernels cooperative_192x256_permuted_kernels();

/// A kernel for windows of floating-point planes.
struct FloatKernel {
  const void* kernel;
  std::size_t shared_bytes;
};
// Each in a unit of its own.
template <SliceFormat kFormat>
[[nodiscard]] FloatKernel float_kernel();

/// C of a product with k = 0: the epilogue of sums that are all zero. Any grid, any block.
[[nodiscard]] FormKernels empty_sum_kernels();

}  // namespace kizami::engines::hopper
