// SPDX-License-Identifier: MIT
// Sums, extrema and scans of a row: their order and what they do with NaN and zeros of both signs.
#include <cuda_fp16.h>
#include <cuda_tile.h>

#include <cstdint>

namespace ct = cuda::tiles;

constexpr int kRow = 1024;

template <int kRows, int kColumns, class T>
__tile__ auto view_of(T* data, int rows) {
  return ct::partition_view{ct::tensor_span{data, ct::extents{rows, kColumns}}, ct::shape<kRows, kColumns>{}};
}

/// @shape x: rows x 1024, y: rows x 1; grid: rows / kRows
template <int kRows, class T>
__tile__ void row_sums(const T* x, T* y, int rows) {
  const auto i = ct::bid().x;
  view_of<kRows, 1>(y, rows).store(ct::sum<1>(view_of<kRows, kRow>(x, rows).load(i, 0)), i, 0);
}
extern "C" __tile_global__ void sum_f32_1(const float* x, float* y, int rows) { row_sums<1>(x, y, rows); }
extern "C" __tile_global__ void sum_f32_8(const float* x, float* y, int rows) { row_sums<8>(x, y, rows); }
extern "C" __tile_global__ void sum_f64_1(const double* x, double* y, int rows) { row_sums<1>(x, y, rows); }
extern "C" __tile_global__ void sum_f16_1(const __half* x, __half* y, int rows) { row_sums<1>(x, y, rows); }

/// Sums of columns. @shape x: 1024 x 16, y: 1 x 16; grid: 1
extern "C" __tile_global__ void sum_f32_columns(const float* x, float* y) {
  view_of<1, 16>(y, 1).store(ct::sum<0>(view_of<kRow, 16>(x, kRow).load(0, 0)), 0, 0);
}

/// @shape x, y: rows x 1024; grid: rows
template <class T, class Direction>
__tile__ void scan_rows(const T* x, T* y, int rows, Direction direction) {
  const auto i = ct::bid().x;
  view_of<1, kRow>(y, rows).store(
      ct::partial_sum(view_of<1, kRow>(x, rows).load(i, 0), ct::integral_constant<1>{}, direction), i, 0);
}
extern "C" __tile_global__ void scan_f32(const float* x, float* y, int rows) {
  scan_rows(x, y, rows, ct::scan_forward_t{});
}
extern "C" __tile_global__ void scan_backward_f32(const float* x, float* y, int rows) {
  scan_rows(x, y, rows, ct::scan_backward_t{});
}

/// Extrema of rows of 4. @shape x: 16 x 4, y: 16 x 1; grid: 1
#define EXTREMUM(name, Out, expression)                                    \
  extern "C" __tile_global__ void name(const float* x_data, Out* y_data) { \
    const auto x = view_of<16, 4>(x_data, 16).load(0, 0);                  \
    view_of<16, 1>(y_data, 16).store(expression, 0, 0);                    \
  }
EXTREMUM(reduce_max_f32, float, ct::reduce_max<1>(x))
EXTREMUM(reduce_min_f32, float, ct::reduce_min<1>(x))
EXTREMUM(reduce_max_f32_nan, float, ct::reduce_max(x, ct::integral_constant<1>{}, ct::propagate_nan_t{}))
EXTREMUM(max_element_f32, std::uint32_t, ct::max_element<1>(x))
EXTREMUM(min_element_f32, std::uint32_t, ct::min_element<1>(x))
