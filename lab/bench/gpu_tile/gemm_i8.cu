// SPDX-License-Identifier: MIT
// INT8 products in INT32. B lies along k.
#include "entry.cuh"

#define ENTRY(...) KIZAMI_TILE_ENTRY(std::int8_t, std::int8_t, std::int32_t, std::int32_t, kColMajor, __VA_ARGS__)
KIZAMI_TILE_GEMM_I8(ENTRY)
