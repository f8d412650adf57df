// SPDX-License-Identifier: MIT
// The C ABI: products in the memory of a CUDA device, over kizami/cuda.hpp. What can be said of a call without a device
// is said first; a library without CUDA refuses the rest (cuda_absent.cpp).
#include "kizami/cuda.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "api/c_abi.hpp"
#include "api/c_call.hpp"
#include "api/op_view.hpp"
#include "exec/outcome.hpp"
#include "plan/plan.hpp"
#include "problem/batch.hpp"

struct kizami_cuda_prepared {
  kizami::cuda::PreparedOperand value;
};

namespace kizami::api {
namespace {

/// An operand of kizami_cuda_run_prepared(), whose matrix does not matter where it is prepared.
template <class T>
cuda::Operand<T> operand_of(const kizami_cuda_prepared* prepared, MatrixView<const T> view) {
  return prepared == nullptr ? cuda::Operand<T>(view) : cuda::Operand<T>(prepared->value);
}

/// The batch of two numbers.
Status read_batch(std::int64_t batch_count, int has_device_arrays, Batch& out) {
  KIZAMI_RETURN_IF_ERROR(check_batch_count(batch_count));
  KIZAMI_RETURN_IF_ERROR(in_range("has_device_arrays", has_device_arrays, 1));
  out = {batch_count, has_device_arrays == 1};
  return {};
}

/// The part of check() that is of devices alone.
Status check_on_device(const Call& call, int has_device_factors) {
  KIZAMI_RETURN_IF_ERROR(in_range("has_device_factors", has_device_factors, 1));
  return check(call);
}

/// alpha or beta at that address, of the host or of the device.
template <class T>
Factor<T> factor_at(const void* address, int is_on_device) {
  if (is_on_device == 0) return scalar_at<T>(address);
  return Factor<T>::at(static_cast<const T*>(address));
}

template <class T>
MatrixView<const T> view_a(const Call& call, const void* data) {
  return op_view(call.layout(), call.op_a(), static_cast<const T*>(data), call.m, call.k, call.lda);
}
template <class T>
MatrixView<const T> view_b(const Call& call, const void* data) {
  return op_view(call.layout(), call.op_b(), static_cast<const T*>(data), call.k, call.n, call.ldb);
}
template <class T>
MatrixView<T> view_c(const Call& call, void* data) {
  return blas_view(static_cast<T*>(data), call.m, call.n, call.ldc, call.layout());
}

/// The workspace of a call, which has its bytes checked by the run itself.
Status read_workspace(void* workspace, std::size_t bytes, std::span<std::byte>& out) {
  if (bytes != 0) KIZAMI_RETURN_IF_ERROR(not_null("workspace", workspace));
  out = {static_cast<std::byte*>(workspace), workspace == nullptr ? 0 : bytes};
  return {};
}

/// Runs a plan: `enqueue<T>(call, workspace)` once the arguments that all such functions share are right.
template <class Enqueue>
kizami_status run_plan(const kizami_plan* plan, Call call, int has_device_factors, void* workspace,
                       std::size_t workspace_bytes, const Enqueue& enqueue) {
  return guarded([&]() -> Status {
    KIZAMI_RETURN_IF_ERROR(not_null("plan", plan));
    call.m = plan->value.m();
    call.n = plan->value.n();
    call.k = plan->value.k();
    KIZAMI_RETURN_IF_ERROR(check_on_device(call, has_device_factors));
    std::span<std::byte> memory;
    KIZAMI_RETURN_IF_ERROR(read_workspace(workspace, workspace_bytes, memory));
    return with_scalar(plan->value.scalar(), [&]<class T>() { return enqueue.template operator()<T>(call, memory); });
  });
}

/// Multiplies by a plan of its own: `enqueue<T>(policy, outcomes)`, whose outcomes are added up where they are wanted.
/// @range a valid call
template <class Enqueue>
Status multiply(Scalar type, const Call& call, const Batch& batch, const kizami_policy* policy, kizami_outcome* out,
                const Enqueue& enqueue) {
  const Policy wanted = policy == nullptr ? Policy{} : policy->value;
  if (out == nullptr)
    return with_scalar(type, [&]<class T>() { return enqueue.template operator()<T>(wanted, nullptr); });
  const Result<Plan> plan = cuda::make_plan(type, call.m, call.n, call.k, wanted, batch);
  if (!plan.ok()) return plan.status();
  std::vector<Outcome> outcomes(static_cast<std::size_t>(batch.num_products));
  KIZAMI_RETURN_IF_ERROR(
      with_scalar(type, [&]<class T>() { return enqueue.template operator()<T>(wanted, outcomes.data()); }));
  Outcome total;
  total.engine = "none";
  total.scheme = plan.value().scheme();
  total.gauge = plan.value().gauge();
  for (const Outcome& one : outcomes) exec::add_outcome(one, total);
  store_outcome(outcomes.size() == 1 ? outcomes[0] : total, out);
  return {};
}

/// The address `bytes` behind it; null stays null.
template <class Pointer>
Pointer at_bytes(Pointer first, std::int64_t bytes) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const std::byte, std::byte>;
  return first == nullptr ? nullptr : static_cast<Pointer>(static_cast<Byte*>(first) + bytes);
}

/// Views of a batch; `a_at(i)`, `b_at(i)` and `c_at(i)` are the addresses of product i.
template <class T, class AAt, class BAt, class CAt>
Status run_views(const Plan& plan, const Call& call, int has_device_factors, const AAt& a_at, const BAt& b_at,
                 const CAt& c_at, std::span<std::byte> workspace, cuda::Stream stream) {
  std::vector<MatrixView<const T>> a, b;
  std::vector<MatrixView<T>> c;
  for (std::int64_t i = 0; i < plan.num_products(); ++i) {
    a.push_back(view_a<T>(call, a_at(i)));
    b.push_back(view_b<T>(call, b_at(i)));
    c.push_back(view_c<T>(call, c_at(i)));
  }
  return cuda::run_batched<T>(plan, factor_at<T>(call.alpha, has_device_factors), a, b,
                              factor_at<T>(call.beta, has_device_factors), c, workspace, stream);
}

/// The array, typed. void* const* and T* const* have one representation, which is all that an array of them holds.
template <class T, class Array>
PointerArray<T> pointers_at(Array array, bool is_on_device) {
  const auto typed = reinterpret_cast<T* const*>(array);
  return is_on_device ? PointerArray<T>::at(typed) : PointerArray<T>(typed);
}

}  // namespace
}  // namespace kizami::api

