// SPDX-License-Identifier: MIT
// Both operands as the split sees them: lines of k elements. A line of op(A) is a row, a line of op(B) a column, so
// that N and T, row- and column-major are all the same code and give the same bits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kizami/types.hpp"

namespace kizami::problem {

/// @shape element h of line i at data[i * line_stride + h * inner_stride]; num_lines x length
template <class T>
struct Lines {
  const T* data = nullptr;
  std::int64_t num_lines = 0;
  std::int64_t length = 0;
  std::int64_t line_stride = 0;
  std::int64_t inner_stride = 0;

  [[nodiscard]] const T& operator()(std::int64_t i, std::int64_t h) const {
    return data[i * line_stride + h * inner_stride];
  }
  [[nodiscard]] Lines subset(std::int64_t first, std::int64_t count) const {
    return {data + first * line_stride, count, length, line_stride, inner_stride};
  }
};

/// The rows of op(A) (m x k) or the columns of op(B) (k x n).
template <class T>
[[nodiscard]] Lines<T> lines_of(Side side, MatrixView<const T> op) {
  if (side == Side::kA) return {op.data, op.rows, op.cols, op.row_stride, op.col_stride};
  return {op.data, op.cols, op.rows, op.col_stride, op.row_stride};
}

/// Lines and elements per tile: 16 lines make whole cache lines of a strided operand, and the tile stays in L2.
inline constexpr std::int64_t kTileLines = 16;
inline constexpr std::int64_t kTileLength = 512;

/// Copies lines [i, i + num_lines) x elements [h, h + length) as FP64 into tile[line][kTileLength], walking memory in
/// its own order. @exact FP32 to FP64 @range num_lines <= kTileLines, length <= kTileLength
template <class T>
void load_tile(const Lines<T>& lines, std::int64_t i, std::int64_t num_lines, std::int64_t h, std::int64_t length,
               double* tile) {
  const T* const origin = lines.data + i * lines.line_stride + h * lines.inner_stride;
  if (lines.inner_stride <= lines.line_stride) {
    for (std::int64_t a = 0; a < num_lines; ++a) {
      for (std::int64_t b = 0; b < length; ++b) {
        tile[a * kTileLength + b] = static_cast<double>(origin[a * lines.line_stride + b * lines.inner_stride]);
      }
    }
    return;
  }
  for (std::int64_t b = 0; b < length; ++b) {
    for (std::int64_t a = 0; a < num_lines; ++a) {
      tile[a * kTileLength + b] = static_cast<double>(origin[a * lines.line_stride + b * lines.inner_stride]);
    }
  }
}

}  // namespace kizami::problem
