// SPDX-License-Identifier: MIT
// FP64 products by fused multiply-adds.
#include "entry.cuh"

#define ENTRY(...) KIZAMI_TILE_FMA_ENTRY(double, __VA_ARGS__)
KIZAMI_TILE_GEMM_F64_FMA(ENTRY)
