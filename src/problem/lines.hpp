// SPDX-License-Identifier: MIT
// Both operands as the split sees them: lines of k elements. A line of op(A) is a row, a line of op(B) a column, so
// that N and T, row- and column-major are all the same code and give the same bits.
//
// A complex line of k elements is also a real line of 2k terms, re_0, im_0, re_1, im_1, ...: the real and the imaginary
// part of a complex product are real products of such lines (see RealForm). Bounds, statistics and certificates are
// those of the real terms.
#pragma once

#include <cstdint>

#include "kizami/host_device.hpp"
#include "kizami/types.hpp"

namespace kizami::problem {

/// Real terms of one element.
template <class T>
inline constexpr std::int64_t kTerms = kIsComplex<T> ? 2 : 1;

/// @shape element h of line i at data[i * line_stride + h * inner_stride]; num_lines x length
template <class T>
struct Lines {
  const T* data = nullptr;
  std::int64_t num_lines = 0;
  std::int64_t length = 0;
  std::int64_t line_stride = 0;
  std::int64_t inner_stride = 0;
  bool is_conjugated = false;

  [[nodiscard]] KIZAMI_HOST_DEVICE std::int64_t num_terms() const { return length * kTerms<T>; }
  /// Real term t of line i: element t, or a part of element t / 2.
  [[nodiscard]] KIZAMI_HOST_DEVICE double term(std::int64_t i, std::int64_t t) const {
    const T& x = data[i * line_stride + t / kTerms<T> * inner_stride];
    if constexpr (kIsComplex<T>) {
      if (t % 2 == 0) return static_cast<double>(x.real());
      return static_cast<double>(is_conjugated ? -x.imag() : x.imag());
    } else {
      return static_cast<double>(x);
    }
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE Lines subset(std::int64_t first, std::int64_t count) const {
    return {data + first * line_stride, count, length, line_stride, inner_stride, is_conjugated};
  }
};

/// Lines of double-doubles. A line is split part by part: hi alone decides exponents and the certificate, since |lo| is
/// at most 2^-53 of it.
template <>
struct Lines<DoubleDouble> {
  const DoubleDouble* data = nullptr;
  std::int64_t num_lines = 0;
  std::int64_t length = 0;
  std::int64_t line_stride = 0;
  std::int64_t inner_stride = 0;
  bool is_conjugated = false;

  [[nodiscard]] std::int64_t num_terms() const { return length; }
  [[nodiscard]] const DoubleDouble& element(std::int64_t i, std::int64_t h) const {
    return data[i * line_stride + h * inner_stride];
  }
  [[nodiscard]] Lines subset(std::int64_t first, std::int64_t count) const {
    return {data + first * line_stride, count, length, line_stride, inner_stride, is_conjugated};
  }
  /// The high or low parts as lines of their own.
  [[nodiscard]] Lines<double> high() const {
    return {data == nullptr ? nullptr : &data->hi, num_lines, length, 2 * line_stride, 2 * inner_stride, false};
  }
  [[nodiscard]] Lines<double> low() const {
    return {data == nullptr ? nullptr : &data->lo, num_lines, length, 2 * line_stride, 2 * inner_stride, false};
  }
};

/// Which real product of two lines is meant. With terms x of a line of A, the terms of a line of B are taken as
///   kPlain      y_0, y_1, ...              real types: the product itself
///   kRealPart   re_0, -im_0, re_1, -im_1   complex types: Re of the product
///   kImagPart   im_0, re_0, im_1, re_1     complex types: Im of the product
enum class RealForm : std::uint8_t { kPlain, kRealPart, kImagPart };

/// Term t of line j of B in a form.
template <class T>
[[nodiscard]] KIZAMI_HOST_DEVICE double term(const Lines<T>& lines, RealForm form, std::int64_t j, std::int64_t t) {
  if (form == RealForm::kPlain) return lines.term(j, t);
  if (form == RealForm::kImagPart) return lines.term(j, t ^ 1);
  return t % 2 == 0 ? lines.term(j, t) : -lines.term(j, t);
}

/// The rows of op(A) (m x k) or the columns of op(B) (k x n).
template <class T>
[[nodiscard]] Lines<T> lines_of(Side side, MatrixView<const T> op) {
  if (side == Side::kA) return {op.data, op.rows, op.cols, op.row_stride, op.col_stride, op.is_conjugated};
  return {op.data, op.cols, op.rows, op.col_stride, op.row_stride, op.is_conjugated};
}

/// Lines and terms per tile: 16 lines make whole cache lines of a strided operand, and the tile stays in L2.
inline constexpr std::int64_t kTileLines = 16;
inline constexpr std::int64_t kTileLength = 512;

/// Copies lines [i, i + num_lines) x real terms [t, t + count) as FP64 into tile[line][kTileLength], walking memory in
/// its own order. @exact FP32 to FP64 @range num_lines <= kTileLines, count <= kTileLength; t, count multiples of
/// kTerms
template <class T>
void load_tile(const Lines<T>& lines, std::int64_t i, std::int64_t num_lines, std::int64_t t, std::int64_t count,
               double* tile) {
  const T* const origin = lines.data + i * lines.line_stride + t / kTerms<T> * lines.inner_stride;
  const auto load = [&](std::int64_t a, std::int64_t b) {
    const T& x = origin[a * lines.line_stride + b * lines.inner_stride];
    if constexpr (kIsComplex<T>) {
      double* const out = tile + a * kTileLength + 2 * b;
      out[0] = static_cast<double>(x.real());
      out[1] = static_cast<double>(lines.is_conjugated ? -x.imag() : x.imag());
    } else {
      tile[a * kTileLength + b] = static_cast<double>(x);
    }
  };
  const std::int64_t length = count / kTerms<T>;
  if (lines.inner_stride <= lines.line_stride) {
    for (std::int64_t a = 0; a < num_lines; ++a) {
      for (std::int64_t b = 0; b < length; ++b) load(a, b);
    }
    return;
  }
  for (std::int64_t b = 0; b < length; ++b) {
    for (std::int64_t a = 0; a < num_lines; ++a) load(a, b);
  }
}

}  // namespace kizami::problem
