// SPDX-License-Identifier: MIT
// The attention kernels that bench_gpu_tile_attention compares. An entry is
//   V(type, T, head size, queries a tile, keys a tile, occupancy, num_worker_warps_per_cta)
// with the hints of the CUDA Tile language for sm_90; each is there for all keys and causal. The file is read by the
// kernel file, as kernels, and by the program, as table.
#pragma once

#define KIZAMI_TILE_ATTENTION(V)             \
  V(f16, __half, 64, 128, 128, 1, 8)         \
  V(f16, __half, 64, 128, 64, 1, 8)          \
  V(f16, __half, 64, 64, 128, 2, 4)          \
  V(f16, __half, 64, 64, 64, 3, 4)           \
  V(f16, __half, 128, 128, 64, 1, 8)         \
  V(f16, __half, 128, 128, 128, 1, 8)        \
  V(f16, __half, 128, 128, 32, 1, 8)         \
  V(f16, __half, 128, 64, 64, 2, 4)          \
  V(bf16, __nv_bfloat16, 64, 128, 128, 1, 8) \
  V(bf16, __nv_bfloat16, 128, 128, 64, 1, 8)
