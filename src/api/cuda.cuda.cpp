// SPDX-License-Identifier: MIT
#include "kizami/cuda.hpp"
#include "kizami/cuda_triangle.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/op_view.hpp"
#include "api/stream_memory.hpp"
#include "base/instantiate.hpp"
#include "base/relaxed_capture.hpp"
#include "device/symmetric.hpp"
#include "device/symmetric_seconds.hpp"
#include "device/writes_c.hpp"
#include "exec/device_batch.hpp"
#include "exec/device_call.hpp"
#include "exec/device_environment.hpp"
#include "exec/device_triangle.hpp"
#include "exec/outcome.hpp"
#include "exec/plan_cache.hpp"
#include "problem/batch.hpp"
#include "problem/problem.hpp"

namespace kizami::cuda {
namespace {

template <class T>
Status validate_scalar(const Plan& plan) {
  if (plan.scalar() == kScalarOf<T>) return {};
  return {StatusCode::kInvalidArgument, "C is " + std::string(to_string(kScalarOf<T>)) + ", the plan is for " +
                                            std::string(to_string(plan.scalar()))};
}

/// The arguments of a call in BLAS terms that all of its products share.
template <class T>
struct BlasCall {
  Stream stream;
  Layout layout;
  Op op_a, op_b;
  std::int64_t m, n, k;
  Factor<T> alpha;
  std::int64_t lda, ldb;
  Factor<T> beta;
  std::int64_t ldc;

