// SPDX-License-Identifier: MIT
// FP16 products, accumulated in FP32.
#include "entry.cuh"

#define ENTRY(...) KIZAMI_TILE_ENTRY(__half, __half, float, __half, kRowMajor, __VA_ARGS__)
KIZAMI_TILE_GEMM_F16(ENTRY)
