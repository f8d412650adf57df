// SPDX-License-Identifier: MIT
#include "product/column_major.hpp"

#include <algorithm>
#include <complex>
#include <optional>
#include <string>

#include "base/instantiate.hpp"

namespace kizami::product {
namespace {

/// The leading dimension of a view that is stored by columns; nothing for others.
template <class T>
[[nodiscard]] std::optional<std::int64_t> leading_dimension(const MatrixView<const T>& v) {
  if (v.rows > 1 && v.row_stride != 1) return std::nullopt;
  const std::int64_t ld = v.cols > 1 ? v.col_stride : v.rows;
  return ld >= v.rows ? std::optional(ld) : std::nullopt;
}

template <class T>
[[nodiscard]] Status not_stored_so(const char* name, const MatrixView<const T>& v) {
  return {StatusCode::kUnsupported, "scheme native: " + std::string(name) + " has strides " +
                                        std::to_string(v.row_stride) + " and " + std::to_string(v.col_stride) +
                                        ", one must be 1 and the other at least the length of a column or row"};
}

template <class T>
Status find_operation(const char* name, const MatrixView<const T>& v, Op& op, std::int64_t& ld) {
  const bool is_conjugated = kIsComplex<T> && v.is_conjugated;
  const auto by_columns = leading_dimension(v);
  const auto by_rows = leading_dimension(v.transposed());
  if (!by_columns && !by_rows) return not_stored_so(name, v);
  if (is_conjugated && !by_rows) {
    return {StatusCode::kUnsupported,
            "scheme native: " + std::string(name) +
                " is conjugated and not transposed, cuBLAS conjugates only what it transposes"};
  }
  const bool is_transposed = is_conjugated || !by_columns;
  op = !is_transposed ? Op::kNone : is_conjugated ? Op::kConjTranspose : Op::kTranspose;
  ld = is_transposed ? *by_rows : *by_columns;
  return {};
}

/// C = A B by columns of C.
template <class T>
[[nodiscard]] Result<ColumnMajorForm> form_of(const char* left_name, const MatrixView<const T>& left,
                                              const char* right_name, const MatrixView<const T>& right,
                                              const MatrixView<const T>& c) {
  ColumnMajorForm form;
  const auto ld_c = leading_dimension(c);
  if (!ld_c) return not_stored_so("C", c);
  form.ld_c = *ld_c;
  form.m = c.rows;
  form.n = c.cols;
  form.k = left.cols;
  KIZAMI_RETURN_IF_ERROR(find_operation(left_name, left, form.op_left, form.ld_left));
  KIZAMI_RETURN_IF_ERROR(find_operation(right_name, right, form.op_right, form.ld_right));
  return form;
}

}  // namespace

template <class T>
Result<ColumnMajorForm> column_major_form(MatrixView<const T> a, MatrixView<const T> b, MatrixView<const T> c) {
  const Result<ColumnMajorForm> as_given = form_of("A", a, "B", b, c);
  if (as_given.ok()) return as_given;
  Result<ColumnMajorForm> exchanged = form_of("B", b.transposed(), "A", a.transposed(), c.transposed());
  if (!exchanged.ok()) return leading_dimension(c) ? as_given : exchanged;
  ColumnMajorForm form = exchanged.value();
  form.is_exchanged = true;
  return form;
}

#define KIZAMI_INSTANTIATE(T) \
  template Result<ColumnMajorForm> column_major_form<T>(MatrixView<const T>, MatrixView<const T>, MatrixView<const T>)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::product