  [[nodiscard]] Status validate() const {
    KIZAMI_RETURN_IF_ERROR(problem::validate_shape(m, n, k));
    return problem::validate_leading_dimensions(layout, op_a, op_b, m, n, k, lda, ldb, ldc);
  }
  [[nodiscard]] MatrixView<const T> a(const T* data) const { return api::op_view(layout, op_a, data, m, k, lda); }
  [[nodiscard]] MatrixView<const T> b(const T* data) const { return api::op_view(layout, op_b, data, k, n, ldb); }
  [[nodiscard]] MatrixView<T> c(T* data) const { return blas_view(data, m, n, ldc, layout); }
};

/// Takes a workspace of a plan, runs with `run_plan(plan, workspace)`, and reads the outcomes, one for each product, if
/// they are wanted. @range a valid call
template <class T, class RunPlan>
Status multiply(const BlasCall<T>& call, const Result<Plan>& plan, const RunPlan& run_plan, Outcome* outcomes) {
  if (!plan.ok()) return plan.status();
  const base::RelaxedCapture relaxed;
  api::StreamMemory workspace(call.stream);
  KIZAMI_RETURN_IF_ERROR(workspace.allocate(plan.value().impl().schedule.facts.device, plan.value().workspace_bytes()));
  KIZAMI_RETURN_IF_ERROR(device::of_enqueued(run_plan(plan.value(), workspace.span())));
  if (outcomes == nullptr) return {};
  return exec::read_device_outcomes(plan.value().impl(), workspace.span(), call.stream,
                                    {outcomes, static_cast<std::size_t>(plan.value().num_products())});
}
/// Plans first.
template <class T, class RunPlan>
Status multiply(const BlasCall<T>& call, const Policy& policy, const Batch& batch, const RunPlan& run_plan,
                Outcome* outcomes) {
  return multiply(call, cuda::make_plan(kScalarOf<T>, call.m, call.n, call.k, policy, batch), run_plan, outcomes);
}

/// Products of matrices at addresses that the host knows. `a_at(i)`, `b_at(i)`, `c_at(i)` are the i-th.
template <class T, class AAt, class BAt, class CAt>
Status multiply_batch(const BlasCall<T>& call, const AAt& a_at, const BAt& b_at, const CAt& c_at,
                      std::int64_t num_products, const Policy& policy, Outcome* outcomes, const EffortNote& note) {
  std::vector<device::DeviceProblem<T>> problems;
  problems.reserve(static_cast<std::size_t>(num_products));
  for (std::int64_t i = 0; i < num_products; ++i)
    problems.push_back({call.alpha, call.a(a_at(i)), call.b(b_at(i)), call.beta, call.c(c_at(i))});
  const auto run_plan = [&](const Plan& plan, std::span<std::byte> workspace) {
    return exec::run_device<T>(plan.impl(), problems, workspace, call.stream, note);
  };
  return multiply(call, policy, {num_products, false}, run_plan, outcomes);
}

}  // namespace

Result<Plan> make_plan(Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k, const Policy& policy,
                       const Batch& batch) {
  const base::RelaxedCapture relaxed;
  const Result<plan::Environment> environment = exec::device_environment();
  if (!environment.ok()) return environment.status();
  auto plan = exec::cached_plan({scalar, m, n, k}, policy, environment.value(), batch);
  if (!plan.ok()) return plan.status();
  return Plan(std::move(plan).value());
}

Result<Plan> make_triangle_plan(Scalar scalar, std::int64_t n, std::int64_t k, const Policy& policy) {
  const base::RelaxedCapture relaxed;
  const Result<plan::Environment> environment = exec::device_environment();
  if (!environment.ok()) return environment.status();
  auto plan = exec::triangle_plan(scalar, n, k, policy, environment.value());
  if (!plan.ok()) return plan.status();
  return Plan(std::move(plan).value());
}

Result<double> symm_seconds(Scalar scalar, std::int64_t order) {
  const base::RelaxedCapture relaxed;
  const Result<plan::Environment> environment = exec::device_environment();
  if (!environment.ok()) return environment.status();
  return device::seconds_to_write_out(order, size_bytes(scalar), environment.value().facts.rates);
}

template <class T>
Status run(const Plan& plan, Factor<T> alpha, MatrixView<const T> a, MatrixView<const T> b, Factor<T> beta,
           MatrixView<T> c, std::span<std::byte> workspace, Stream stream) {
  device::t_writes_c = false;
  KIZAMI_RETURN_IF_ERROR(validate_scalar<T>(plan));
  const device::DeviceProblem<T> problem{alpha, a, b, beta, c};
  return exec::run_device<T>(plan.impl(), {&problem, 1}, workspace, stream);
}

template <class T>
Status run_batched(const Plan& plan, Factor<T> alpha, std::span<const MatrixView<const T>> a,
                   std::span<const MatrixView<const T>> b, Factor<T> beta, std::span<const MatrixView<T>> c,
                   std::span<std::byte> workspace, Stream stream) {
  device::t_writes_c = false;
  KIZAMI_RETURN_IF_ERROR(validate_scalar<T>(plan));
  if (a.size() != c.size() || b.size() != c.size()) {
    return {StatusCode::kInvalidArgument, "the batch has " + std::to_string(a.size()) + " matrices A, " +
                                              std::to_string(b.size()) + " matrices B and " + std::to_string(c.size()) +
                                              " matrices C, must be as many of each"};
  }
  std::vector<device::DeviceProblem<T>> problems;
  problems.reserve(c.size());
  for (std::size_t i = 0; i < c.size(); ++i) problems.push_back({alpha, a[i], b[i], beta, c[i]});
  return exec::run_device<T>(plan.impl(), problems, workspace, stream);
}

template <class T>
Status run_batched(const Plan& plan, Factor<T> alpha, MatrixArray<const T> a, MatrixArray<const T> b, Factor<T> beta,
                   MatrixArray<T> c, std::span<std::byte> workspace, Stream stream) {
  device::t_writes_c = false;
  KIZAMI_RETURN_IF_ERROR(validate_scalar<T>(plan));
  return exec::run_device_arrays<T>(plan.impl(), {alpha, a, b, beta, c}, workspace, stream);
}

bool last_call_writes_c() noexcept { return device::t_writes_c; }

Result<Outcome> read_outcome(const Plan& plan, std::span<const std::byte> workspace, Stream stream) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(plan.num_products()));
  KIZAMI_RETURN_IF_ERROR(read_outcomes(plan, workspace, stream, outcomes));
  if (outcomes.size() == 1) return outcomes[0];
  Outcome all;
  all.engine = "none";
  all.scheme = plan.scheme();
  all.gauge = plan.gauge();
  for (const Outcome& one : outcomes) exec::add_outcome(one, all);
  return all;
}

Status read_outcomes(const Plan& plan, std::span<const std::byte> workspace, Stream stream,
                     std::span<Outcome> outcomes) {
  return exec::read_device_outcomes(plan.impl(), workspace, stream, outcomes);
}

template <class T>
Status gemm(Stream stream, Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k,
            Factor<T> alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, Factor<T> beta, T* c,
            std::int64_t ldc, const Policy& policy, Outcome* outcome, const EffortNote& note) {
  const BlasCall<T> call{stream, layout, op_a, op_b, m, n, k, alpha, lda, ldb, beta, ldc};
  device::t_writes_c = false;
  KIZAMI_RETURN_IF_ERROR(call.validate());
  const auto always = [](auto* data) { return [=](std::int64_t) { return data; }; };
  return multiply_batch(call, always(a), always(b), always(c), 1, policy, outcome, note);
}

