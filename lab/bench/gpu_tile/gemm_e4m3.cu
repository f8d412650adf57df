// SPDX-License-Identifier: MIT
// FP8 (E4M3) products, accumulated in FP32, stored in FP16. B lies along k.
#include "entry.cuh"

#define ENTRY(...) KIZAMI_TILE_ENTRY(__nv_fp8_e4m3, __nv_fp8_e4m3, float, __half, kColMajor, __VA_ARGS__)
KIZAMI_TILE_GEMM_E4M3(ENTRY)
