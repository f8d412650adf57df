// SPDX-License-Identifier: MIT
// An operand in device memory that was prepared: what a call checks before it uses it. What the memory holds is known
// in the scheme's room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kizami/policy.hpp"
#include "kizami/types.hpp"

namespace kizami::device {

struct Prepared {
  Scalar scalar = Scalar::kF64;
  Scheme scheme = Scheme::kOzaki2;
  Side side = Side::kA;
  int device = -1;  ///< ordinal
  std::int64_t num_lines = 0;
  std::int64_t length = 0;
  std::uint64_t numerics_hash = 0;  ///< of the plans that may use it
  // The matrix, which calls read where what was prepared is not enough.
  const void* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 0;
  bool is_conjugated = false;
  const std::byte* memory = nullptr;  ///< begins on kWorkspaceAlignment
  std::size_t bytes = 0;
  std::int32_t num_reports[2] = {};  ///< scheme ec: of the split as the kernels' a, and as their b
  std::string kept = {};             ///< in words

  [[nodiscard]] std::int64_t rows() const { return side == Side::kA ? num_lines : length; }
  [[nodiscard]] std::int64_t cols() const { return side == Side::kA ? length : num_lines; }
  /// @range T is that of `scalar`
  template <class T>
  [[nodiscard]] MatrixView<const T> matrix() const {
    return {static_cast<const T*>(data), rows(), cols(), row_stride, col_stride, is_conjugated};
  }
};

}  // namespace kizami::device
