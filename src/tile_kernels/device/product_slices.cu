// SPDX-License-Identifier: MIT
// Entry points: products of windows of floating-point slices. Those whose names end in _any store C anywhere. Tiles,
// steps and hints are the fastest of those tried on an H200 (tile/docs/kernels.md).
#include "tile_kernels/product_slices.hpp"

namespace kernels = kizami::tile_kernels;

#define PRODUCT(name, Slice, tile, blocks, warps, block, ...)                                                          \
  extern "C" [[cutile::hint(900, occupancy = blocks, num_worker_warps_per_cta = warps)]] __tile_global__ void name(    \
      const Slice* __restrict__ a, int a_row_stride, const Slice* __restrict__ b, int b_row_stride,                    \
      std::int32_t* __restrict__ c, int c_col_stride, int m, int n, int k, int group) {                                \
    kernels::block<Slice, tile, tile, __VA_ARGS__>(a, a_row_stride, b, b_row_stride, c, c_col_stride, m, n, k, group); \
  }
PRODUCT(product_fp16, __half, 64, 3, 4, promoted_product_block, 64, 1, true)
PRODUCT(product_fp16_any, __half, 64, 3, 4, promoted_product_block, 64, 1, false)
PRODUCT(product_bf16, __nv_bfloat16, 128, 1, 8, promoted_product_block, 64, 4, true)
PRODUCT(product_bf16_any, __nv_bfloat16, 128, 1, 8, promoted_product_block, 64, 4, false)
// Not 256 at a time: the compiler sums 128 of them before it adds, and 64 is what E4M3 digits of 4 bits allow.
PRODUCT(product_e4m3, __nv_fp8_e4m3, 128, 1, 8, fp8_product_block, 64, 2, true)
PRODUCT(product_e4m3_any, __nv_fp8_e4m3, 128, 1, 8, fp8_product_block, 64, 2, false)
PRODUCT(product_e5m2, __nv_fp8_e5m2, 128, 1, 8, fp8_product_block, 256, 1, true)
PRODUCT(product_e5m2_any, __nv_fp8_e5m2, 128, 1, 8, fp8_product_block, 256, 1, false)