using namespace kizami;       // NOLINT(google-build-using-namespace): the functions below are not in it
using namespace kizami::api;  // NOLINT(google-build-using-namespace)

kizami_status kizami_cuda_plan_create(kizami_plan** plan, kizami_scalar scalar, int64_t m, int64_t n, int64_t k,
                                      int64_t batch_count, int has_device_arrays, const kizami_policy* policy) {
  return guarded([&]() -> Status {
    KIZAMI_RETURN_IF_ERROR(not_null("plan", plan));
    Scalar type{};
    KIZAMI_RETURN_IF_ERROR(read_enum("scalar", scalar, type));
    Batch batch;
    KIZAMI_RETURN_IF_ERROR(read_batch(batch_count, has_device_arrays, batch));
    Result<Plan> made = cuda::make_plan(type, m, n, k, policy == nullptr ? Policy{} : policy->value, batch);
    if (!made.ok()) return made.status();
    *plan = new kizami_plan{std::move(made).value()};
    return {};
  });
}

kizami_status kizami_cuda_run(const kizami_plan* plan, kizami_stream stream, kizami_layout layout, kizami_op op_a,
                              kizami_op op_b, int has_device_factors, const void* alpha, const void* A, int64_t lda,
                              const void* B, int64_t ldb, const void* beta, void* C, int64_t ldc, void* workspace,
                              size_t workspace_bytes) {
  return run_plan(plan, {layout, op_a, op_b, 0, 0, 0, alpha, lda, ldb, beta, ldc}, has_device_factors, workspace,
                  workspace_bytes, [&]<class T>(const Call& call, std::span<std::byte> memory) {
                    return cuda::run<T>(plan->value, factor_at<T>(alpha, has_device_factors), view_a<T>(call, A),
                                        view_b<T>(call, B), factor_at<T>(beta, has_device_factors), view_c<T>(call, C),
                                        memory, stream);
                  });
}

