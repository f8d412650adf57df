// SPDX-License-Identifier: MIT
// Views as a column-major BLAS takes them. Where C is stored by rows, C^T = B^T A^T is computed: left is then B^T.
#pragma once

#include <cstdint>

#include "kizami/status.hpp"
#include "kizami/types.hpp"

namespace kizami::product {

struct ColumnMajorForm {
  bool is_exchanged = false;  ///< left is B and right is A
  Op op_left = Op::kNone;     ///< kNone, kTranspose or kConjTranspose
  Op op_right = Op::kNone;
  std::int64_t m = 0;  ///< of the product that is computed
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t ld_left = 1;
  std::int64_t ld_right = 1;
  std::int64_t ld_c = 1;

  friend constexpr bool operator==(const ColumnMajorForm&, const ColumnMajorForm&) = default;
};

/// @shape  a: m x k, b: k x n, c: m x n, not empty
/// @status kUnsupported: a matrix whose elements are contiguous neither along columns nor along rows, or one that is
///         conjugated and not transposed
template <class T>
Result<ColumnMajorForm> column_major_form(MatrixView<const T> a, MatrixView<const T> b, MatrixView<const T> c);

}  // namespace kizami::product
