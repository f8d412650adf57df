// SPDX-License-Identifier: MIT
// The entry point of one variant: what variants.hpp says, as hints, around the one GEMM kernel body.
#pragma once

#include "tile_kernels/gemm.hpp"
#include "tile_kernels/gemm_fma.hpp"
#include "variants.hpp"

#define KIZAMI_TILE_ENTRY_ARGUMENTS(In, Out)                                                                         \
  const In *__restrict__ A, int a_stride, const In *__restrict__ B, int b_stride, Out *__restrict__ C, int c_stride, \
      int m, int n, int k, int group

#define KIZAMI_TILE_ENTRY(In, Factor, Acc, Out, b_order, type, tm, tn, tk, cga, occ, warps, lat, tma)               \
  extern "C" [[cutile::hint(900, num_cta_in_cga = cga, occupancy = occ,                                             \
                            num_worker_warps_per_cta = warps)]] __tile_global__ void                                \
      gemm_##type##_##tm##x##tn##x##tk##_c##cga##_o##occ##_w##warps##_l##lat##_##tma(                               \
          KIZAMI_TILE_ENTRY_ARGUMENTS(In, Out)) {                                                                   \
    using kizami::tile_kernels::Order;                                                                              \
    kizami::tile_kernels::gemm_block<kizami::tile_kernels::GemmTypes<In, Factor, Acc, Out>, tm, tn, tk,             \
                                     Order::kRowMajor, Order::b_order, true, lat, tma>(A, a_stride, B, b_stride, C, \
                                                                                       c_stride, m, n, k, group);   \
  }

// The same for outer products; latency and allow_tma name nothing here.
#define KIZAMI_TILE_FMA_ENTRY(T, type, tm, tn, tk, cga, occ, warps, lat, tma)                      \
  extern "C" [[cutile::hint(900, num_cta_in_cga = cga, occupancy = occ,                            \
                            num_worker_warps_per_cta = warps)]] __tile_global__ void               \
      gemm_##type##_##tm##x##tn##x##tk##_c##cga##_o##occ##_w##warps##_l##lat##_##tma(              \
          KIZAMI_TILE_ENTRY_ARGUMENTS(T, T)) {                                                     \
    using kizami::tile_kernels::Order;                                                             \
    kizami::tile_kernels::gemm_fma_block<T, tm, tn, tk, Order::kRowMajor, Order::kRowMajor, true>( \
        A, a_stride, B, b_stride, C, c_stride, m, n, k, group);                                    \
  }
