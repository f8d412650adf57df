// SPDX-License-Identifier: MIT
#include "kizami/plan.hpp"

#include <utility>

#include "exec/plan_cache.hpp"
#include "exec/prepared.hpp"
#include "exec/run.hpp"
#include "plan/plan.hpp"

namespace kizami {

Scalar Plan::scalar() const { return impl_->shape.scalar; }
std::int64_t Plan::m() const { return impl_->shape.m; }
std::int64_t Plan::n() const { return impl_->shape.n; }
std::int64_t Plan::k() const { return impl_->shape.k; }
Scheme Plan::scheme() const { return impl_->numerics.scheme; }
std::string_view Plan::engine() const {
  return impl_->schedule.engine == nullptr ? "native_blas" : impl_->schedule.engine->name();
}
double Plan::bound() const { return impl_->numerics.bound; }
Gauge Plan::gauge() const { return impl_->numerics.gauge; }
int Plan::base_moduli() const { return impl_->numerics.ladder.rungs[0].num_moduli; }
int Plan::max_moduli() const {
  const num::Ladder& ladder = impl_->numerics.ladder;
  return ladder.num_rungs == 0 ? 0 : ladder.rungs[static_cast<std::size_t>(ladder.num_rungs - 1)].num_moduli;
}
std::size_t Plan::workspace_bytes() const { return impl_->schedule.workspace_bytes; }
double Plan::predicted_seconds() const { return impl_->schedule.seconds; }
std::uint64_t Plan::numerics_hash() const { return plan::numerics_hash(*impl_); }
std::string Plan::explain() const { return plan::explain(*impl_); }

Result<Plan> make_plan(Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k, const Policy& policy) {
  auto plan = exec::cached_plan({scalar, m, n, k}, policy);
  if (!plan.ok()) return plan.status();
  return Plan(std::move(plan).value());
}

Side PreparedOperand::side() const { return impl_->side; }
std::size_t PreparedOperand::size_bytes() const { return impl_->memory.size(); }

template <class T>
Result<PreparedOperand> prepare(const Plan& plan, Side side, MatrixView<const T> op) {
  if (plan.scalar() != kScalarOf<T>) {
    return Status(StatusCode::kInvalidArgument, "operand is " + std::string(to_string(kScalarOf<T>)) +
                                                    ", the plan is for " + std::string(to_string(plan.scalar())));
  }
  const bool is_a = side == Side::kA;
  KIZAMI_RETURN_IF_ERROR(
      problem::validate_operand(is_a ? "A" : "B", op, is_a ? plan.m() : plan.k(), is_a ? plan.k() : plan.n()));
  auto prepared = std::make_shared<exec::Prepared>();
  KIZAMI_RETURN_IF_ERROR(exec::prepare(plan.impl(), side, problem::lines_of(side, op), *prepared));
  return PreparedOperand(std::move(prepared));
}

template <class T>
Status run(const Plan& plan, T alpha, std::type_identity_t<Operand<T>> op_a, std::type_identity_t<Operand<T>> op_b,
           T beta, MatrixView<T> c, std::span<std::byte> workspace, Outcome* outcome) {
  if (plan.scalar() != kScalarOf<T>) {
    return {StatusCode::kInvalidArgument, "C is " + std::string(to_string(kScalarOf<T>)) + ", the plan is for " +
                                              std::string(to_string(plan.scalar()))};
  }
  const auto impl_of = [](const PreparedOperand* p) { return p == nullptr ? nullptr : &p->impl(); };
  const auto matrix_of = [](const Operand<T>& operand, std::int64_t rows, std::int64_t cols) {
    return operand.prepared != nullptr && operand.matrix.data == nullptr
               ? MatrixView<const T>{nullptr, rows, cols, 1, rows}
               : operand.matrix;
  };
  Outcome local;
  return exec::run<T>(plan.impl(),
                      {alpha, matrix_of(op_a, plan.m(), plan.k()), matrix_of(op_b, plan.k(), plan.n()), beta, c},
                      impl_of(op_a.prepared), impl_of(op_b.prepared), workspace, outcome == nullptr ? local : *outcome);
}

#define KIZAMI_INSTANTIATE(T)                                                                                   \
  template Result<PreparedOperand> prepare<T>(const Plan&, Side, MatrixView<const T>);                          \
  template Status run<T>(const Plan&, T, std::type_identity_t<Operand<T>>, std::type_identity_t<Operand<T>>, T, \
                         MatrixView<T>, std::span<std::byte>, Outcome*)

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami
