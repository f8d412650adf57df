// SPDX-License-Identifier: MIT
// The BLAS call as data, its validation and its quick returns. Every message names the argument, its value and its
// limit.
#pragma once

#include <cstdint>

#include "kizami/status.hpp"
#include "kizami/types.hpp"

namespace kizami::problem {

/// Largest m, n and k: line statistics hold sums of so many terms (num::kMaxLineLength).
inline constexpr std::int64_t kMaxDimension = (std::int64_t{1} << 34) - 1;

struct Shape {
  Scalar scalar = Scalar::kF64;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;

  friend constexpr bool operator==(const Shape&, const Shape&) = default;
};

/// C <- alpha A B + beta C with op already applied to the views: A is m x k, B is k x n. A double-double C may have
/// operands of FP64.
template <class T, class In = T>
struct Problem {
  T alpha{};
  MatrixView<const In> a;
  MatrixView<const In> b;
  T beta{};
  MatrixView<T> c;
};

/// @status kInvalidArgument unless 0 <= m, n, k <= kMaxDimension and m k, k n, m n fit in 62 bits.
Status validate_shape(std::int64_t m, std::int64_t n, std::int64_t k);

/// The checks of BLAS xGEMM, in its order. @status kInvalidArgument names lda, ldb or ldc.
Status validate_leading_dimensions(Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k,
                                   std::int64_t lda, std::int64_t ldb, std::int64_t ldc);

/// What is left to do once sizes and scalars are known.
enum class QuickReturn : std::uint8_t {
  kNone,     ///< a real product
  kNothing,  ///< m = 0 or n = 0, or (alpha = 0 or k = 0) and beta = 1: C stays
  kScale,    ///< alpha = 0 or k = 0: C <- beta C; beta = 0 writes zeros without reading C. A and B are not read.
};
template <class T>
[[nodiscard]] QuickReturn quick_return(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, T beta) {
  if (m == 0 || n == 0) return QuickReturn::kNothing;
  if (alpha != T{0} && k != 0) return QuickReturn::kNone;
  return beta == T{1} ? QuickReturn::kNothing : QuickReturn::kScale;
}
template <class T>
void scale_matrix(T beta, MatrixView<T> c);

/// Checks one view against its place in the plan. @status kInvalidArgument: wrong shape, null data, or negative strides
template <class T>
Status validate_operand(const char* name, MatrixView<const T> view, std::int64_t rows, std::int64_t cols);
/// The same for C, whose elements must also be distinct in memory.
template <class T>
Status validate_output(MatrixView<T> view, std::int64_t rows, std::int64_t cols);

/// True if two views share an element. Exact for blocks of one stored matrix (unit stride and equal leading dimensions,
/// transposed or not), so that C may lie beside A in the same array; other views overlap if their memory spans do.
template <class T>
[[nodiscard]] bool overlaps(MatrixView<const T> x, MatrixView<const T> y);

}  // namespace kizami::problem