kizami_status kizami_cuda_prepared_bytes(const kizami_plan* plan, kizami_side side, size_t* bytes) {
  return guarded([&]() -> Status {
    KIZAMI_RETURN_IF_ERROR(not_null("plan", plan));
    KIZAMI_RETURN_IF_ERROR(not_null("bytes", bytes));
    Side which{};
    KIZAMI_RETURN_IF_ERROR(read_enum("side", side, which));
    const Result<std::size_t> needed = cuda::prepared_bytes(plan->value, which);
    if (!needed.ok()) return needed.status();
    *bytes = needed.value();
    return {};
  });
}

kizami_status kizami_cuda_prepare(kizami_cuda_prepared** prepared, const kizami_plan* plan, kizami_stream stream,
                                  kizami_side side, kizami_layout layout, kizami_op op, const void* X, int64_t ldx,
                                  void* memory, size_t memory_bytes) {
  return guarded([&]() -> Status {
    KIZAMI_RETURN_IF_ERROR(not_null("prepared", prepared));
    KIZAMI_RETURN_IF_ERROR(not_null("plan", plan));
    Side which{};
    Layout order{};
    Op op_x{};
    KIZAMI_RETURN_IF_ERROR(read_enum("side", side, which));
    KIZAMI_RETURN_IF_ERROR(read_enum("layout", layout, order));
    KIZAMI_RETURN_IF_ERROR(read_enum("op", op, op_x));
    if (memory_bytes != 0) KIZAMI_RETURN_IF_ERROR(not_null("memory", memory));
    const Plan& p = plan->value;
    const bool is_a = which == Side::kA;
    const std::int64_t rows = is_a ? p.m() : p.k(), cols = is_a ? p.k() : p.n();
    const std::int64_t least_ld = least_leading_dimension(order, op_x, rows, cols);
    if (ldx < least_ld) return invalid("ldx = " + std::to_string(ldx) + ", must be >= " + std::to_string(least_ld));
    return with_scalar(p.scalar(), [&]<class T>() -> Status {
      const MatrixView<const T> view = op_view(order, op_x, static_cast<const T*>(X), rows, cols, ldx);
      Result<cuda::PreparedOperand> made =
          memory == nullptr ? cuda::prepare<T>(p, which, view, stream)
                            : cuda::prepare<T>(p, which, view, {static_cast<std::byte*>(memory), memory_bytes}, stream);
      if (!made.ok()) return made.status();
      *prepared = new kizami_cuda_prepared{std::move(made).value()};
      return {};
    });
  });
}

void kizami_cuda_prepared_destroy(kizami_cuda_prepared* prepared) { delete prepared; }

kizami_status kizami_cuda_run_prepared(const kizami_plan* plan, kizami_stream stream, kizami_layout layout,
                                       kizami_op op_a, kizami_op op_b, int has_device_factors, const void* alpha,
                                       const kizami_cuda_prepared* prepared_a, const void* A, int64_t lda,
                                       const kizami_cuda_prepared* prepared_b, const void* B, int64_t ldb,
                                       const void* beta, void* C, int64_t ldc, void* workspace,
                                       size_t workspace_bytes) {
  // A leading dimension that goes with any shape, where there is no matrix.
  constexpr std::int64_t kAnyLeadingDimension = std::int64_t{1} << 34;
  Call shared{layout, op_a, op_b, 0, 0, 0, alpha, lda, ldb, beta, ldc};
  if (prepared_a != nullptr) {
    shared.op_a_number = KIZAMI_NONE;
    shared.lda = kAnyLeadingDimension;
  }
  if (prepared_b != nullptr) {
    shared.op_b_number = KIZAMI_NONE;
    shared.ldb = kAnyLeadingDimension;
  }
  return run_plan(plan, shared, has_device_factors, workspace, workspace_bytes,
                  [&]<class T>(const Call& call, std::span<std::byte> given) {
                    return cuda::run_prepared<T>(
                        plan->value, factor_at<T>(alpha, has_device_factors),
                        operand_of<T>(prepared_a, view_a<T>(call, A)), operand_of<T>(prepared_b, view_b<T>(call, B)),
                        factor_at<T>(beta, has_device_factors), view_c<T>(call, C), given, stream);
                  });
}

