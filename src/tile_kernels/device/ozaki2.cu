// SPDX-License-Identifier: MIT
// Entry points: split, product and reconstruction of scheme ozaki2 in FP64. The tile of the product is the fastest of
// bench_gpu_tile on an H200. Planes have addresses of 16 bytes and strides that are multiples of 16; only the results
// of the products whose names end in _any lie anywhere. Every pointer is __restrict__: the compiler then has loads on
// their way while it stores and multiplies (tile/docs/kernels.md).
#include "tile_kernels/crt.hpp"
#include "tile_kernels/crt_record.hpp"
#include "tile_kernels/product_i8.hpp"
#include "tile_kernels/residue_split.hpp"

namespace kernels = kizami::tile_kernels;
using kizami::tile_kernels::Order;
using kizami::tile_kernels::PlaneEpilogue;

// Of the split and of the reconstruction the device knows the count of moduli: a launch for counts from least to most
// does nothing where *count is another.
#define SPLIT(name, limbs, order)                                                                                    \
  extern "C" __tile_global__ void name(const double* __restrict__ x, int x_stride, const double* __restrict__ first, \
                                       const double* __restrict__ second, const std::int16_t* __restrict__ moduli,   \
                                       const std::int32_t* __restrict__ count, int least, int most,                  \
                                       std::int8_t* __restrict__ planes, std::int64_t plane_stride, int row_stride,  \
                                       int rows, int cols, int padded_rows, int padded_cols) {                       \
    const int num_moduli = *count;                                                                                   \
    if (num_moduli < least || num_moduli > most) return;                                                             \
    kernels::residue_split_block<limbs, 16, 64, true, Order::order>(x, x_stride, first, second, moduli, num_moduli,  \
                                                                    planes, plane_stride, row_stride, rows, cols,    \
                                                                    padded_rows, padded_cols);                       \
  }
SPLIT(residue_split_1, 1, kRowMajor)
SPLIT(residue_split_2, 2, kRowMajor)
SPLIT(residue_split_1_across, 1, kColMajor)
SPLIT(residue_split_2_across, 2, kColMajor)

#define PRODUCT(name, epilogue, Result, aligned_c)                                                                 \
  extern "C" [[cutile::hint(900, occupancy = 2, num_worker_warps_per_cta = 4)]] __tile_global__ void name(         \
      const std::int8_t* __restrict__ a, std::uint32_t a_plane_stride, int a_row_stride,                           \
      const std::int8_t* __restrict__ b, std::uint32_t b_plane_stride, int b_row_stride, Result* __restrict__ c,   \
      std::uint32_t c_plane_stride, int c_col_stride, std::uint64_t p0, std::uint64_t p1, std::uint64_t p2,        \
      std::uint64_t p3, std::uint64_t p4, std::uint64_t p5, std::uint64_t p6, std::uint64_t p7, int first_plane,   \
      const std::int32_t* __restrict__ num_made, int num_planes, int m, int n, int k, int group) {                 \
    kernels::product_i8_block<epilogue, Result, 128, 128, 128, aligned_c>(                                         \
        a, a_plane_stride, a_row_stride, b, b_plane_stride, b_row_stride, c, c_plane_stride, c_col_stride,         \
        kernels::PackedModuli{p0, p1, p2, p3, p4, p5, p6, p7}, first_plane, num_made, num_planes, m, n, k, group); \
  }
PRODUCT(product_i8_store, PlaneEpilogue::kStoreAcc, std::int32_t, true)
PRODUCT(product_i8_store_any, PlaneEpilogue::kStoreAcc, std::int32_t, false)
PRODUCT(product_i8_store_add, PlaneEpilogue::kStoreAdd, std::int32_t, true)
PRODUCT(product_i8_store_add_any, PlaneEpilogue::kStoreAdd, std::int32_t, false)
PRODUCT(product_i8_reduce, PlaneEpilogue::kReduce, std::int8_t, true)
PRODUCT(product_i8_reduce_any, PlaneEpilogue::kReduce, std::int8_t, false)
PRODUCT(product_i8_reduce_add, PlaneEpilogue::kReduceAdd, std::int8_t, true)
PRODUCT(product_i8_reduce_add_any, PlaneEpilogue::kReduceAdd, std::int8_t, false)

#define CRT(digits)                                                                                               \
  extern "C" __tile_global__ void crt_##digits(                                                                   \
      const std::int8_t* __restrict__ residues, std::int64_t plane_stride, int col_stride,                        \
      const std::int32_t* __restrict__ count, int least, int most, const double* __restrict__ records,            \
      const double* __restrict__ row_factors, const double* __restrict__ col_factors, double alpha, double beta,  \
      double* __restrict__ C, int c_col_stride, int m, int n) {                                                   \
    const int num_moduli = *count;                                                                                \
    if (num_moduli < least || num_moduli > most) return;                                                          \
    using R = kernels::CrtRecord;                                                                                 \
    const double* record = records + num_moduli * R::kSize;                                                       \
    kernels::crt_block<digits, 8, 64, true>(residues, plane_stride, col_stride, num_moduli, record + R::kWeights, \
                                            record + R::kFractions, record + R::kProduct, record + R::kHalf,      \
                                            row_factors, col_factors, alpha, beta, C, c_col_stride, m, n);        \
  }
CRT(3)
CRT(4)
CRT(5)
CRT(6)
