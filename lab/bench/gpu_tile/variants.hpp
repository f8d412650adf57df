// SPDX-License-Identifier: MIT
// The GEMM tile kernels that bench_gpu_tile compares, one list a type. An entry is
//   V(type, kTileM, kTileN, kTileK, num_cta_in_cga, occupancy, num_worker_warps_per_cta, latency, allow_tma)
// with the hints of the CUDA Tile language for sm_90 (latency 0: none given). A block of num_cta_in_cga CTAs shares its
// tile among them. The file is read by the kernel files, as kernels, and by the program, as table.
// Four warps hold 128 x 128 FP32 accumulators, eight 128 x 256; FP8 needs them twice. What else was tried and was
// slower, is in lab/results/h200/tile.jsonl: pairs of CTAs, latency, no TMA, and tiles that spill
// (tile/docs/sm_90.md).
#pragma once

#define KIZAMI_TILE_GEMM_F16(V)          \
  V(f16, 128, 128, 64, 1, 2, 4, 0, true) \
  V(f16, 128, 256, 64, 1, 1, 8, 0, true) \
  V(f16, 128, 256, 128, 1, 1, 8, 0, true) V(f16, 128, 64, 128, 1, 2, 4, 0, true) V(f16, 64, 64, 128, 1, 3, 4, 0, true)

#define KIZAMI_TILE_GEMM_BF16(V)          \
  V(bf16, 128, 128, 64, 1, 2, 4, 0, true) \
  V(bf16, 128, 256, 128, 1, 1, 8, 0, true) V(bf16, 128, 64, 128, 1, 2, 4, 0, true)

#define KIZAMI_TILE_GEMM_E4M3(V)           \
  V(e4m3, 128, 128, 128, 1, 1, 8, 0, true) \
  V(e4m3, 128, 128, 256, 1, 1, 8, 0, true) \
  V(e4m3, 128, 64, 256, 1, 2, 4, 0, true) V(e4m3, 64, 128, 256, 1, 2, 4, 0, true) V(e4m3, 64, 64, 256, 1, 3, 4, 0, true)

#define KIZAMI_TILE_GEMM_E5M2(V) V(e5m2, 128, 128, 256, 1, 1, 8, 0, true) V(e5m2, 128, 64, 256, 1, 2, 4, 0, true)

#define KIZAMI_TILE_GEMM_I8(V)           \
  V(i8, 128, 128, 128, 1, 2, 4, 0, true) \
  V(i8, 128, 256, 128, 1, 1, 8, 0, true) \
  V(i8, 128, 256, 256, 1, 1, 8, 0, true) V(i8, 128, 64, 256, 1, 2, 4, 0, true) V(i8, 64, 64, 256, 1, 3, 4, 0, true)

#define KIZAMI_TILE_GEMM_TF32(V)          \
  V(tf32, 128, 128, 32, 1, 2, 4, 0, true) \
  V(tf32, 128, 256, 32, 1, 1, 8, 0, true) \
  V(tf32, 128, 256, 64, 1, 1, 8, 0, true) V(tf32, 128, 64, 64, 1, 2, 4, 0, true) V(tf32, 64, 64, 64, 1, 3, 4, 0, true)

// FP32 in memory, cast to TF32 by the kernel, as seed 000 does.
#define KIZAMI_TILE_GEMM_F32_TF32(V) \
  V(f32_tf32, 128, 128, 32, 1, 2, 4, 0, true) V(f32_tf32, 128, 256, 64, 1, 1, 8, 0, true)

#define KIZAMI_TILE_GEMM_F32(V) V(f32, 128, 64, 8, 1, 1, 8, 0, true)

// By outer products and fused multiply-adds instead of mma.
#define KIZAMI_TILE_GEMM_F32_FMA(V) V(f32_fma, 64, 64, 8, 1, 2, 4, 0, true) V(f32_fma, 128, 64, 8, 1, 1, 8, 0, true)

#define KIZAMI_TILE_GEMM_F64(V) V(f64, 64, 32, 8, 1, 2, 4, 0, true)

#define KIZAMI_TILE_GEMM_F64_FMA(V)       \
  V(f64_fma, 64, 32, 8, 1, 2, 4, 0, true) \
  V(f64_fma, 64, 64, 8, 1, 2, 4, 0, true) V(f64_fma, 128, 64, 8, 1, 1, 8, 0, true)
