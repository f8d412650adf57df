// SPDX-License-Identifier: MIT
// Products of BF16 slices of 8 bits, as variants.hpp lists them.
#include "tile_kernels/slice_diagonal.hpp"
#include "tile_kernels/slice_product.hpp"
#include "variants.hpp"

namespace kernels = kizami::tile_kernels;

#define HINTS(cga, occ, warps) \
  cutile::hint(900, num_cta_in_cga = cga, occupancy = occ, num_worker_warps_per_cta = warps)

#define ENTRY_pairs(name, tm, tn, tk, parts, cga, occ, warps)                                                          \
  extern "C" [[HINTS(cga, occ, warps)]] __tile_global__ void name(                                                     \
      const __nv_bfloat16* __restrict__ A, std::uint32_t a_plane_stride, int a_stride,                                 \
      const __nv_bfloat16* __restrict__ B, std::uint32_t b_plane_stride, int b_stride,                                 \
      const double* __restrict__ scales, double* __restrict__ C, int c_stride, int num_a, int num_b, int depth, int m, \
      int n, int k, int group) {                                                                                       \
    kernels::slice_product_block<__nv_bfloat16, tm, tn, tk, true, parts>(                                              \
        A, a_plane_stride, a_stride, B, b_plane_stride, b_stride, scales, C, c_stride, num_a, num_b, depth, m, n, k,   \
        group);                                                                                                        \
  }

#define ENTRY_spread(name, tm, tn, tk, parts, cga, occ, warps)                                                    \
  extern "C" [[HINTS(cga, occ, warps)]] __tile_global__ void name(                                                \
      const __nv_bfloat16* __restrict__ A, std::uint32_t a_plane_stride, int a_stride,                            \
      const __nv_bfloat16* __restrict__ B, std::uint32_t b_plane_stride, int b_stride,                            \
      const double* __restrict__ scales, double* __restrict__ S, std::uint32_t s_plane_stride, int s_stride,      \
      int num_parts, int num_a, int num_b, int depth, int m, int n, int k, int group) {                           \
    kernels::slice_product_part_block<__nv_bfloat16, tm, tn, tk, true, parts>(                                    \
        A, a_plane_stride, a_stride, B, b_plane_stride, b_stride, scales, S, s_plane_stride, s_stride, num_parts, \
        num_a, num_b, depth, m, n, k, group);                                                                     \
  }

#define ENTRY_diagonal(name, tm, tn, tk, parts, cga, occ, warps)                                                      \
  extern "C" [[HINTS(cga, occ, warps)]] __tile_global__ void name(                                                    \
      const __nv_bfloat16* __restrict__ A, std::uint32_t a_plane_stride, int a_stride,                                \
      const __nv_bfloat16* __restrict__ B, std::uint32_t b_plane_stride, int b_stride, double scale,                  \
      double* __restrict__ S, int s_stride, int diagonal, int first, int num_pairs, int m, int n, int k, int group) { \
    kernels::slice_diagonal_block<__nv_bfloat16, 8, tm, tn, tk, true, parts>(                                         \
        A, a_plane_stride, a_stride, B, b_plane_stride, b_stride, scale, S, s_stride, diagonal, first, num_pairs, m,  \
        n, k, group);                                                                                                 \
  }

#define ENTRY(kind, tm, tn, tk, parts, cga, occ, warps)                                                               \
  ENTRY_##kind(slice_##kind##_##tm##x##tn##x##tk##x##parts##_c##cga##_o##occ##_w##warps, tm, tn, tk, parts, cga, occ, \
               warps)
KIZAMI_TILE_SLICE_PRODUCTS(ENTRY)
