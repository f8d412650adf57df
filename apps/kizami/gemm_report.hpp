// SPDX-License-Identifier: MIT
// What `kizami gemm` tells about a product it has computed.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>

#include "exact_sample.hpp"
#include "kizami/plan.hpp"
#include "kizami/policy.hpp"
#include "kizami/types.hpp"

namespace kizami::cli {

/// Everything that is worth telling about one call. Of a batch: the largest bound, the most moduli, the highest rung
/// (-1, FP64 arithmetic, is above all), and the sums of what is counted.
struct GemmReport {
  Plan plan;
  Policy policy;
  Op op_a = Op::kNone;
  Op op_b = Op::kNone;
  std::complex<double> alpha = 1;
  std::complex<double> beta = 0;
  int threads = 1;                         ///< at most; resolved
  std::optional<std::int64_t> batch = {};  ///< number of products; none: C is one matrix
  std::optional<std::string> device = {};  ///< that multiplied; none: this host
  Outcome outcome = {.engine = "none"};
  double seconds = 0;                     ///< of the products alone, without reading and writing files
  std::string output = {};                ///< name of the file written; empty if none was
  std::optional<SampleError> check = {};  ///< the worst element of all products
  std::int64_t worst_product = 0;         ///< which one holds it

  /// Elements of C that were compared; the check counts the parts of complex ones.
  [[nodiscard]] std::int64_t checked_elements() const {
    return check ? check->checked_elements / (is_complex(plan.scalar()) ? 2 : 1) : 0;
  }

  /// Adds what product number `index` did. @range index = 0, 1, ... in this order
  void add(std::int64_t index, const Outcome& one);
  void add(std::int64_t index, const SampleError& one);
};

/// One JSON object on one line.
[[nodiscard]] std::string as_json(const GemmReport& report);
/// A few lines for people.
[[nodiscard]] std::string as_text(const GemmReport& report);
/// The note on operands with NaN or Inf; empty if there is nothing to say.
[[nodiscard]] std::string nonfinite_note(const Outcome& outcome);

}  // namespace kizami::cli
