// SPDX-License-Identifier: MIT
// The C ABI: products in one call, in batches, and as planned.
#include <vector>

#include "api/c_abi.hpp"
#include "api/c_call.hpp"
#include "api/op_view.hpp"
#include "exec/outcome.hpp"
#include "kizami/gemm.hpp"
#include "problem/batch.hpp"
#include "problem/problem.hpp"

namespace kizami::api {
namespace {

/// The matrices of one product.
template <class T>
struct Matrices {
  const T* a;
  const T* b;
  T* c;
};

/// kizami_gemm(), and what the typed functions call.
kizami_status gemm_by_type(kizami_scalar scalar, const Call& call, const void* a, const void* b, void* c,
                           const kizami_policy* policy, kizami_outcome* out) {
  return guarded([&]() -> Status {
    Scalar type{};
    KIZAMI_RETURN_IF_ERROR(read_enum("scalar", scalar, type));
    KIZAMI_RETURN_IF_ERROR(check(call));
    KIZAMI_RETURN_IF_ERROR(check_outcome(out));
    const Result<Plan> plan = make_plan(type, call.m, call.n, call.k, policy == nullptr ? Policy{} : policy->value);
    if (!plan.ok()) return plan.status();
    Outcome outcome;
    KIZAMI_RETURN_IF_ERROR(with_scalar(type, [&]<class T>() {
      return run<T>(plan.value(), scalar_at<T>(call.alpha),
                    op_view(call.layout(), call.op_a(), static_cast<const T*>(a), call.m, call.k, call.lda),
                    op_view(call.layout(), call.op_b(), static_cast<const T*>(b), call.k, call.n, call.ldb),
                    scalar_at<T>(call.beta), blas_view(static_cast<T*>(c), call.m, call.n, call.ldc, call.layout()), {},
                    &outcome);
    }));
    store_outcome(outcome, out);
    return {};
  });
}

/// Whether A and B are read at all.
template <class T>
bool reads_operands(const Call& call) {
  return problem::quick_return(call.m, call.n, call.k, scalar_at<T>(call.alpha), scalar_at<T>(call.beta)) ==
         problem::QuickReturn::kNone;
}

/// Products of one shape by one plan; `matrices_of(i)` gives those of product i. @status as kizami::run_batched()
template <class T, class MatricesOf>
Status run_batch(const Plan& plan, const Call& call, std::int64_t batch_count, const MatricesOf& matrices_of,
                 Outcome& outcome) {
  if (call.m == 0 || call.n == 0) batch_count = 0;  // however many there are, none does anything
  std::vector<MatrixView<const T>> a, b;
  std::vector<MatrixView<T>> c;
  std::vector<Outcome> outcomes(static_cast<std::size_t>(batch_count));
  a.reserve(outcomes.size());
  b.reserve(outcomes.size());
  c.reserve(outcomes.size());
  for (std::int64_t i = 0; i < batch_count; ++i) {
    const Matrices<T> x = matrices_of(i);
    a.push_back(op_view(call.layout(), call.op_a(), x.a, call.m, call.k, call.lda));
    b.push_back(op_view(call.layout(), call.op_b(), x.b, call.k, call.n, call.ldb));
    c.push_back(blas_view(x.c, call.m, call.n, call.ldc, call.layout()));
  }
  KIZAMI_RETURN_IF_ERROR(run_batched<T>(plan, scalar_at<T>(call.alpha), a, b, scalar_at<T>(call.beta), c, outcomes));
  outcome.engine = "none";
  outcome.scheme = plan.scheme();
  outcome.gauge = plan.gauge();
  for (const Outcome& one : outcomes) exec::add_outcome(one, outcome);
  return {};
}

/// Every pointer of a batch that will be followed. @status kInvalidArgument names array and index
Status check_pointers(const Call& call, bool is_a_read, const void* const* a, const void* const* b, void* const* c,
                      std::int64_t batch_count) {
  const auto check_array = [&](const char* name, const auto* pointers) -> Status {
    KIZAMI_RETURN_IF_ERROR(not_null(name, pointers));
    for (std::int64_t i = 0; i < batch_count; ++i) {
      if (pointers[i] == nullptr) return invalid(std::string(name) + "[" + std::to_string(i) + "] is NULL");
    }
    return {};
  };
  if (batch_count == 0 || call.m == 0 || call.n == 0) return {};
  KIZAMI_RETURN_IF_ERROR(check_array("C", c));
  if (!is_a_read) return {};
  KIZAMI_RETURN_IF_ERROR(check_array("A", a));
  return check_array("B", b);
}

/// Memory of one product, `stride` elements behind that of the one before it; null stays null.
template <class T>
T* at_stride(T* first, std::int64_t stride, std::int64_t i) {
  return first == nullptr ? nullptr : first + stride * i;
}
template <class Pointers>
auto at_index(Pointers pointers, std::int64_t i) {
  return pointers == nullptr ? nullptr : pointers[i];
}

/// An operand of kizami_run_prepared().
template <class T>
Operand<T> operand_of(const kizami_prepared* prepared, MatrixView<const T> view) {
  return prepared == nullptr ? Operand<T>(view) : Operand<T>(prepared->value, view);
}

}  // namespace
}  // namespace kizami::api

