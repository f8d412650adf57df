// SPDX-License-Identifier: MIT
#include "plan/validate.hpp"

#include <string>

#include "num/crt_table.hpp"
#include "plan/plan.hpp"

namespace kizami::plan {

Status validate_policy(const problem::Shape& shape, const Policy& policy) {
  const auto invalid = [](const std::string& name, std::int64_t value, const std::string& limit) {
    return Status(StatusCode::kInvalidArgument, name + " = " + std::to_string(value) + ", must be " + limit);
  };
  // Everything that counts the terms of a line has room for so many: sums of squares, levels of pairwise sums,
  // headroom.
  if (num_terms(shape) > num::kMaxLineLength) {
    return invalid("k", shape.k,
                   "<= " + std::to_string(num::kMaxLineLength / 2) + " for " + std::string(to_string(shape.scalar)) +
                       ", whose sums have 2 k real terms");
  }
  const int max_bits = num::significand_bits_guaranteed(shape.scalar);
  if (policy.accuracy.kind == Accuracy::Kind::kBits && (policy.accuracy.bits < 1 || policy.accuracy.bits > max_bits)) {
    return invalid("bits", policy.accuracy.bits,
                   "in 1.." + std::to_string(max_bits) + " for " + std::string(to_string(shape.scalar)));
  }
  if (policy.threads < 0 || policy.threads > kMaxThreads)
    return invalid("threads", policy.threads, "in 0.." + std::to_string(kMaxThreads));
  if (policy.max_rungs < 0) return invalid("rungs", policy.max_rungs, ">= 0");
  return {};
}

Status validate_device_policy(const problem::Shape& shape, const Policy& policy) {
  const auto unsupported = [](const std::string& argument, const std::string& limit) {
    return Status(StatusCode::kUnsupported, argument + ", must be " + limit + ", for operands in device memory");
  };
  if (shape.scalar == Scalar::kDD) return unsupported("scalar = dd", "f32, f64, c64 or c128");
  if (policy.accuracy.kind == Accuracy::Kind::kCorrect) return unsupported("accuracy = correct", "native or bits=N");
  if (!policy.may_sync && policy.reject_nonfinite)
    return unsupported("nonfinite = reject", "multiply unless sync = allowed");
  return {};
}

}  // namespace kizami::plan