kizami_status kizami_cuda_run_strided_batched(const kizami_plan* plan, kizami_stream stream, kizami_layout layout,
                                              kizami_op op_a, kizami_op op_b, int has_device_factors, const void* alpha,
                                              const void* A, int64_t lda, int64_t stride_a, const void* B, int64_t ldb,
                                              int64_t stride_b, const void* beta, void* C, int64_t ldc,
                                              int64_t stride_c, void* workspace, size_t workspace_bytes) {
  return run_plan(
      plan, {layout, op_a, op_b, 0, 0, 0, alpha, lda, ldb, beta, ldc}, has_device_factors, workspace, workspace_bytes,
      [&]<class T>(const Call& call, std::span<std::byte> memory) -> Status {
        KIZAMI_RETURN_IF_ERROR(problem::validate_batch_strides(
            call.layout(), call.m, call.n, ldc, {stride_a, stride_b, stride_c}, plan->value.num_products()));
        const auto at = [](auto first, std::int64_t stride) {
          return [=](std::int64_t i) { return at_bytes(first, i * stride * static_cast<std::int64_t>(sizeof(T))); };
        };
        return run_views<T>(plan->value, call, has_device_factors, at(A, stride_a), at(B, stride_b), at(C, stride_c),
                            memory, stream);
      });
}

kizami_status kizami_cuda_run_batched(const kizami_plan* plan, kizami_stream stream, kizami_layout layout,
                                      kizami_op op_a, kizami_op op_b, int has_device_factors, const void* alpha,
                                      const void* const* A, int64_t lda, const void* const* B, int64_t ldb,
                                      const void* beta, void* const* C, int64_t ldc, void* workspace,
                                      size_t workspace_bytes) {
  return run_plan(plan, {layout, op_a, op_b, 0, 0, 0, alpha, lda, ldb, beta, ldc}, has_device_factors, workspace,
                  workspace_bytes, [&]<class T>(const Call& call, std::span<std::byte> memory) -> Status {
                    if (plan->value.impl().schedule.batch.has_device_arrays) {
                      return cuda::run_batched<T>(
                          plan->value, factor_at<T>(alpha, has_device_factors),
                          MatrixArray<const T>{reinterpret_cast<const T* const*>(A), view_a<T>(call, nullptr)},
                          MatrixArray<const T>{reinterpret_cast<const T* const*>(B), view_b<T>(call, nullptr)},
                          factor_at<T>(beta, has_device_factors),
                          MatrixArray<T>{reinterpret_cast<T* const*>(C), view_c<T>(call, nullptr)}, memory, stream);
                    }
                    const auto at = [](auto array) {
                      return [=](std::int64_t i) { return array == nullptr ? nullptr : array[i]; };
                    };
                    return run_views<T>(plan->value, call, has_device_factors, at(A), at(B), at(C), memory, stream);
                  });
}

kizami_status kizami_cuda_read_outcome(const kizami_plan* plan, kizami_stream stream, const void* workspace,
                                       size_t workspace_bytes, kizami_outcome* outcome) {
  return guarded([&]() -> Status {
    KIZAMI_RETURN_IF_ERROR(not_null("plan", plan));
    KIZAMI_RETURN_IF_ERROR(not_null("workspace", workspace));
    KIZAMI_RETURN_IF_ERROR(not_null("outcome", outcome));
    KIZAMI_RETURN_IF_ERROR(check_outcome(outcome));
    const Result<Outcome> told =
        cuda::read_outcome(plan->value, {static_cast<const std::byte*>(workspace), workspace_bytes}, stream);
    if (!told.ok()) return told.status();
    store_outcome(told.value(), outcome);
    return {};
  });
}