using namespace kizami;       // NOLINT(google-build-using-namespace): the functions below are not in it
using namespace kizami::api;  // NOLINT(google-build-using-namespace)

kizami_status kizami_gemm(kizami_scalar scalar, kizami_layout layout, kizami_op op_a, kizami_op op_b, int64_t m,
                          int64_t n, int64_t k, const void* alpha, const void* A, int64_t lda, const void* B,
                          int64_t ldb, const void* beta, void* C, int64_t ldc, const kizami_policy* policy,
                          kizami_outcome* outcome) {
  return gemm_by_type(scalar, {layout, op_a, op_b, m, n, k, alpha, lda, ldb, beta, ldc}, A, B, C, policy, outcome);
}

kizami_status kizami_sgemm(kizami_layout layout, kizami_op op_a, kizami_op op_b, int64_t m, int64_t n, int64_t k,
                           float alpha, const float* A, int64_t lda, const float* B, int64_t ldb, float beta, float* C,
                           int64_t ldc, const kizami_policy* policy, kizami_outcome* outcome) {
  return gemm_by_type(KIZAMI_F32, {layout, op_a, op_b, m, n, k, &alpha, lda, ldb, &beta, ldc}, A, B, C, policy,
                      outcome);
}
kizami_status kizami_dgemm(kizami_layout layout, kizami_op op_a, kizami_op op_b, int64_t m, int64_t n, int64_t k,
                           double alpha, const double* A, int64_t lda, const double* B, int64_t ldb, double beta,
                           double* C, int64_t ldc, const kizami_policy* policy, kizami_outcome* outcome) {
  return gemm_by_type(KIZAMI_F64, {layout, op_a, op_b, m, n, k, &alpha, lda, ldb, &beta, ldc}, A, B, C, policy,
                      outcome);
}
kizami_status kizami_cgemm(kizami_layout layout, kizami_op op_a, kizami_op op_b, int64_t m, int64_t n, int64_t k,
                           const void* alpha, const void* A, int64_t lda, const void* B, int64_t ldb, const void* beta,
                           void* C, int64_t ldc, const kizami_policy* policy, kizami_outcome* outcome) {
  return gemm_by_type(KIZAMI_C64, {layout, op_a, op_b, m, n, k, alpha, lda, ldb, beta, ldc}, A, B, C, policy, outcome);
}
kizami_status kizami_zgemm(kizami_layout layout, kizami_op op_a, kizami_op op_b, int64_t m, int64_t n, int64_t k,
                           const void* alpha, const void* A, int64_t lda, const void* B, int64_t ldb, const void* beta,
                           void* C, int64_t ldc, const kizami_policy* policy, kizami_outcome* outcome) {
  return gemm_by_type(KIZAMI_C128, {layout, op_a, op_b, m, n, k, alpha, lda, ldb, beta, ldc}, A, B, C, policy, outcome);
}

kizami_status kizami_gemm_strided_batched(kizami_scalar scalar, kizami_layout layout, kizami_op op_a, kizami_op op_b,
                                          int64_t m, int64_t n, int64_t k, const void* alpha, const void* A,
                                          int64_t lda, int64_t stride_a, const void* B, int64_t ldb, int64_t stride_b,
                                          const void* beta, void* C, int64_t ldc, int64_t stride_c, int64_t batch_count,
                                          const kizami_policy* policy, kizami_outcome* outcome) {
  return guarded([&]() -> Status {
    const Call call{layout, op_a, op_b, m, n, k, alpha, lda, ldb, beta, ldc};
    Scalar type{};
    KIZAMI_RETURN_IF_ERROR(read_enum("scalar", scalar, type));
    KIZAMI_RETURN_IF_ERROR(check(call));
    KIZAMI_RETURN_IF_ERROR(check_batch_count(batch_count));
    KIZAMI_RETURN_IF_ERROR(
        problem::validate_batch_strides(call.layout(), m, n, ldc, {stride_a, stride_b, stride_c}, batch_count));
    KIZAMI_RETURN_IF_ERROR(check_outcome(outcome));
    const Result<Plan> plan = make_plan(type, m, n, k, policy == nullptr ? Policy{} : policy->value);
    if (!plan.ok()) return plan.status();
    Outcome total;
    KIZAMI_RETURN_IF_ERROR(with_scalar(type, [&]<class T>() {
      return run_batch<T>(
          plan.value(), call, batch_count,
          [&](std::int64_t i) -> Matrices<T> {
            return {at_stride(static_cast<const T*>(A), stride_a, i), at_stride(static_cast<const T*>(B), stride_b, i),
                    at_stride(static_cast<T*>(C), stride_c, i)};
          },
          total);
    }));
    store_outcome(total, outcome);
    return {};
  });
}

