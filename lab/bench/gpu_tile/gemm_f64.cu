// SPDX-License-Identifier: MIT
// FP64 products. The compiler unrolls each tile whole: keep them small (tile/docs/sm_90.md).
#include "entry.cuh"

#define ENTRY(...) KIZAMI_TILE_ENTRY(double, double, double, double, kRowMajor, __VA_ARGS__)
KIZAMI_TILE_GEMM_F64(ENTRY)