template <class T>
Status gemmt(Stream stream, Layout layout, const Triangle& triangle, Op op_a, Op op_b, std::int64_t n, std::int64_t k,
             Factor<T> alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, Factor<T> beta, T* c,
             std::int64_t ldc, const Policy& policy, Outcome* outcome, const EffortNote& note) {
  const BlasCall<T> call{stream, layout, op_a, op_b, n, n, k, alpha, lda, ldb, beta, ldc};
  device::t_writes_c = false;
  KIZAMI_RETURN_IF_ERROR(call.validate());
  device::DeviceProblem<T> problem{alpha, call.a(a), call.b(b), beta, call.c(c)};
  problem.part = {triangle.is_lower ? problem::PartKind::kLower : problem::PartKind::kUpper,
                  triangle.has_real_diagonal};
  const auto run_plan = [&](const Plan& plan, std::span<std::byte> workspace) {
    return exec::run_device<T>(plan.impl(), {&problem, 1}, workspace, stream, note);
  };
  return multiply(call, make_triangle_plan(kScalarOf<T>, n, k, policy), run_plan, outcome);
}

template <class T>
Status symm(Stream stream, Layout layout, const Symmetric& symmetric, std::int64_t m, std::int64_t n, Factor<T> alpha,
            const T* a, std::int64_t lda, const T* b, std::int64_t ldb, Factor<T> beta, T* c, std::int64_t ldc,
            const Policy& policy, Outcome* outcome, const EffortNote& note) {
  constexpr std::int64_t kOrderLimit = std::int64_t{1} << 20;
  const bool is_first = symmetric.side == Side::kA;
  const std::int64_t order = is_first ? m : n;
  const BlasCall<T> call{
      stream, layout, Op::kNone, Op::kNone, m, n, order, alpha, is_first ? lda : ldb, is_first ? ldb : lda, beta, ldc};
  device::t_writes_c = false;
  KIZAMI_RETURN_IF_ERROR(call.validate());
  if (order >= kOrderLimit)
    return {StatusCode::kInvalidArgument, "A is of order " + std::to_string(order) + ", must be below 2^20"};
  const MatrixView<const T> stored = blas_view(a, order, order, lda, layout);
  const auto run_plan = [&](const Plan& plan, std::span<std::byte> workspace) -> Status {
    device::DeviceProblem<T> problem{alpha, stored, blas_view(b, m, n, ldb, layout), beta, call.c(c)};
    api::StreamMemory full(stream);
    if (m > 0 && n > 0 && !exec::has_no_terms(plan.impl(), alpha)) {
      KIZAMI_RETURN_IF_ERROR(problem::validate_operand("A", stored, order, order));
      KIZAMI_RETURN_IF_ERROR(device::validate_alignment("A", a));
      if (problem::overlaps<T>(stored, problem.c))
        return {StatusCode::kInvalidArgument, "C overlaps an operand in memory, must be disjoint from A and B"};
      const auto elements = static_cast<std::size_t>(order) * static_cast<std::size_t>(order);
      KIZAMI_RETURN_IF_ERROR(full.allocate(plan.impl().schedule.facts.device, elements * sizeof(T)));
      auto* const all = reinterpret_cast<T*>(full.span().data());
      const bool is_lower = symmetric.is_lower == (layout == Layout::kColMajor);
      KIZAMI_RETURN_IF_ERROR(device::write_out<T>({a, lda, order, is_lower, symmetric.is_hermitian}, all, stream));
      problem.a = blas_view(static_cast<const T*>(all), order, order, order, layout);
    }
    if (!is_first) std::swap(problem.a, problem.b);
    return exec::run_device<T>(plan.impl(), {&problem, 1}, workspace, stream, note);
  };
  return multiply(call, policy, {}, run_plan, outcome);
}

template <class T>
Status gemm_strided_batched(Stream stream, Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n,
                            std::int64_t k, Factor<T> alpha, const T* a, std::int64_t lda, std::int64_t stride_a,
                            const T* b, std::int64_t ldb, std::int64_t stride_b, Factor<T> beta, T* c, std::int64_t ldc,
                            std::int64_t stride_c, std::int64_t num_products, const Policy& policy, Outcome* outcomes,
                            const EffortNote& note) {
  const BlasCall<T> call{stream, layout, op_a, op_b, m, n, k, alpha, lda, ldb, beta, ldc};
  device::t_writes_c = false;
  KIZAMI_RETURN_IF_ERROR(call.validate());
  KIZAMI_RETURN_IF_ERROR(problem::validate_num_products(num_products));
  KIZAMI_RETURN_IF_ERROR(
      problem::validate_batch_strides(layout, m, n, ldc, {stride_a, stride_b, stride_c}, num_products));
  const auto at = [](auto* first, std::int64_t stride) {  // null stays null, and is refused as such
    return [=](std::int64_t i) { return first == nullptr ? nullptr : first + i * stride; };
  };
  return multiply_batch(call, at(a, stride_a), at(b, stride_b), at(c, stride_c), num_products, policy, outcomes, note);
}

