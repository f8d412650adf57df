// SPDX-License-Identifier: MIT
// The products of slices that a report on cuTile prints, and FP16 slices in blocks of 128.
#include "tile_kernels/slice_product.hpp"
#include "tile_kernels/slice_product_whole_k.hpp"

namespace kernels = kizami::tile_kernels;

#define PRODUCT(name, Slice, block, ...)                                                                              \
  extern "C" [[cutile::hint(900, occupancy = 1, num_worker_warps_per_cta = 8)]] __tile_global__ void name(            \
      const Slice* __restrict__ A, std::uint32_t a_plane_stride, int a_stride, const Slice* __restrict__ B,           \
      std::uint32_t b_plane_stride, int b_stride, const double* __restrict__ scales, double* __restrict__ C,          \
      int c_stride, int num_a, int num_b, int depth, int m, int n, int k, int group) {                                \
    kernels::block<Slice, 128, 128, __VA_ARGS__>(A, a_plane_stride, a_stride, B, b_plane_stride, b_stride, scales, C, \
                                                 c_stride, num_a, num_b, depth, m, n, k, group);                      \
  }
PRODUCT(whole_k_bf16, __nv_bfloat16, slice_product_whole_k_block, 128, true)
PRODUCT(whole_k_f16, __half, slice_product_whole_k_block, 128, true)
PRODUCT(whole_k_e4m3, __nv_fp8_e4m3, slice_product_whole_k_block, 128, true)
PRODUCT(blocks_of_128_f16, __half, slice_product_block, 64, true, 2)
