// SPDX-License-Identifier: MIT
// kizami gemm --dd: products in double-double from files to a file.
#pragma once

#include <string>

#include "gemm_report.hpp"
#include "kizami/policy.hpp"
#include "kizami/types.hpp"

namespace kizami::cli {

struct DoubleDoubleCall {
  std::string a, b, output;  ///< names of files
  Op op_a = Op::kNone;
  Op op_b = Op::kNone;
  double alpha = 1;
  Policy policy;
  bool is_quiet = false;
};

/// C = alpha op(A) op(B). An operand is a matrix of float64, or an array of float64 (rows, columns, 2) in C order whose
/// last dimension holds high and low parts; so is C. Throws Failure; the output is then as it was.
[[nodiscard]] GemmReport multiply_double_double(const DoubleDoubleCall& call);

}  // namespace kizami::cli