kizami_status kizami_cuda_read_outcomes(const kizami_plan* plan, kizami_stream stream, const void* workspace,
                                        size_t workspace_bytes, kizami_outcome* outcomes, int64_t num_outcomes) {
  return guarded([&]() -> Status {
    KIZAMI_RETURN_IF_ERROR(not_null("plan", plan));
    KIZAMI_RETURN_IF_ERROR(not_null("workspace", workspace));
    const std::int64_t count = plan->value.num_products();
    if (num_outcomes != count)
      return invalid("num_outcomes = " + std::to_string(num_outcomes) + ", must be " + std::to_string(count));
    if (count == 0) return {};
    KIZAMI_RETURN_IF_ERROR(not_null("outcomes", outcomes));
    KIZAMI_RETURN_IF_ERROR(check_outcome(outcomes));
    std::vector<Outcome> told(static_cast<std::size_t>(count));
    KIZAMI_RETURN_IF_ERROR(
        cuda::read_outcomes(plan->value, {static_cast<const std::byte*>(workspace), workspace_bytes}, stream, told));
    const auto caller_bytes = static_cast<std::int64_t>(outcomes->struct_size);  // of a caller with another header
    for (std::int64_t i = 0; i < count; ++i) {
      auto* const out = static_cast<kizami_outcome*>(at_bytes(static_cast<void*>(outcomes), i * caller_bytes));
      out->struct_size = static_cast<std::size_t>(caller_bytes);
      store_outcome(told[static_cast<std::size_t>(i)], out);
    }
    return {};
  });
}

kizami_status kizami_cuda_gemm(kizami_stream stream, kizami_scalar scalar, kizami_layout layout, kizami_op op_a,
                               kizami_op op_b, int64_t m, int64_t n, int64_t k, int has_device_factors,
                               const void* alpha, const void* A, int64_t lda, const void* B, int64_t ldb,
                               const void* beta, void* C, int64_t ldc, const kizami_policy* policy,
                               kizami_outcome* outcome) {
  return guarded([&]() -> Status {
    const Call call{layout, op_a, op_b, m, n, k, alpha, lda, ldb, beta, ldc};
    Scalar type{};
    KIZAMI_RETURN_IF_ERROR(read_enum("scalar", scalar, type));
    KIZAMI_RETURN_IF_ERROR(check_on_device(call, has_device_factors));
    KIZAMI_RETURN_IF_ERROR(check_outcome(outcome));
    return multiply(type, call, Batch{}, policy, outcome, [&]<class T>(const Policy& wanted, Outcome* told) {
      return cuda::gemm<T>(stream, call.layout(), call.op_a(), call.op_b(), m, n, k,
                           factor_at<T>(alpha, has_device_factors), static_cast<const T*>(A), lda,
                           static_cast<const T*>(B), ldb, factor_at<T>(beta, has_device_factors), static_cast<T*>(C),
                           ldc, wanted, told);
    });
  });
}

