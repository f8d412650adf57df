// SPDX-License-Identifier: MIT
#include "kizami/plan.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/instantiate.hpp"
#include "exec/batch.hpp"
#include "exec/environment.hpp"
#include "exec/plan_cache.hpp"
#include "exec/prepared.hpp"
#include "exec/run.hpp"
#include "plan/plan.hpp"
#include "schemes/ec/stage.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami {

Scalar Plan::scalar() const { return impl_->shape.scalar; }
std::int64_t Plan::m() const { return impl_->shape.m; }
std::int64_t Plan::n() const { return impl_->shape.n; }
std::int64_t Plan::k() const { return impl_->shape.k; }
std::int64_t Plan::num_products() const { return impl_->schedule.batch.num_products; }
Scheme Plan::scheme() const { return impl_->first().scheme; }
EcVariant Plan::variant() const {
  return scheme() == Scheme::kEc ? ec::ec_of(*impl_).numerics.rungs[0].recipe.variant : EcVariant::kAuto;
}
std::string_view Plan::engine() const { return impl_->first().engine_name(); }
double Plan::bound() const {
  double bound = 0;
  for (const base::Cloned<plan::Stage>& stage : impl_->stages) bound = std::max(bound, stage->bound);
  return bound;
}
Gauge Plan::gauge() const { return impl_->first().gauge; }
int Plan::base_moduli() const {
  return scheme() == Scheme::kNative ? 0 : ozaki2::ozaki2_of(*impl_).ladder.rungs[0].num_moduli;
}
int Plan::max_moduli() const {
  const num::Ladder& ladder = ozaki2::ozaki2_of(*impl_).ladder;
  const bool has_none = scheme() == Scheme::kNative || ladder.num_rungs == 0;
  return has_none ? 0 : ladder.rungs[static_cast<std::size_t>(ladder.num_rungs - 1)].num_moduli;
}
std::size_t Plan::workspace_bytes() const { return impl_->schedule.workspace_bytes; }
double Plan::predicted_seconds() const { return impl_->schedule.seconds; }
std::uint64_t Plan::numerics_hash() const { return plan::numerics_hash(*impl_); }
std::string Plan::explain() const { return plan::explain(*impl_); }

Result<Plan> make_plan(Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k, const Policy& policy) {
  auto plan = exec::cached_plan({scalar, m, n, k}, policy, exec::environment());
  if (!plan.ok()) return plan.status();
  return Plan(std::move(plan).value());
}

namespace {

/// @status kInvalidArgument unless the plan is for elements of that type, in host memory
Status validate_plan(const char* what, Scalar scalar, const Plan& plan) {
  if (plan.scalar() != scalar) {
    return {StatusCode::kInvalidArgument, std::string(what) + " is " + std::string(to_string(scalar)) +
                                              ", the plan is for " + std::string(to_string(plan.scalar()))};
  }
  if (plan.impl().schedule.facts.space == product::MemorySpace::kHost) return {};
  return {StatusCode::kInvalidArgument, "the plan is for operands in device memory"};
}

}  // namespace

Side PreparedOperand::side() const { return impl_->side; }
std::size_t PreparedOperand::size_bytes() const { return impl_->memory.size(); }

template <class T>
Result<PreparedOperand> prepare(const Plan& plan, Side side, MatrixView<const T> op) {
  KIZAMI_RETURN_IF_ERROR(validate_plan("operand", kScalarOf<T>, plan));
  const bool is_a = side == Side::kA;
  KIZAMI_RETURN_IF_ERROR(
      problem::validate_operand(is_a ? "A" : "B", op, is_a ? plan.m() : plan.k(), is_a ? plan.k() : plan.n()));
  auto prepared = std::make_shared<schemes::Prepared>();
  KIZAMI_RETURN_IF_ERROR(exec::prepare(plan.impl(), side, problem::lines_of(side, op), *prepared));
  return PreparedOperand(std::move(prepared));
}

