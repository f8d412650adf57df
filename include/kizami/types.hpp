// SPDX-License-Identifier: MIT
// The vocabulary of a matrix product: scalar types, transposition, storage order, strided views.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace kizami {

enum class Scalar : std::uint8_t { kF32, kF64 };
enum class Op : std::uint8_t { kNone, kTranspose };
enum class Layout : std::uint8_t { kColMajor, kRowMajor };
/// Which operand of C = A B a view, a statistic or a prepared operand belongs to.
enum class Side : std::uint8_t { kA, kB };

[[nodiscard]] constexpr std::string_view to_string(Scalar s) noexcept { return s == Scalar::kF32 ? "f32" : "f64"; }
[[nodiscard]] constexpr std::string_view to_string(Op op) noexcept { return op == Op::kNone ? "n" : "t"; }
[[nodiscard]] constexpr std::string_view to_string(Layout l) noexcept { return l == Layout::kColMajor ? "col" : "row"; }

template <class T>
inline constexpr bool kIsScalar = std::is_same_v<T, float> || std::is_same_v<T, double>;
template <class T>
requires kIsScalar<T>
inline constexpr Scalar kScalarOf = std::is_same_v<T, float> ? Scalar::kF32 : Scalar::kF64;

/// Significand bits of a scalar type, the hidden one included (24 or 53). The unit roundoff is 2^-bits.
[[nodiscard]] constexpr int significand_bits(Scalar s) noexcept { return s == Scalar::kF32 ? 24 : 53; }
[[nodiscard]] constexpr int size_bytes(Scalar s) noexcept { return s == Scalar::kF32 ? 4 : 8; }

/// A matrix in memory: element (i, j) lies at data[i * row_stride + j * col_stride].
/// @shape rows x cols. @units strides in elements, never negative. @alias the view owns nothing.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 1;
  std::int64_t col_stride = 0;

  [[nodiscard]] constexpr T& operator()(std::int64_t i, std::int64_t j) const noexcept {
    return data[i * row_stride + j * col_stride];
  }
  /// The transpose of this view: the same memory with rows and columns exchanged.
  [[nodiscard]] constexpr MatrixView transposed() const noexcept { return {data, cols, rows, col_stride, row_stride}; }
  /// The rows [i, i + num_rows) and columns [j, j + num_cols) of this view.
  [[nodiscard]] constexpr MatrixView block(std::int64_t i, std::int64_t j, std::int64_t num_rows,
                                           std::int64_t num_cols) const noexcept {
    return {data + i * row_stride + j * col_stride, num_rows, num_cols, row_stride, col_stride};
  }
  // NOLINTNEXTLINE(google-explicit-constructor): a view of T is a view of const T, as T* is a const T*
  constexpr operator MatrixView<const T>() const noexcept { return {data, rows, cols, row_stride, col_stride}; }
};

/// Views memory in BLAS terms: leading dimension ld between columns (col-major) or rows (row-major).
template <class T>
[[nodiscard]] constexpr MatrixView<T> blas_view(T* data, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                                                Layout layout = Layout::kColMajor) noexcept {
  return layout == Layout::kColMajor ? MatrixView<T>{data, rows, cols, 1, ld} : MatrixView<T>{data, rows, cols, ld, 1};
}

}  // namespace kizami