kizami_status kizami_cuda_gemm_strided_batched(kizami_stream stream, kizami_scalar scalar, kizami_layout layout,
                                               kizami_op op_a, kizami_op op_b, int64_t m, int64_t n, int64_t k,
                                               int has_device_factors, const void* alpha, const void* A, int64_t lda,
                                               int64_t stride_a, const void* B, int64_t ldb, int64_t stride_b,
                                               const void* beta, void* C, int64_t ldc, int64_t stride_c,
                                               int64_t batch_count, const kizami_policy* policy,
                                               kizami_outcome* outcome) {
  return guarded([&]() -> Status {
    const Call call{layout, op_a, op_b, m, n, k, alpha, lda, ldb, beta, ldc};
    Scalar type{};
    KIZAMI_RETURN_IF_ERROR(read_enum("scalar", scalar, type));
    KIZAMI_RETURN_IF_ERROR(check_on_device(call, has_device_factors));
    KIZAMI_RETURN_IF_ERROR(check_batch_count(batch_count));
    KIZAMI_RETURN_IF_ERROR(
        problem::validate_batch_strides(call.layout(), m, n, ldc, {stride_a, stride_b, stride_c}, batch_count));
    KIZAMI_RETURN_IF_ERROR(check_outcome(outcome));
    return multiply(
        type, call, Batch{batch_count, false}, policy, outcome, [&]<class T>(const Policy& wanted, Outcome* told) {
          return cuda::gemm_strided_batched<T>(
              stream, call.layout(), call.op_a(), call.op_b(), m, n, k, factor_at<T>(alpha, has_device_factors),
              static_cast<const T*>(A), lda, stride_a, static_cast<const T*>(B), ldb, stride_b,
              factor_at<T>(beta, has_device_factors), static_cast<T*>(C), ldc, stride_c, batch_count, wanted, told);
        });
  });
}

kizami_status kizami_cuda_gemm_batched(kizami_stream stream, kizami_scalar scalar, kizami_layout layout, kizami_op op_a,
                                       kizami_op op_b, int64_t m, int64_t n, int64_t k, int has_device_factors,
                                       const void* alpha, int has_device_arrays, const void* const* A, int64_t lda,
                                       const void* const* B, int64_t ldb, const void* beta, void* const* C, int64_t ldc,
                                       int64_t batch_count, const kizami_policy* policy, kizami_outcome* outcome) {
  return guarded([&]() -> Status {
    const Call call{layout, op_a, op_b, m, n, k, alpha, lda, ldb, beta, ldc};
    Scalar type{};
    Batch batch;
    KIZAMI_RETURN_IF_ERROR(read_enum("scalar", scalar, type));
    KIZAMI_RETURN_IF_ERROR(check_on_device(call, has_device_factors));
    KIZAMI_RETURN_IF_ERROR(read_batch(batch_count, has_device_arrays, batch));
    KIZAMI_RETURN_IF_ERROR(check_outcome(outcome));
    if (batch.has_device_arrays) {  // a null one would be taken for none
      KIZAMI_RETURN_IF_ERROR(not_null("A", A));
      KIZAMI_RETURN_IF_ERROR(not_null("B", B));
      KIZAMI_RETURN_IF_ERROR(not_null("C", C));
    }
    return multiply(type, call, batch, policy, outcome, [&]<class T>(const Policy& wanted, Outcome* told) {
      return cuda::gemm_batched<T>(
          stream, call.layout(), call.op_a(), call.op_b(), m, n, k, factor_at<T>(alpha, has_device_factors),
          pointers_at<const T>(A, batch.has_device_arrays), lda, pointers_at<const T>(B, batch.has_device_arrays), ldb,
          factor_at<T>(beta, has_device_factors), pointers_at<T>(C, batch.has_device_arrays), ldc, batch_count, wanted,
          told);
    });
  });
}

int kizami_cuda_last_call_writes_c(void) { return cuda::last_call_writes_c() ? 1 : 0; }

kizami_status kizami_cuda_workspace_pool(size_t* held_bytes, size_t* most_held_bytes, size_t* used_bytes) {
  return guarded([&]() -> Status {
    KIZAMI_RETURN_IF_ERROR(not_null("held_bytes", held_bytes));
    KIZAMI_RETURN_IF_ERROR(not_null("most_held_bytes", most_held_bytes));
    KIZAMI_RETURN_IF_ERROR(not_null("used_bytes", used_bytes));
    const Result<cuda::WorkspacePool> pool = cuda::workspace_pool();
    if (!pool.ok()) return pool.status();
    *held_bytes = pool.value().held_bytes;
    *most_held_bytes = pool.value().most_held_bytes;
    *used_bytes = pool.value().used_bytes;
    return {};
  });
}

kizami_status kizami_cuda_limit_workspaces(size_t bytes) {
  return guarded([&]() -> Status {
    cuda::limit_workspaces(bytes);
    return {};
  });
}
