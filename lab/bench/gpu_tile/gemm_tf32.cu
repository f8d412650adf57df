// SPDX-License-Identifier: MIT
// Products of TF32 numbers in memory, accumulated in FP32. B lies along k.
#include "entry.cuh"

#define ENTRY(...) KIZAMI_TILE_ENTRY(__nv_tf32, __nv_tf32, float, float, kColMajor, __VA_ARGS__)
KIZAMI_TILE_GEMM_TF32(ENTRY)
