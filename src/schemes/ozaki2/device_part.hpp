// SPDX-License-Identifier: MIT
// Products on a device that are for one triangle of C (problem/part.hpp): which plans can, and what they have one of.
#pragma once

#include <optional>
#include <string>

#include "device/problem.hpp"
#include "plan/plan.hpp"

namespace kizami::ozaki2 {

/// Why calls by a plan cannot leave out a triangle of C, or nothing: where their engine has product::TriangleEngine, and
/// C and both operands are one chunk.
[[nodiscard]] std::optional<std::string> why_no_part(const plan::Plan& plan);

/// Whether the columns of op(B) are the rows of op(A), or their conjugates: |A||B| is then symmetric.
template <class T>
[[nodiscard]] bool has_same_lines(const device::DeviceProblem<T>& problem) {
  const MatrixView<const T>& a = problem.a;
  const MatrixView<const T>& b = problem.b;
  return a.data == b.data && a.rows == b.cols && a.row_stride == b.col_stride && a.col_stride == b.row_stride;
}
/// Whether they are no conjugates, so that one split is of both: C = alpha A A^T + beta C.
template <class T>
[[nodiscard]] bool shares_lines(const device::DeviceProblem<T>& problem) {
  return has_same_lines(problem) && (!kIsComplex<T> || problem.a.is_conjugated == problem.b.is_conjugated);
}

}  // namespace kizami::ozaki2
