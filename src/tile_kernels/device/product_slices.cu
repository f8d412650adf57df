// SPDX-License-Identifier: MIT
// Entry points: products of windows of floating-point slices. Those whose names end in _any store C anywhere.
#include "tile_kernels/product_slices.hpp"

namespace kernels = kizami::tile_kernels;

#define PRODUCT(name, Slice, block, ...)                                                                             \
  extern "C" [[cutile::hint(900, occupancy = 1, num_worker_warps_per_cta = 8)]] __tile_global__ void name(           \
      const Slice* __restrict__ a, int a_row_stride, const Slice* __restrict__ b, int b_row_stride,                  \
      std::int32_t* __restrict__ c, int c_col_stride, int m, int n, int k, int group) {                              \
    kernels::block<Slice, 128, 128, __VA_ARGS__>(a, a_row_stride, b, b_row_stride, c, c_col_stride, m, n, k, group); \
  }
PRODUCT(product_fp16, __half, promoted_product_block, 64, 1, true)
PRODUCT(product_fp16_any, __half, promoted_product_block, 64, 1, false)
PRODUCT(product_bf16, __nv_bfloat16, promoted_product_block, 64, 4, true)
PRODUCT(product_bf16_any, __nv_bfloat16, promoted_product_block, 64, 4, false)
PRODUCT(product_e4m3, __nv_fp8_e4m3, fp8_product_block, 64, true)
PRODUCT(product_e4m3_any, __nv_fp8_e4m3, fp8_product_block, 64, false)
PRODUCT(product_e5m2, __nv_fp8_e5m2, fp8_product_block, 256, true)
PRODUCT(product_e5m2_any, __nv_fp8_e5m2, fp8_product_block, 256, false)
