// SPDX-License-Identifier: MIT
// The products that a routine of level 3 is made of, each emulated under one policy, and the worst of their outcomes.
#pragma once

#include <cstdint>
#include <memory>

#include "dropin/blas/call.hpp"
#include "dropin/blas/kept.hpp"
#include "dropin/blas/native.hpp"
#include "kizami/gemm.hpp"
#include "kizami/plan.hpp"

namespace kizami::dropin::blas {

template <class T>
class Products {
 public:
  /// All products are native.
  Products() = default;
  explicit Products(const Policy& policy) : policy_(policy), is_emulated_(true) {}

  /// A product, of any sizes. What Kizami refuses, before it writes anything, the native library answers, and it is
  /// counted.
  void multiply(const TypedCall<T>& x) {
    if (x.m == 0 || x.n == 0) return;
    if (!is_emulated_) return multiply_natively(x);
    Outcome outcome;
    const Status status = names_.is_any()
                              ? multiply_named(x, outcome)
                              : kizami::gemm<T>(Layout::kColMajor, op_of(x.op_a), op_of(x.op_b), x.m, x.n, x.k, x.alpha,
                                                x.a, x.lda, x.b, x.ldb, x.beta, x.c, x.ldc, policy_, &outcome);
    if (!status.ok()) {
      ++num_native_;
      return multiply_natively(x);
    }
    ++num_emulated_;
    note(outcome);
  }

  /// The operands of all products that follow. @range the call is one product
  void name_operands(const CallNames& names) { names_ = names; }

  /// With the largest bound, and sums of counts.
  [[nodiscard]] const Outcome& worst() const { return worst_; }
  [[nodiscard]] std::int64_t num_native() const { return num_native_; }
  [[nodiscard]] std::int64_t num_emulated() const { return num_emulated_; }

 private:
  /// The product with operands that are kept under their names.
  [[nodiscard]] Status multiply_named(const TypedCall<T>& x, Outcome& outcome) {
    const Result<Plan> plan = make_plan(kScalarOf<T>, x.m, x.n, x.k, policy_);
    if (!plan.ok()) return plan.status();
    const MatrixView<const T> a = Operand<T>{x.op_a, x.a, x.lda}.view(x.m, x.k);
    const MatrixView<const T> b = Operand<T>{x.op_b, x.b, x.ldb}.view(x.k, x.n);
    std::shared_ptr<const PreparedOperand> kept_a, kept_b;
    if (names_.a) kept_a = kept_operand<T>(*names_.a, plan.value(), Side::kA, x.op_a, a);
    if (names_.b) kept_b = kept_operand<T>(*names_.b, plan.value(), Side::kB, x.op_b, b);
    const auto multiply = [&](const kizami::Operand<T>& left, const kizami::Operand<T>& right) {
      return kizami::run<T>(plan.value(), x.alpha, left, right, x.beta,
                            blas_view(x.c, x.m, x.n, x.ldc, Layout::kColMajor), {}, &outcome);
    };
    const Status status = multiply(kept_a ? kizami::Operand<T>(*kept_a, a) : kizami::Operand<T>(a),
                                   kept_b ? kizami::Operand<T>(*kept_b, b) : kizami::Operand<T>(b));
    return status.ok() ? status : multiply(a, b);  // what was kept is of no use for this plan
  }
  static void multiply_natively(const TypedCall<T>& x) {
    NativeLevel3<T>::gemm(x.op_a, x.op_b, x.m, x.n, x.k, x.alpha, x.a, x.lda, x.b, x.ldb, x.beta, x.c, x.ldc);
  }
  void note(const Outcome& outcome) {
    const std::int64_t repaired = worst_.repaired + outcome.repaired;
    const std::int64_t rows = worst_.nonfinite_rows + outcome.nonfinite_rows;
    const std::int64_t cols = worst_.nonfinite_cols + outcome.nonfinite_cols;
    const bool is_conditional = worst_.is_conditional || outcome.is_conditional;
    if (outcome.bound >= worst_.bound) worst_ = outcome;
    worst_.is_conditional = is_conditional;
    worst_.repaired = repaired;
    worst_.nonfinite_rows = rows;
    worst_.nonfinite_cols = cols;
  }

  Policy policy_;
  CallNames names_;
  bool is_emulated_ = false;
  Outcome worst_;
  std::int64_t num_native_ = 0;
  std::int64_t num_emulated_ = 0;
};

}  // namespace kizami::dropin::blas
