// SPDX-License-Identifier: MIT
// Entry points: split, product and reconstruction of scheme ozaki2 in FP64. The tile of the product is the fastest of
// bench_gpu_tile on an H200. Planes have addresses of 16 bytes and strides that are multiples of 16; only the results of the
// products whose names end in _any lie anywhere.
#include "tile_kernels/crt.hpp"
#include "tile_kernels/product_i8.hpp"
#include "tile_kernels/residue_split.hpp"

namespace kernels = kizami::tile_kernels;
using kizami::tile_kernels::PlaneEpilogue;

#define SPLIT(limbs)                                                                                          \
  extern "C" __tile_global__ void residue_split_##limbs(                                                      \
      const double* x, int x_stride, const double* first, const double* second, const std::int16_t* moduli,   \
      int num_moduli, std::int8_t* planes, std::int64_t plane_stride, int row_stride, int rows, int cols,     \
      int padded_cols) {                                                                                      \
    kernels::residue_split_block<limbs, 16, 64, true>(x, x_stride, first, second, moduli, num_moduli, planes, \
                                                      plane_stride, row_stride, rows, cols, padded_cols);     \
  }
SPLIT(1)
SPLIT(2)

#define PRODUCT(name, epilogue, Result, aligned_c)                                                                     \
  extern "C" [[cutile::hint(900, occupancy = 2, num_worker_warps_per_cta = 4)]] __tile_global__ void name(             \
      const std::int8_t* a, std::uint32_t a_plane_stride, int a_row_stride, const std::int8_t* b,                      \
      std::uint32_t b_plane_stride, int b_row_stride, Result* c, std::uint32_t c_plane_stride, int c_col_stride,       \
      std::uint64_t p0, std::uint64_t p1, std::uint64_t p2, std::uint64_t p3, std::uint64_t p4, std::uint64_t p5,      \
      std::uint64_t p6, std::uint64_t p7, int first_plane, const std::int32_t* num_made, int num_planes, int m, int n, \
      int k, int group) {                                                                                              \
    kernels::product_i8_block<epilogue, Result, 128, 128, 128, aligned_c>(                                             \
        a, a_plane_stride, a_row_stride, b, b_plane_stride, b_row_stride, c, c_plane_stride, c_col_stride,             \
        kernels::PackedModuli{p0, p1, p2, p3, p4, p5, p6, p7}, first_plane, num_made, num_planes, m, n, k, group);     \
  }
PRODUCT(product_i8_store, PlaneEpilogue::kStoreAcc, std::int32_t, true)
PRODUCT(product_i8_store_any, PlaneEpilogue::kStoreAcc, std::int32_t, false)
PRODUCT(product_i8_store_add, PlaneEpilogue::kStoreAdd, std::int32_t, true)
PRODUCT(product_i8_store_add_any, PlaneEpilogue::kStoreAdd, std::int32_t, false)
PRODUCT(product_i8_reduce, PlaneEpilogue::kReduce, std::int8_t, true)
PRODUCT(product_i8_reduce_any, PlaneEpilogue::kReduce, std::int8_t, false)
PRODUCT(product_i8_reduce_add, PlaneEpilogue::kReduceAdd, std::int8_t, true)
PRODUCT(product_i8_reduce_add_any, PlaneEpilogue::kReduceAdd, std::int8_t, false)

#define CRT(digits)                                                                                                   \
  extern "C" __tile_global__ void crt_##digits(                                                                       \
      const std::int8_t* residues, std::int64_t plane_stride, int col_stride, int num_planes, const double* weights,  \
      const double* fractions, const double* product, const double* half, const double* row_factors,                  \
      const double* col_factors, double alpha, double beta, double* C, int c_col_stride, int m, int n) {              \
    kernels::crt_block<digits, 8, 64, true>(residues, plane_stride, col_stride, num_planes, weights, fractions,       \
                                            product, half, row_factors, col_factors, alpha, beta, C, c_col_stride, m, \
                                            n);                                                                       \
  }
CRT(3)
CRT(4)
CRT(5)
