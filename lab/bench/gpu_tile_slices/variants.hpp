// SPDX-License-Identifier: MIT
// The product kernels of BF16 slices that bench_gpu_tile_slices compares. An entry is
//   V(kind, kTileM, kTileN, kTileK, kParts, num_cta_in_cga, occupancy, num_worker_warps_per_cta)
// kind: pairs, all pairs in one launch (tile_kernels/slice_product.hpp), spread, the same with the pairs of a tile shared
// by several blocks, or diagonal, one launch a diagonal (slice_diagonal.hpp). The file is read by the kernel file, as kernels, and by the program, as table. What else was
// tried and was slower, is in lab/results/h200/tile_slices.jsonl.
#pragma once

#define KIZAMI_TILE_SLICE_PRODUCTS(V)    \
  V(pairs, 128, 64, 128, 1, 1, 1, 8)     \
  V(pairs, 128, 64, 256, 1, 1, 1, 8)     \
  V(pairs, 128, 128, 64, 4, 1, 1, 8)     \
  V(spread, 128, 128, 64, 4, 1, 1, 8)    \
  V(diagonal, 128, 128, 64, 4, 1, 1, 8)  \
  V(diagonal, 128, 128, 128, 2, 1, 1, 8) \
  V(diagonal, 256, 128, 64, 4, 2, 1, 8)
