// SPDX-License-Identifier: MIT
// The matrices and factors of one product on a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "device/prepared.hpp"
#include "device/state.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "problem/part.hpp"

namespace kizami::device {

template <class T>
struct DeviceProblem {
  Factor<T> alpha;
  MatrixView<const T> a;
  MatrixView<const T> b;
  Factor<T> beta;
  MatrixView<T> c;
  /// What the split makes first, of scheme ozaki2; nothing: what the call before needed (device_looks.hpp), what a
  /// scout says, or a sample. Only time hangs on it.
  /// @range see takes_any_look()
  std::optional<Look> look = std::nullopt;
  /// Of C that is wanted. @range all of it, unless exec::why_no_part() has nothing to say
  problem::Part part = {};
  // Null, or prepared of a and b. The split makes samples then, whatever the look.
  const Prepared* a_prepared = nullptr;
  const Prepared* b_prepared = nullptr;

  [[nodiscard]] const Prepared* prepared(Side side) const { return side == Side::kA ? a_prepared : b_prepared; }
};

/// Kernels load complex elements whole.
/// @status kInvalidArgument, with the name
template <class T>
[[nodiscard]] Status validate_alignment(const char* name, const T* data) {
  if (!kIsComplex<T> || reinterpret_cast<std::uintptr_t>(data) % sizeof(T) == 0) return {};
  return {StatusCode::kInvalidArgument, std::string(name) + " does not begin on a " + std::to_string(sizeof(T)) +
                                            "-byte boundary, as complex elements in device memory must"};
}

/// Whether the columns of op(B) are the rows of op(A), or their conjugates: |A||B| is then symmetric.
template <class T>
[[nodiscard]] bool has_same_lines(const DeviceProblem<T>& problem) {
  const MatrixView<const T>& a = problem.a;
  const MatrixView<const T>& b = problem.b;
  return a.data == b.data && a.rows == b.cols && a.row_stride == b.col_stride && a.col_stride == b.row_stride;
}
/// Whether they are no conjugates, so that one split is of both: C = alpha A A^T + beta C.
template <class T>
[[nodiscard]] bool shares_lines(const DeviceProblem<T>& problem) {
  return has_same_lines(problem) && (!kIsComplex<T> || problem.a.is_conjugated == problem.b.is_conjugated);
}

}  // namespace kizami::device