template <class T>
Status gemm_batched(Stream stream, Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k,
                    Factor<T> alpha, PointerArray<const T> a, std::int64_t lda, PointerArray<const T> b,
                    std::int64_t ldb, Factor<T> beta, PointerArray<T> c, std::int64_t ldc, std::int64_t num_products,
                    const Policy& policy, Outcome* outcomes, const EffortNote& note) {
  const BlasCall<T> call{stream, layout, op_a, op_b, m, n, k, alpha, lda, ldb, beta, ldc};
  device::t_writes_c = false;
  KIZAMI_RETURN_IF_ERROR(call.validate());
  KIZAMI_RETURN_IF_ERROR(problem::validate_num_products(num_products));
  if (c.device != nullptr) {
    if (a.host != nullptr || b.host != nullptr) {
      return {StatusCode::kInvalidArgument,
              "the array of pointers to the matrices C is in device memory, those to A and B must be there too"};
    }
    const auto run_plan = [&](const Plan& plan, std::span<std::byte> workspace) {
      return exec::run_device_arrays<T>(
          plan.impl(),
          {alpha, {a.device, call.a(nullptr)}, {b.device, call.b(nullptr)}, beta, {c.device, call.c(nullptr)}},
          workspace, stream, note);
    };
    return multiply(call, policy, {num_products, true}, run_plan, outcomes);
  }
  if (a.device != nullptr || b.device != nullptr) {
    return {StatusCode::kInvalidArgument,
            "the array of pointers to the matrices C is not in device memory, those to A and B must not be either"};
  }
  const auto at = [](auto* array) { return [=](std::int64_t i) { return array == nullptr ? nullptr : array[i]; }; };
  return multiply_batch(call, at(a.host), at(b.host), at(c.host), num_products, policy, outcomes, note);
}

#define KIZAMI_INSTANTIATE(T)                                                                                          \
  template Status run<T>(const Plan&, Factor<T>, MatrixView<const T>, MatrixView<const T>, Factor<T>, MatrixView<T>,   \
                         std::span<std::byte>, Stream);                                                                \
  template Status run_batched<T>(const Plan&, Factor<T>, std::span<const MatrixView<const T>>,                         \
                                 std::span<const MatrixView<const T>>, Factor<T>, std::span<const MatrixView<T>>,      \
                                 std::span<std::byte>, Stream);                                                        \
  template Status run_batched<T>(const Plan&, Factor<T>, MatrixArray<const T>, MatrixArray<const T>, Factor<T>,        \
                                 MatrixArray<T>, std::span<std::byte>, Stream);                                        \
  template Status gemm<T>(Stream, Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, Factor<T>, const T*,       \
                          std::int64_t, const T*, std::int64_t, Factor<T>, T*, std::int64_t, const Policy&, Outcome*,  \
                          const EffortNote&);                                                                          \
  template Status gemmt<T>(Stream, Layout, const Triangle&, Op, Op, std::int64_t, std::int64_t, Factor<T>, const T*,   \
                           std::int64_t, const T*, std::int64_t, Factor<T>, T*, std::int64_t, const Policy&, Outcome*, \
                           const EffortNote&);                                                                         \
  template Status symm<T>(Stream, Layout, const Symmetric&, std::int64_t, std::int64_t, Factor<T>, const T*,           \
                          std::int64_t, const T*, std::int64_t, Factor<T>, T*, std::int64_t, const Policy&, Outcome*,  \
                          const EffortNote&);                                                                          \
  template Status gemm_strided_batched<T>(Stream, Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, Factor<T>, \
                                          const T*, std::int64_t, std::int64_t, const T*, std::int64_t, std::int64_t,  \
                                          Factor<T>, T*, std::int64_t, std::int64_t, std::int64_t, const Policy&,      \
                                          Outcome*, const EffortNote&);                                                \
  template Status gemm_batched<T>(Stream, Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, Factor<T>,         \
                                  PointerArray<const T>, std::int64_t, PointerArray<const T>, std::int64_t, Factor<T>, \
                                  PointerArray<T>, std::int64_t, std::int64_t, const Policy&, Outcome*,                \
                                  const EffortNote&)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::cuda
