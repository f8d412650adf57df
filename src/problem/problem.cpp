// SPDX-License-Identifier: MIT
#include "problem/problem.hpp"

#include <algorithm>
#include <functional>
#include <string>

#include "base/instantiate.hpp"
#include "num/double_double.hpp"
#include "num/scaled.hpp"

namespace kizami::problem {
namespace {

Status invalid(std::string reason) { return {StatusCode::kInvalidArgument, std::move(reason)}; }

Status validate_dimension(const char* name, std::int64_t value) {
  if (value < 0) return invalid(std::string(name) + " = " + std::to_string(value) + ", must be >= 0");
  if (value > kMaxDimension) {
    return invalid(std::string(name) + " = " + std::to_string(value) + ", must be <= " + std::to_string(kMaxDimension));
  }
  return {};
}

Status validate_ld(const char* name, std::int64_t ld, const char* extent_name, std::int64_t extent) {
  if (ld >= std::max<std::int64_t>(1, extent)) return {};
  return invalid(std::string(name) + " = " + std::to_string(ld) + ", must be >= max(1, " + extent_name +
                 ") = " + std::to_string(std::max<std::int64_t>(1, extent)));
}

/// Beyond this a stride cannot lead to memory, and the arithmetic on it stays within 64 bits, in bytes too.
constexpr std::int64_t kMaxOffset = std::int64_t{1} << 58;

/// Whether (rows - 1) row_stride + (cols - 1) col_stride <= kMaxOffset. @range extents >= 1, strides >= 0
bool is_addressable(std::int64_t rows, std::int64_t cols, std::int64_t row_stride, std::int64_t col_stride) {
  if (rows > 1 && row_stride > kMaxOffset / (rows - 1)) return false;
  if (cols > 1 && col_stride > kMaxOffset / (cols - 1)) return false;
  return (rows - 1) * row_stride + (cols - 1) * col_stride <= kMaxOffset;
}

std::string shape_text(std::int64_t rows, std::int64_t cols) {
  return std::to_string(rows) + " x " + std::to_string(cols);
}

}  // namespace

Status validate_shape(std::int64_t m, std::int64_t n, std::int64_t k) {
  KIZAMI_RETURN_IF_ERROR(validate_dimension("m", m));
  KIZAMI_RETURN_IF_ERROR(validate_dimension("n", n));
  KIZAMI_RETURN_IF_ERROR(validate_dimension("k", k));
  constexpr std::int64_t kMaxElements = std::int64_t{1} << 62;
  const auto check_product = [](const char* name, std::int64_t x, std::int64_t y) -> Status {
    if (y != 0 && x > kMaxElements / y)
      return invalid(std::string(name) + " = " + shape_text(x, y) + " elements, must be <= 2^62");
    return {};
  };
  KIZAMI_RETURN_IF_ERROR(check_product("m * k", m, k));
  KIZAMI_RETURN_IF_ERROR(check_product("k * n", k, n));
  return check_product("m * n", m, n);
}

Status validate_leading_dimensions(Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k,
                                   std::int64_t lda, std::int64_t ldb, std::int64_t ldc) {
  const bool is_col = layout == Layout::kColMajor;
  // The extent that is contiguous: rows of the stored matrix if column-major, columns if row-major.
  const bool a_spans_m = is_transposed(op_a) != is_col;
  const bool b_spans_k = is_transposed(op_b) != is_col;
  KIZAMI_RETURN_IF_ERROR(validate_ld("lda", lda, a_spans_m ? "m" : "k", a_spans_m ? m : k));
  KIZAMI_RETURN_IF_ERROR(validate_ld("ldb", ldb, b_spans_k ? "k" : "n", b_spans_k ? k : n));
  return validate_ld("ldc", ldc, is_col ? "m" : "n", is_col ? m : n);
}

template <class T>
void scale_matrix(T beta, MatrixView<T> c) {
  const bool rows_inner = c.row_stride <= c.col_stride;
  const MatrixView<T> v = rows_inner ? c : c.transposed();
  for (std::int64_t j = 0; j < v.cols; ++j) {
    for (std::int64_t i = 0; i < v.rows; ++i) {
      if constexpr (kIsDoubleDouble<T>) {
        v(i, j) = beta == T{0} ? T{0} : num::finish(num::ScaledDoubleDouble{}, T{0}, beta, v(i, j));
      } else {
        v(i, j) = beta == T{0} ? T{0} : num::scale_by(beta, v(i, j));
      }
    }
  }
}

template <class T>
Status validate_operand(const char* name, MatrixView<const T> view, std::int64_t rows, std::int64_t cols) {
  if (view.rows != rows || view.cols != cols) {
    return invalid(std::string(name) + " is " + shape_text(view.rows, view.cols) + ", must be " +
                   shape_text(rows, cols));
  }
  if (rows == 0 || cols == 0) return {};
  if (view.data == nullptr)
    return invalid(std::string(name) + " is null, must point to " + shape_text(rows, cols) + " elements");
  if (view.row_stride < 0 || view.col_stride < 0) {
    return invalid(std::string(name) + " has strides " + std::to_string(view.row_stride) + " and " +
                   std::to_string(view.col_stride) + ", must be >= 0");
  }
  if (!is_addressable(rows, cols, view.row_stride, view.col_stride)) {
    return invalid(std::string(name) + " has strides " + std::to_string(view.row_stride) + " and " +
                   std::to_string(view.col_stride) + ", a " + shape_text(rows, cols) +
                   " matrix must end within 2^58 elements");
  }
  return {};
}

template <class T>
Status validate_output(MatrixView<T> view, std::int64_t rows, std::int64_t cols) {
  KIZAMI_RETURN_IF_ERROR(validate_operand<T>("C", view, rows, cols));
  if (view.is_conjugated) return invalid("C is a conjugated view, must be the matrix itself");
  if (rows == 0 || cols == 0) return {};
  const bool by_cols =
      (rows == 1 || view.row_stride >= 1) && (cols == 1 || view.col_stride >= (rows - 1) * view.row_stride + 1);
  const bool by_rows =
      (cols == 1 || view.col_stride >= 1) && (rows == 1 || view.row_stride >= (cols - 1) * view.col_stride + 1);
  if (by_cols || by_rows) return {};
  return invalid("C has strides " + std::to_string(view.row_stride) + " and " + std::to_string(view.col_stride) +
                 ", elements of a " + shape_text(rows, cols) + " matrix must not overlap");
}

template <class T>
bool overlaps(MatrixView<const T> x, MatrixView<const T> y) {
  if (x.rows == 0 || x.cols == 0 || y.rows == 0 || y.cols == 0) return false;
  // As stored: the smaller stride runs along rows.
  if (x.row_stride > x.col_stride) x = x.transposed();
  if (y.row_stride > y.col_stride) y = y.transposed();
  const auto last = [](const MatrixView<const T>& v) {
    return v.data + (v.rows - 1) * v.row_stride + (v.cols - 1) * v.col_stride;
  };
  const std::less<const T*> before;
  if (before(last(x), y.data) || before(last(y), x.data)) return false;
  if (x.row_stride != 1 || y.row_stride != 1 || x.col_stride != y.col_stride) return true;
  if (x.col_stride < x.rows || x.col_stride < y.rows) return true;  // not a leading dimension: a lone column, say
  // x_0 + i + j ld = y_0 + i' + j' ld  <=>  i - i' = offset - (j - j') ld: only the two multiples of ld around the
  // offset can leave a difference of rows.
  const std::int64_t ld = x.col_stride;
  const std::int64_t offset = y.data - x.data;
  const std::int64_t below = offset >= 0 ? offset / ld : -((-offset + ld - 1) / ld);
  for (const std::int64_t columns : {below, below + 1}) {
    const std::int64_t rows = offset - columns * ld;
    if (columns > -y.cols && columns < x.cols && rows > -y.rows && rows < x.rows) return true;
  }
  return false;
}

#define KIZAMI_INSTANTIATE(T)                                                                        \
  template void scale_matrix<T>(T, MatrixView<T>);                                                   \
  template Status validate_operand<T>(const char*, MatrixView<const T>, std::int64_t, std::int64_t); \
  template Status validate_output<T>(MatrixView<T>, std::int64_t, std::int64_t);                     \
  template bool overlaps<T>(MatrixView<const T>, MatrixView<const T>)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
KIZAMI_INSTANTIATE(DoubleDouble);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::problem
