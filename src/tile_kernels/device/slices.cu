// SPDX-License-Identifier: MIT
// Entry points: floating slices of FP64 in BF16, FP16 and FP8, and their products: all pairs in one launch, or a launch
// a diagonal. Tiles of 128 x 128, steps of 256 along k: ceil(k / 64) must be a multiple of 4 for slice_product, ceil(k /
// 128) of 2 for slice_diagonal; planes are padded with zeros. What is told not to alias is loaded ahead. FP8 digits of 4
// bits (E4M3) and 3 (E5M2): 64 products are exact in the 14 bits that the tensor core keeps within one call of mma.
#include "tile_kernels/slice_diagonal.hpp"
#include "tile_kernels/slice_product.hpp"
#include "tile_kernels/veltkamp_split.hpp"

namespace kernels = kizami::tile_kernels;

#define SPLIT(name, Slice, scale_of)                                                                                 \
  extern "C" __tile_global__ void name(const double* __restrict__ x, int x_stride, Slice* __restrict__ slices,       \
                                       std::uint32_t plane_stride, int slice_stride,                                 \
                                       const double* __restrict__ sigmas, const double* __restrict__ inverse_scales, \
                                       int scale_stride, int num_slices, int rows, int cols) {                       \
    kernels::veltkamp_split_block<Slice, 32, 64, kernels::ScaleOf::scale_of, true>(                                  \
        x, x_stride, slices, plane_stride, slice_stride, sigmas, inverse_scales, scale_stride, num_slices, rows,     \
        cols);                                                                                                       \
  }
SPLIT(veltkamp_split_bf16_matrix, __nv_bfloat16, kMatrix)
SPLIT(veltkamp_split_bf16_rows, __nv_bfloat16, kRow)
SPLIT(veltkamp_split_f16_matrix, __half, kMatrix)
SPLIT(veltkamp_split_e4m3_matrix, __nv_fp8_e4m3, kMatrix)
SPLIT(veltkamp_split_e4m3_rows, __nv_fp8_e4m3, kRow)
SPLIT(veltkamp_split_e5m2_matrix, __nv_fp8_e5m2, kMatrix)

#define PRODUCT(name, Slice)                                                                                          \
  extern "C" [[cutile::hint(900, occupancy = 1, num_worker_warps_per_cta = 8)]] __tile_global__ void name(            \
      const Slice* __restrict__ A, std::uint32_t a_plane_stride, int a_stride, const Slice* __restrict__ B,           \
      std::uint32_t b_plane_stride, int b_stride, const double* __restrict__ scales, double* __restrict__ C,          \
      int c_stride, int num_a, int num_b, int depth, int m, int n, int k, int group) {                                \
    kernels::slice_product_block<Slice, 128, 128, 64, true, 4>(A, a_plane_stride, a_stride, B, b_plane_stride,        \
                                                               b_stride, scales, C, c_stride, num_a, num_b, depth, m, \
                                                               n, k, group);                                          \
  }
PRODUCT(slice_product_bf16, __nv_bfloat16)
PRODUCT(slice_product_f16, __half)
PRODUCT(slice_product_e4m3, __nv_fp8_e4m3)
PRODUCT(slice_product_e5m2, __nv_fp8_e5m2)

#define DIAGONAL(name, Slice)                                                                                       \
  extern "C" [[cutile::hint(900, occupancy = 1, num_worker_warps_per_cta = 8)]] __tile_global__ void name(          \
      const Slice* __restrict__ A, std::uint32_t a_plane_stride, int a_stride, const Slice* __restrict__ B,         \
      std::uint32_t b_plane_stride, int b_stride, double scale, double* __restrict__ S, int s_stride, int diagonal, \
      int first, int num_pairs, int m, int n, int k, int group) {                                                   \
    kernels::slice_diagonal_block<Slice, 8, 128, 128, 128, true, 2>(A, a_plane_stride, a_stride, B, b_plane_stride, \
                                                                    b_stride, scale, S, s_stride, diagonal, first,  \
                                                                    num_pairs, m, n, k, group);                     \
  }
DIAGONAL(slice_diagonal_bf16, __nv_bfloat16)
DIAGONAL(slice_diagonal_f16, __half)

extern "C" __tile_global__ void add_f64(const double* __restrict__ S, int s_stride, double* __restrict__ C,
                                        int c_stride, int m, int n) {
  kernels::add_block<16, 64, true>(S, s_stride, C, c_stride, m, n);
}
