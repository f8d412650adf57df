// SPDX-License-Identifier: MIT
// The matrices and factors of one product on a device.
#pragma once

#include <optional>

#include "device/prepared.hpp"
#include "device/state.hpp"
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
  /// Of C that is wanted. @range all of it, unless ozaki2::why_no_part() has nothing to say
  problem::Part part = {};
  // Null, or prepared of a and b. The split makes samples then, whatever the look.
  const Prepared* a_prepared = nullptr;
  const Prepared* b_prepared = nullptr;

  [[nodiscard]] const Prepared* prepared(Side side) const { return side == Side::kA ? a_prepared : b_prepared; }
};

}  // namespace kizami::device
