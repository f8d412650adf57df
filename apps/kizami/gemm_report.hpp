// SPDX-License-Identifier: MIT
// What `kizami gemm` tells about a product it has computed.
#pragma once

#include <optional>
#include <string>

#include "exact_sample.hpp"
#include "kizami/plan.hpp"
#include "kizami/policy.hpp"
#include "kizami/types.hpp"

namespace kizami::cli {

/// Everything that is worth telling about one call.
struct GemmReport {
  Plan plan;
  Policy policy;
  Op op_a = Op::kNone;
  Op op_b = Op::kNone;
  double alpha = 1;
  double beta = 0;
  int threads = 1;  ///< at most; resolved
  Outcome outcome = {};
  double seconds = 0;       ///< of the product alone, without reading and writing files
  std::string output = {};  ///< name of the file written; empty if none was
  std::optional<SampleError> check = {};
};

/// One JSON object on one line.
[[nodiscard]] std::string as_json(const GemmReport& report);
/// A few lines for people.
[[nodiscard]] std::string as_text(const GemmReport& report);
/// The note on operands with NaN or Inf; empty if there is nothing to say.
[[nodiscard]] std::string nonfinite_note(const Outcome& outcome);

}  // namespace kizami::cli
