// SPDX-License-Identifier: MIT
// Entry points: the split of scheme ozaki2 in FP64.
#include "tile_kernels/residue_split.hpp"

namespace kernels = kizami::tile_kernels;

#define SPLIT(limbs)                                                                                           \
  extern "C" __tile_global__ void residue_split_##limbs(                                                       \
      const double* x, int x_stride, const double* first, const double* second, const std::int16_t* moduli,    \
      int num_moduli, std::int8_t* planes, std::int64_t plane_stride, int row_stride, int rows, int cols,      \
      int padded_cols) {                                                                                       \
    kernels::residue_split_block<limbs, 16, 64, false>(x, x_stride, first, second, moduli, num_moduli, planes, \
                                                       plane_stride, row_stride, rows, cols, padded_cols);     \
  }
SPLIT(1)
SPLIT(2)
