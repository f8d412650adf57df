// SPDX-License-Identifier: MIT
// FP32 products by fused multiply-adds.
#include "entry.cuh"

#define ENTRY(...) KIZAMI_TILE_FMA_ENTRY(float, __VA_ARGS__)
KIZAMI_TILE_GEMM_F32_FMA(ENTRY)
