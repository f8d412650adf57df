// SPDX-License-Identifier: MIT
#include "kizami/multi.hpp"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/op_view.hpp"
#include "api/stream_memory.hpp"
#include "base/instantiate.hpp"
#include "base/relaxed_capture.hpp"
#include "device/writes_c.hpp"
#include "exec/device_environment.hpp"
#include "exec/plan_cache.hpp"
#include "multi/located.hpp"
#include "multi/plan.hpp"
#include "multi/resources.hpp"
#include "multi/run.hpp"
#include "problem/problem.hpp"

namespace kizami::multi {
namespace {

Result<std::shared_ptr<const plan::Plan>> plan_on(int device, const problem::Shape& shape, const Policy& policy) {
  KIZAMI_RETURN_IF_ERROR(set_device(device));
  const Result<plan::Environment> environment = exec::device_environment();
  if (!environment.ok()) return environment.status();
  return exec::cached_plan(shape, policy, environment.value());
}

/// The devices of the placement and of all pieces, to each other.
template <class T>
Status let_all_meet(const MultiPlan& plan, const LocatedProblem<T>& problem) {
  std::vector<int> devices;
  for (const Share& share : plan.shares) devices.push_back(share.device);
  std::vector<int> others = devices;
  const auto add = [&](const auto& matrix) {
    for (const int device : matrix.devices) {
      if (device != kHost) others.push_back(device);
    }
  };
  add(problem.a);
  add(problem.b);
  add(problem.c);
  return let_devices_meet(devices, others);
}

template <class T>
Status multiply(const MultiPlan& plan, const LocatedProblem<T>& problem,
                std::span<const std::span<std::byte>> workspaces, Outcome& outcome) {
  if (problem.c.views.empty()) {
    outcome = {};
    outcome.engine = "none";
    outcome.scheme = plan.whole->first().scheme;
    outcome.gauge = plan.whole->first().gauge;
    return {};
  }
  std::vector<Travels> travels(plan.shares.size());
  for (std::size_t i = 0; i < travels.size(); ++i)
    KIZAMI_RETURN_IF_ERROR(find_travels(plan, plan.shares[i], problem, travels[i]));
  KIZAMI_RETURN_IF_ERROR(let_all_meet(plan, problem));
  if (!workspaces.empty()) return run_shares(plan, problem, travels, workspaces, outcome);
  std::vector<std::unique_ptr<api::StreamMemory>> memories;
  std::vector<std::span<std::byte>> taken;
  // Of the default stream of each device, which the call begins behind.
  for (std::size_t i = 0; i < travels.size(); ++i) {
    const Share& share = plan.shares[i];
    KIZAMI_RETURN_IF_ERROR(set_device(share.device));
    memories.push_back(std::make_unique<api::StreamMemory>(nullptr));
    const Status status =
        memories.back()->allocate(share.device, std::max<std::size_t>(share_bytes(plan, share, travels[i]), 1));
    if (!status.ok()) return {status.code(), "device " + std::to_string(share.device) + ": " + status.reason()};
    taken.push_back(memories.back()->span());
  }
  const Status status = run_shares(plan, problem, travels, std::span<const std::span<std::byte>>(taken), outcome);
  for (std::size_t i = 0; i < memories.size(); ++i) {  // each is given back with its device current
    KIZAMI_RETURN_IF_ERROR(set_device(plan.shares[i].device));
    memories[i].reset();
  }
  return status;
}

Result<Plan> plan_of(Result<MultiPlan> made) {
  if (!made.ok()) return made.status();
  return Plan(std::make_shared<const MultiPlan>(std::move(made).value()));
}

template <class T>
Status run_located(const Plan& plan, T alpha, std::span<const Piece<const std::type_identity_t<T>>> a,
                   std::span<const Piece<const std::type_identity_t<T>>> b, std::type_identity_t<T> beta,
                   std::span<const Piece<std::type_identity_t<T>>> c, std::span<const std::span<std::byte>> workspaces,
                   Outcome* outcome) {
  if (plan.scalar() != kScalarOf<T>) {
    return {StatusCode::kInvalidArgument, "C is " + std::string(to_string(kScalarOf<T>)) + ", the plan is for " +
                                              std::string(to_string(plan.scalar()))};
  }
  if (!workspaces.empty() && workspaces.size() != plan.impl().shares.size()) {
    return {StatusCode::kInvalidArgument, "there are " + std::to_string(workspaces.size()) +
                                              " workspaces, must be none or one for each of " +
                                              std::to_string(plan.impl().shares.size()) + " devices"};
  }
  device::t_writes_c = false;
  const base::RelaxedCapture relaxed;
  const CurrentDevice before;
  LocatedProblem<T> problem;
  KIZAMI_RETURN_IF_ERROR(locate<T>(plan.impl(), alpha, a, b, beta, c, problem));
  Outcome local;
  return device::of_enqueued(multiply(plan.impl(), problem, workspaces, outcome == nullptr ? local : *outcome));
}

}  // namespace

Result<Plan> make_plan(Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k, const Policy& policy,
                       const Placement& placement) {
  KIZAMI_RETURN_IF_ERROR(problem::validate_shape(m, n, k));
  const base::RelaxedCapture relaxed;
  const CurrentDevice before;
  return plan_of(multi::make({scalar, m, n, k}, policy, placement, plan_on));
}

Result<Plan> make_syrk_plan(Scalar scalar, const Syrk& triangle, std::int64_t n, std::int64_t k, const Policy& policy,
                            const Placement& placement) {
  KIZAMI_RETURN_IF_ERROR(problem::validate_shape(n, n, k));
  const problem::Part part{triangle.is_lower ? problem::PartKind::kLower : problem::PartKind::kUpper,
                           triangle.is_hermitian && is_complex(scalar)};
  const base::RelaxedCapture relaxed;
  const CurrentDevice before;
  return plan_of(multi::make_triangle({scalar, n, n, k}, part, policy, placement, plan_on));
}

template <class T>
Status run(const Plan& plan, T alpha, std::span<const Piece<const std::type_identity_t<T>>> a,
           std::span<const Piece<const std::type_identity_t<T>>> b, std::type_identity_t<T> beta,
           std::span<const Piece<std::type_identity_t<T>>> c, std::span<const std::span<std::byte>> workspaces,
           Outcome* outcome) {
  if (!plan.impl().part.is_all())
    return {StatusCode::kInvalidArgument, "the plan is of make_syrk_plan(), must be of make_plan()"};
  return run_located<T>(plan, alpha, a, b, beta, c, workspaces, outcome);
}

template <class T>
Status run_syrk(const Plan& plan, T alpha, std::span<const Piece<const std::type_identity_t<T>>> a,
                std::type_identity_t<T> beta, std::span<const Piece<std::type_identity_t<T>>> c,
                std::span<const std::span<std::byte>> workspaces, Outcome* outcome) {
  if (plan.impl().part.is_all())
    return {StatusCode::kInvalidArgument, "the plan is of make_plan(), must be of make_syrk_plan()"};
  if constexpr (kIsComplex<T>) {
    const auto is_real = [](const T& x) { return x.imag() == 0; };
    if (plan.impl().part.has_real_diagonal && (!is_real(alpha) || !is_real(beta)))
      return {StatusCode::kInvalidArgument, "alpha or beta has an imaginary part, must be real for a Hermitian C"};
  }
  return run_located<T>(plan, alpha, a, {}, beta, c, workspaces, outcome);
}

template <class T>
Status gemm(const Placement& placement, Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k,
            std::type_identity_t<T> alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb,
            std::type_identity_t<T> beta, T* c, std::int64_t ldc, const Policy& policy, Outcome* outcome) {
  KIZAMI_RETURN_IF_ERROR(problem::validate_shape(m, n, k));
  KIZAMI_RETURN_IF_ERROR(problem::validate_leading_dimensions(layout, op_a, op_b, m, n, k, lda, ldb, ldc));
  const Result<Plan> plan = multi::make_plan(kScalarOf<T>, m, n, k, policy, placement);
  if (!plan.ok()) return plan.status();
  const Piece<const T> a_piece{0, 0, api::op_view(layout, op_a, a, m, k, lda)};
  const Piece<const T> b_piece{0, 0, api::op_view(layout, op_b, b, k, n, ldb)};
  const Piece<T> c_piece{0, 0, blas_view(c, m, n, ldc, layout)};
  return multi::run<T>(plan.value(), alpha, {&a_piece, 1}, {&b_piece, 1}, beta, {&c_piece, 1}, {}, outcome);
}

template <class T>
Status syrk(const Placement& placement, Layout layout, const Syrk& triangle, Op op, std::int64_t n, std::int64_t k,
            std::type_identity_t<T> alpha, const T* a, std::int64_t lda, std::type_identity_t<T> beta, T* c,
            std::int64_t ldc, const Policy& policy, Outcome* outcome) {
  KIZAMI_RETURN_IF_ERROR(problem::validate_shape(n, n, k));
  const Op across = is_transposed(op) ? Op::kNone : Op::kTranspose;
  KIZAMI_RETURN_IF_ERROR(problem::validate_leading_dimensions(layout, op, across, n, n, k, lda, lda, ldc));
  const Result<Plan> plan = multi::make_syrk_plan(kScalarOf<T>, triangle, n, k, policy, placement);
  if (!plan.ok()) return plan.status();
  const Piece<const T> a_piece{0, 0, api::op_view(layout, op, a, n, k, lda)};
  const Piece<T> c_piece{0, 0, blas_view(c, n, n, ldc, layout)};
  return multi::run_syrk<T>(plan.value(), alpha, {&a_piece, 1}, beta, {&c_piece, 1}, {}, outcome);
}

#define KIZAMI_INSTANTIATE(T)                                                                                      \
  template Status run<T>(const Plan&, T, std::span<const Piece<const T>>, std::span<const Piece<const T>>, T,      \
                         std::span<const Piece<T>>, std::span<const std::span<std::byte>>, Outcome*);              \
  template Status gemm<T>(const Placement&, Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, T, const T*, \
                          std::int64_t, const T*, std::int64_t, T, T*, std::int64_t, const Policy&, Outcome*);     \
  template Status run_syrk<T>(const Plan&, T, std::span<const Piece<const T>>, T, std::span<const Piece<T>>,       \
                              std::span<const std::span<std::byte>>, Outcome*);                                    \
  template Status syrk<T>(const Placement&, Layout, const Syrk&, Op, std::int64_t, std::int64_t, T, const T*,      \
                          std::int64_t, T, T*, std::int64_t, const Policy&, Outcome*)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::multi
