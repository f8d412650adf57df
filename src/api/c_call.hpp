// SPDX-License-Identifier: MIT
// What products of kizami.h have in common, in host memory (c_products.cpp) and in that of a device (c_cuda.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "api/c_abi.hpp"
#include "kizami/outcome.hpp"
#include "problem/problem.hpp"

namespace kizami::api {

/// sizeof(kizami_outcome) of version 0.1.
inline constexpr std::size_t kFirstOutcomeBytes = 96;
static_assert(sizeof(kizami_outcome) >= kFirstOutcomeBytes);

[[nodiscard]] inline Status check_outcome(const kizami_outcome* outcome) {
  return check_struct("outcome", outcome, kFirstOutcomeBytes);
}

/// @param out  may be null
inline void store_outcome(const Outcome& outcome, kizami_outcome* out) {
  if (out == nullptr) return;
  kizami_outcome full{};
  full.scheme = static_cast<kizami_scheme>(outcome.scheme);
  full.gauge = static_cast<kizami_gauge>(outcome.gauge);
  full.bound = outcome.bound;
  full.moduli = outcome.moduli;
  full.rung = outcome.rung;
  full.equilibrated = outcome.equilibrated ? 1 : 0;
  full.repaired = outcome.repaired;
  full.nonfinite_rows = outcome.nonfinite_rows;
  full.nonfinite_cols = outcome.nonfinite_cols;
  store_text(outcome.engine, full.engine);
  full.variant = static_cast<kizami_variant>(outcome.variant);
  full.slices = outcome.slices;
  full.is_conditional = outcome.is_conditional ? 1 : 0;
  store_struct(full, out);
}

/// The arguments that all products share: everything but type, matrices and policy.
struct Call {
  kizami_layout layout_number;
  kizami_op op_a_number, op_b_number;
  std::int64_t m, n, k;
  const void* alpha;
  std::int64_t lda, ldb;
  const void* beta;
  std::int64_t ldc;

  // Once check() has seen the numbers.
  [[nodiscard]] Layout layout() const { return static_cast<Layout>(layout_number); }
  [[nodiscard]] Op op_a() const { return static_cast<Op>(op_a_number); }
  [[nodiscard]] Op op_b() const { return static_cast<Op>(op_b_number); }
};

/// What can be said of a call before its matrices are looked at.
[[nodiscard]] inline Status check(const Call& call) {
  KIZAMI_RETURN_IF_ERROR(in_range("layout", call.layout_number, kLastInC<Layout>));
  KIZAMI_RETURN_IF_ERROR(in_range("op_a", call.op_a_number, kLastInC<Op>));
  KIZAMI_RETURN_IF_ERROR(in_range("op_b", call.op_b_number, kLastInC<Op>));
  KIZAMI_RETURN_IF_ERROR(not_null("alpha", call.alpha));
  KIZAMI_RETURN_IF_ERROR(not_null("beta", call.beta));
  KIZAMI_RETURN_IF_ERROR(problem::validate_shape(call.m, call.n, call.k));
  return problem::validate_leading_dimensions(call.layout(), call.op_a(), call.op_b(), call.m, call.n, call.k, call.lda,
                                              call.ldb, call.ldc);
}

template <class T>
[[nodiscard]] T scalar_at(const void* address) {
  return *static_cast<const T*>(address);
}

[[nodiscard]] inline Status check_batch_count(std::int64_t batch_count) {
  if (batch_count >= 0) return {};
  return invalid("batch_count = " + std::to_string(batch_count) + ", must be >= 0");
}

}  // namespace kizami::api
