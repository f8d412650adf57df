// SPDX-License-Identifier: MIT
// Products of FP32 numbers that the kernel rounds to TF32, accumulated in FP32. B lies along k.
#include "entry.cuh"

#define ENTRY(...) KIZAMI_TILE_ENTRY(float, __nv_tf32, float, float, kColMajor, __VA_ARGS__)
KIZAMI_TILE_GEMM_F32_TF32(ENTRY)
