// SPDX-License-Identifier: MIT
// BF16 products, accumulated in FP32.
#include "entry.cuh"

#define ENTRY(...) KIZAMI_TILE_ENTRY(__nv_bfloat16, __nv_bfloat16, float, __nv_bfloat16, kRowMajor, __VA_ARGS__)
KIZAMI_TILE_GEMM_BF16(ENTRY)