template <class T>
Status run(const Plan& plan, T alpha, std::type_identity_t<Operand<T>> op_a, std::type_identity_t<Operand<T>> op_b,
           T beta, MatrixView<T> c, std::span<std::byte> workspace, Outcome* outcome) {
  KIZAMI_RETURN_IF_ERROR(validate_plan("C", kScalarOf<T>, plan));
  const auto impl_of = [](const PreparedOperand* p) { return p == nullptr ? nullptr : &p->impl(); };
  const auto matrix_of = [](const Operand<T>& operand, std::int64_t rows, std::int64_t cols) {
    return operand.prepared != nullptr && operand.matrix.data == nullptr
               ? MatrixView<const T>{nullptr, rows, cols, 1, rows}
               : operand.matrix;
  };
  Outcome local;
  return exec::run<T, T>(
      plan.impl(), {alpha, matrix_of(op_a, plan.m(), plan.k()), matrix_of(op_b, plan.k(), plan.n()), beta, c},
      impl_of(op_a.prepared), impl_of(op_b.prepared), workspace, outcome == nullptr ? local : *outcome);
}

template <class In>
Status run_dd(const Plan& plan, DoubleDouble alpha, MatrixView<const In> a, MatrixView<const In> b, DoubleDouble beta,
              MatrixView<DoubleDouble> c, std::span<std::byte> workspace, Outcome* outcome) {
  KIZAMI_RETURN_IF_ERROR(validate_plan("C", Scalar::kDD, plan));
  Outcome local;
  return exec::run<DoubleDouble, In>(plan.impl(), {alpha, a, b, beta, c}, nullptr, nullptr, workspace,
                                     outcome == nullptr ? local : *outcome);
}

template <class T>
Status run_batched(const Plan& plan, T alpha, std::span<const MatrixView<const T>> a,
                   std::span<const MatrixView<const T>> b, T beta, std::span<const MatrixView<T>> c,
                   std::span<Outcome> outcomes) {
  KIZAMI_RETURN_IF_ERROR(validate_plan("C", kScalarOf<T>, plan));
  if (a.size() != c.size() || b.size() != c.size() || (!outcomes.empty() && outcomes.size() != c.size())) {
    return {StatusCode::kInvalidArgument, "the batch has " + std::to_string(a.size()) + " matrices A, " +
                                              std::to_string(b.size()) + " matrices B, " + std::to_string(c.size()) +
                                              " matrices C and " + std::to_string(outcomes.size()) +
                                              " outcomes, must be as many of each (or no outcomes)"};
  }
  std::vector<problem::Problem<T>> problems;
  problems.reserve(c.size());
  for (std::size_t i = 0; i < c.size(); ++i) problems.push_back({alpha, a[i], b[i], beta, c[i]});
  return exec::run_batched<T>(plan.impl(), problems, outcomes);
}

template Status run_dd<double>(const Plan&, DoubleDouble, MatrixView<const double>, MatrixView<const double>,
                               DoubleDouble, MatrixView<DoubleDouble>, std::span<std::byte>, Outcome*);
template Status run_dd<DoubleDouble>(const Plan&, DoubleDouble, MatrixView<const DoubleDouble>,
                                     MatrixView<const DoubleDouble>, DoubleDouble, MatrixView<DoubleDouble>,
                                     std::span<std::byte>, Outcome*);

#define KIZAMI_INSTANTIATE(T)                                                                                   \
  template Result<PreparedOperand> prepare<T>(const Plan&, Side, MatrixView<const T>);                          \
  template Status run<T>(const Plan&, T, std::type_identity_t<Operand<T>>, std::type_identity_t<Operand<T>>, T, \
                         MatrixView<T>, std::span<std::byte>, Outcome*);                                        \
  template Status run_batched<T>(const Plan&, T, std::span<const MatrixView<const T>>,                          \
                                 std::span<const MatrixView<const T>>, T, std::span<const MatrixView<T>>,       \
                                 std::span<Outcome>)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami
