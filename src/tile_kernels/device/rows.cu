// SPDX-License-Identifier: MIT
// Entry points: row softmax, layer norm, prefix sums of FP32 and INT32. Rows are general: any length, any stride.
#include "tile_kernels/layer_norm.hpp"
#include "tile_kernels/prefix_sum.hpp"
#include "tile_kernels/softmax.hpp"

namespace kernels = kizami::tile_kernels;

/// grid: ceil(rows / 4)
extern "C" __tile_global__ void softmax_rows_f32(const float* x, int x_stride, float* y, int y_stride, int rows,
                                                 int cols) {
  kernels::softmax_rows_block<4, 256, false>(x, x_stride, y, y_stride, rows, cols);
}
/// The same for addresses of 16 bytes and strides of 16 elements.
extern "C" __tile_global__ void softmax_rows_f32_aligned(const float* x, int x_stride, float* y, int y_stride, int rows,
                                                         int cols) {
  kernels::softmax_rows_block<4, 256, true>(x, x_stride, y, y_stride, rows, cols);
}
extern "C" __tile_global__ void layer_norm_rows_f32(const float* x, int x_stride, const float* weight,
                                                    const float* bias, float* y, int y_stride, int rows, int cols,
                                                    float epsilon) {
  kernels::layer_norm_rows_block<4, 256, false>(x, x_stride, weight, bias, y, y_stride, rows, cols, epsilon);
}
/// chunk: a multiple of 1024. grid: ceil(n / chunk)
extern "C" __tile_global__ void sum_chunks_i32(const int* x, int* totals, int n, int chunk) {
  kernels::sum_chunks_block<int, 1024>(x, totals, n, chunk);
}
extern "C" __tile_global__ void prefix_sum_totals_i32(const int* x, int* y, int n, int chunk) {
  kernels::prefix_sum_chunks_block<int, 1024, false>(x, nullptr, y, n, chunk);
}
extern "C" __tile_global__ void prefix_sum_chunks_i32(const int* x, const int* totals, int* y, int n, int chunk) {
  kernels::prefix_sum_chunks_block<int, 1024, true>(x, totals, y, n, chunk);
}
