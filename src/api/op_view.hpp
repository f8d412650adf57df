// SPDX-License-Identifier: MIT
// op(X) of BLAS as a view.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kizami/types.hpp"

namespace kizami::api {

/// op(X), rows x cols, of a matrix X stored with leading dimension ld. Real types ignore conjugation.
template <class T>
[[nodiscard]] MatrixView<const T> op_view(Layout layout, Op op, const T* data, std::int64_t rows, std::int64_t cols,
                                          std::int64_t ld) {
  const MatrixView<const T> view = is_transposed(op) ? blas_view(data, cols, rows, ld, layout).transposed()
                                                     : blas_view(data, rows, cols, ld, layout);
  return kIsComplex<T> && is_conjugated(op) ? view.conjugated() : view;
}

/// The least leading dimension of X, if op(X) is rows x cols.
[[nodiscard]] constexpr std::int64_t least_leading_dimension(Layout layout, Op op, std::int64_t rows,
                                                             std::int64_t cols) {
  return std::max<std::int64_t>(1, is_transposed(op) == (layout == Layout::kColMajor) ? cols : rows);
}

}  // namespace kizami::api