kizami_status kizami_gemm_batched(kizami_scalar scalar, kizami_layout layout, kizami_op op_a, kizami_op op_b, int64_t m,
                                  int64_t n, int64_t k, const void* alpha, const void* const* A, int64_t lda,
                                  const void* const* B, int64_t ldb, const void* beta, void* const* C, int64_t ldc,
                                  int64_t batch_count, const kizami_policy* policy, kizami_outcome* outcome) {
  return guarded([&]() -> Status {
    const Call call{layout, op_a, op_b, m, n, k, alpha, lda, ldb, beta, ldc};
    Scalar type{};
    KIZAMI_RETURN_IF_ERROR(read_enum("scalar", scalar, type));
    KIZAMI_RETURN_IF_ERROR(check(call));
    KIZAMI_RETURN_IF_ERROR(check_batch_count(batch_count));
    KIZAMI_RETURN_IF_ERROR(check_outcome(outcome));
    const Result<Plan> plan = make_plan(type, m, n, k, policy == nullptr ? Policy{} : policy->value);
    if (!plan.ok()) return plan.status();
    Outcome total;
    const Status status = with_scalar(type, [&]<class T>() -> Status {
      KIZAMI_RETURN_IF_ERROR(check_pointers(call, reads_operands<T>(call), A, B, C, batch_count));
      return run_batch<T>(
          plan.value(), call, batch_count,
          [&](std::int64_t i) -> Matrices<T> {
            return {static_cast<const T*>(at_index(A, i)), static_cast<const T*>(at_index(B, i)),
                    static_cast<T*>(at_index(C, i))};
          },
          total);
    });
    if (!status.ok()) return status;
    store_outcome(total, outcome);
    return {};
  });
}

kizami_status kizami_run(const kizami_plan* plan, kizami_layout layout, kizami_op op_a, kizami_op op_b,
                         const void* alpha, const void* A, int64_t lda, const void* B, int64_t ldb, const void* beta,
                         void* C, int64_t ldc, void* workspace, size_t workspace_bytes, kizami_outcome* outcome) {
  return kizami_run_prepared(plan, layout, op_a, op_b, alpha, nullptr, A, lda, nullptr, B, ldb, beta, C, ldc, workspace,
                             workspace_bytes, outcome);
}

kizami_status kizami_run_prepared(const kizami_plan* plan, kizami_layout layout, kizami_op op_a, kizami_op op_b,
                                  const void* alpha, const kizami_prepared* prepared_a, const void* A, int64_t lda,
                                  const kizami_prepared* prepared_b, const void* B, int64_t ldb, const void* beta,
                                  void* C, int64_t ldc, void* workspace, size_t workspace_bytes,
                                  kizami_outcome* outcome) {
  return guarded([&]() -> Status {
    KIZAMI_RETURN_IF_ERROR(not_null("plan", plan));
    const Plan& p = plan->value;
    Call call{layout, op_a, op_b, p.m(), p.n(), p.k(), alpha, lda, ldb, beta, ldc};
    if (prepared_a != nullptr && A == nullptr) {
      call.op_a_number = KIZAMI_NONE;
      call.lda = std::max(p.m(), p.k()) + 1;
    }
    if (prepared_b != nullptr && B == nullptr) {
      call.op_b_number = KIZAMI_NONE;
      call.ldb = std::max(p.k(), p.n()) + 1;
    }
    KIZAMI_RETURN_IF_ERROR(check(call));
    KIZAMI_RETURN_IF_ERROR(check_outcome(outcome));
    if (workspace_bytes != 0) KIZAMI_RETURN_IF_ERROR(not_null("workspace", workspace));
    if (workspace != nullptr && workspace_bytes < p.workspace_bytes()) {
      return invalid("workspace_bytes = " + std::to_string(workspace_bytes) +
                     ", must be >= " + std::to_string(p.workspace_bytes()));
    }
    Outcome result;
    KIZAMI_RETURN_IF_ERROR(with_scalar(p.scalar(), [&]<class T>() {
      return run<T>(p, scalar_at<T>(alpha),
                    operand_of<T>(prepared_a, op_view(call.layout(), call.op_a(), static_cast<const T*>(A), call.m,
                                                      call.k, call.lda)),
                    operand_of<T>(prepared_b, op_view(call.layout(), call.op_b(), static_cast<const T*>(B), call.k,
                                                      call.n, call.ldb)),
                    scalar_at<T>(beta), blas_view(static_cast<T*>(C), call.m, call.n, call.ldc, call.layout()),
                    {static_cast<std::byte*>(workspace), workspace_bytes}, &result);
    }));
    store_outcome(result, outcome);
    return {};
  });
}
