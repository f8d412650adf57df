// SPDX-License-Identifier: MIT
#include "device/wait.hpp"
#include "device/writes_c.hpp"
#include "fp64/device_left.hpp"
#include "fp64/nonfinite_alpha.hpp"
#include "schemes/ec/device_run.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "base/cuda_status.hpp"
#include "base/phase_range.hpp"
#include "fp64/device.hpp"
#include "problem/lines.hpp"
#include "schemes/ec/device_plan.hpp"
#include "schemes/ec/device_planes_plan.hpp"
#include "schemes/ec/device_planes_run.hpp"
#include "schemes/ec/device_prepare.hpp"
#include "schemes/ec/device_profile.hpp"
#include "schemes/ec/device_split.hpp"

namespace kizami::ec {
namespace {

/// One call: the phases in order, each a member that enqueues what it does.
template <class T>
class EcCall {
 public:
  EcCall(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
         device::DeviceState* state, product::Queue queue, const device::EffortReport& effort)
      : plan_(plan),
        problem_(problem),
        queue_(queue),
        num_sms_(plan.schedule.facts.num_sms),
        effort_(effort),
        is_transposed_(problem.c.row_stride != 1 && problem.c.col_stride == 1) {
    base::Carver carver(workspace);
    buffers_ = carve_device_ec(carver, plan, is_transposed_);
    buffers_.state = state;
    rows_ = problem::lines_of(Side::kA, problem.a);
    columns_ = problem::lines_of(Side::kB, problem.b);
    for (const Side side : {Side::kA, Side::kB}) {
      const device::Prepared* const prepared = problem.prepared(side);
      if (prepared == nullptr) continue;
      base::Carver kept(const_cast<std::byte*>(prepared->memory));  // only read
      kept_[role_of(side)] = carve_device_ec_prepared(kept, plan, prepared->num_lines);
    }
  }

  Status run() {
    int num_reports = 0;
    if (has_kept()) KIZAMI_RETURN_IF_ERROR(adopt(num_reports));
    KIZAMI_RETURN_IF_ERROR(split(num_reports));
    KIZAMI_RETURN_IF_ERROR(decide(num_reports));
    if (plan_.policy.may_sync) KIZAMI_RETURN_IF_ERROR(wait_for_decision());
    if (fp64::is_known_nonfinite(problem_.alpha))
      return device::writes_c(fp64::answer_signs(exceptions(), num_sms_, queue_));
    KIZAMI_RETURN_IF_ERROR(multiply());
    const base::PhaseRange phase(base::Phase::kFp64);
    return fp64::answer_left(exceptions(), num_sms_, queue_);
  }

 private:
  /// Whether a side is the kernels' a (0) or b (1).
  [[nodiscard]] std::size_t role_of(Side side) const { return (side == Side::kA) != is_transposed_ ? 0 : 1; }
  [[nodiscard]] bool has_kept() const { return kept_[0] || kept_[1]; }

  [[nodiscard]] std::int64_t row_stride(int stage) const {
    return product::ec_line_bytes(ec_format(ec_of(plan_).numerics.rungs[static_cast<std::size_t>(stage)]),
                                  plan::num_terms(plan_.shape));
  }
  /// The kernels' operands: C is stored by columns of what they multiply.
  [[nodiscard]] DeviceEcSplit<T> a(int stage) const {
    const DeviceEcLineBuffers& buffers = buffers_.a;
    return {is_transposed_ ? columns_ : rows_, buffers.planes, row_stride(stage), buffers.scales, buffers.stats};
  }
  [[nodiscard]] DeviceEcSplit<T> b(int stage) const {
    const DeviceEcLineBuffers& buffers = buffers_.b;
    return {is_transposed_ ? rows_ : columns_, buffers.planes, row_stride(stage), buffers.scales, buffers.stats};
  }

  /// The planes of the first stage that are multiplied: those that are kept of a prepared operand.
  [[nodiscard]] DeviceEcSplit<T> first_a() const {
    DeviceEcSplit<T> split = a(0);
    if (kept_[0]) split.planes = kept_[0]->as[0].planes;
    return split;
  }
  [[nodiscard]] DeviceEcSplit<T> first_b() const {
    DeviceEcSplit<T> split = b(0);
    if (kept_[1]) split.planes = kept_[1]->as[1].planes;
    return split;
  }

  /// Scales and reports of prepared operands.
  Status adopt(int& num_reports) {
    const auto take = [&](std::size_t role, Side side, const DeviceEcLineBuffers& to, std::int64_t made) -> EcAdoption {
      if (!kept_[role]) return {};
      const int count = problem_.prepared(side)->num_reports[role];
      product::EcReport* const reports = buffers_.reports + num_reports;
      num_reports += count;
      return {&kept_[role]->as[role], made, to.scales, count, reports};
    };
    const product::FloatProductDesc desc = device_ec_product(plan_, ec_of(plan_).numerics.rungs[0], is_transposed_);
    const EcAdoption of_a = take(0, is_transposed_ ? Side::kB : Side::kA, buffers_.a, desc.m);
    const EcAdoption of_b = take(1, is_transposed_ ? Side::kA : Side::kB, buffers_.b, desc.n);
    return adopt_prepared(of_a, of_b, kept_[0] && kept_[1] ? profiles() : nullptr, queue_);
  }

  /// Of calls whose lines may be looked at again; else null.
  [[nodiscard]] num::EcProfiles* profiles() const {
    return ec_of(plan_).numerics.takes_profiles ? buffers_.profiles : nullptr;
  }

  /// Planes of the first stage, with what the decision reads; and profiles of lines where those may be looked at again.
  Status split(int& num_reports) {
    const base::PhaseRange phase(base::Phase::kSplit);
    const EcNumerics& ec = ec_of(plan_).numerics;
    if (!kept_[0] || !kept_[1]) {
      int made = 0;
      KIZAMI_RETURN_IF_ERROR(device_ec_split<T>(
          kept_[0] ? DeviceEcSplit<T>{} : a(0), kept_[1] ? DeviceEcSplit<T>{} : b(0), ec_format(ec.rungs[0]),
          {ec.limits, buffers_.reports + num_reports, profiles()}, problem_.alpha, num_sms_, made, queue_));
      num_reports += made;
    }
    if (profiles() == nullptr) return {};
    return device_ec_profile<T>({buffers_.reports, num_reports, ec.profile_limit, profiles()}, first_a(), first_b(),
                                problem_.alpha, num_sms_, queue_);
  }

  Status decide(int num_reports) {
    const base::PhaseRange phase(base::Phase::kCertificate);
    const EcNumerics& ec = ec_of(plan_).numerics;
    EcDecision decision;
    decision.reports = buffers_.reports;
    decision.num_reports = num_reports;
    decision.profiles = profiles();
    decision.num_stages = ec.num_rungs;
    for (int s = 0; s < ec.num_rungs; ++s) {
      decision.formats[s] = ec_format(ec.rungs[static_cast<std::size_t>(s)]);
    }
    decision.checks_range = ec.checks_range;
    decision.is_transposed = is_transposed_;
    decision.num_pairs = plan_.shape.m * plan_.shape.n;
    decision.state = buffers_.state;
    if (has_kept()) decision.made_product = buffers_.made_product;
    const int last = ec.num_rungs - 1;
    return device_ec_decide<T>(decision, a(last), b(last), problem_.alpha, num_sms_, queue_);
  }

  /// The refusals that only the elements justify.
  Status wait_for_decision() {
    device::DeviceState seen;
    KIZAMI_RETURN_IF_ERROR(device::wait_for_state(buffers_.state, queue_, seen));
    if (plan_.policy.reject_nonfinite) KIZAMI_RETURN_IF_ERROR(device::reject_nonfinite(seen));
    if (seen.ec_stage < 0 && !ec_of(plan_).has_fp64) {
      return {
          StatusCode::kAccuracyUnreachable,
          "the operands are beyond the range of all variants of scheme ec and need FP64 arithmetic, which the policy "
          "forbids"};
    }
    return {};
  }

  /// One launch for both stages: the product of the planes that the decision says are there. With prepared operands two,
  /// for kept planes are not where those of the second stage are; the one that is not wanted ends at once.
  Status multiply() {
    const base::PhaseRange phase(base::Phase::kProduct);
    const EcNumerics& ec = ec_of(plan_).numerics;
    const EcRung& first = ec.rungs[0];
    const product::FloatProductDesc desc = device_ec_product(plan_, first, is_transposed_);
    const auto operand = [&](const DeviceEcSplit<T>& made, std::int64_t num_lines) {
      product::EcOperand operand;
      operand.planes = {made.planes, made.row_stride, made.scales};
      operand.lines.num_lines = num_lines;  // no elements: the FP64 rung answers lines with NaN or Inf
      operand.lines.length = desc.k;
      return operand;
    };
    product::EcProduct p;
    p.format = ec_format(first);
    p.a = operand(first_a(), desc.m);
    p.b = operand(first_b(), desc.n);
    if (ec.num_rungs == 2 && !has_kept()) p.second = {ec_format(ec.rungs[1]), row_stride(1), row_stride(1)};
    p.c = reinterpret_cast<float*>(problem_.c.data);
    p.c_row_stride = std::max<std::int64_t>(is_transposed_ ? problem_.c.col_stride : problem_.c.row_stride, 1);
    p.c_col_stride = is_transposed_ ? problem_.c.row_stride : problem_.c.col_stride;
    if constexpr (kIsComplex<T>) {
      p.is_complex = true;
      p.c_row_stride *= 2;
      p.c_col_stride *= 2;
      p.complex_alpha = problem_.alpha;
      p.complex_beta = problem_.beta;
    } else {
      p.alpha = problem_.alpha;
      p.beta = problem_.beta;
    }
    p.decision = &buffers_.state->ec_product;
    const auto launch = [&] {
      return device::writes_c(ec_of(plan_).device_engine->run(p, ec_promotion(first), plan_.schedule.facts, queue_));
    };
    KIZAMI_RETURN_IF_ERROR(launch());
    if (ec.num_rungs < 2 || !has_kept()) return {};
    p.a = operand(a(0), desc.m);
    p.b = operand(b(0), desc.n);
    p.second = {ec_format(ec.rungs[1]), row_stride(1), row_stride(1)};
    p.decision = buffers_.made_product;
    return launch();
  }

  [[nodiscard]] fp64::DeviceCall<T> exceptions() const {
    fp64::DeviceCall<T> call;
    call.a = rows_;
    call.b = columns_;
    const auto stats = [&](std::size_t role) {
      return kept_[role] ? kept_[role]->stats : role == 0 ? buffers_.a.stats : buffers_.b.stats;
    };
    call.a_stats = stats(role_of(Side::kA));
    call.b_stats = stats(role_of(Side::kB));
    call.summation = ec_of(plan_).fp64_summation;
    call.alpha = problem_.alpha;
    call.beta = problem_.beta;
    call.c = problem_.c;
    call.state = buffers_.state;
    call.effort = effort_;
    return call;
  }

  const plan::Plan& plan_;
  const device::DeviceProblem<T>& problem_;
  product::Queue queue_;
  int num_sms_;
  device::EffortReport effort_;
  bool is_transposed_;
  DeviceEcBuffers buffers_;
  problem::Lines<T> rows_;
  problem::Lines<T> columns_;
  std::optional<DeviceEcPrepared> kept_[2];  ///< of the kernels' a and b
};

}  // namespace

template <class T>
Status run_device_ec(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
                     device::DeviceState* state, product::Queue queue, const device::EffortReport& effort) {
  if (has_device_planes(plan)) return run_device_planes(plan, problem, workspace, state, queue, effort);
  return EcCall<T>(plan, problem, workspace, state, queue, effort).run();
}

Outcome device_ec_outcome(const plan::Plan& plan, const device::DeviceState& state) {
  Outcome outcome;
  outcome.engine = ec_of(plan).engine_name();
  outcome.bound = plan.first().bound;
  outcome.gauge = plan.first().gauge;
  outcome.nonfinite_rows = static_cast<std::int64_t>(state.nonfinite_rows);
  outcome.nonfinite_cols = static_cast<std::int64_t>(state.nonfinite_cols);
  const int stage = has_device_planes(plan) ? 0 : state.ec_stage;
  if (stage >= 0) {
    outcome.scheme = Scheme::kEc;
    outcome.is_conditional = !ec_of(plan).numerics.checks_range;
    outcome.variant = ec_of(plan).numerics.rungs[static_cast<std::size_t>(stage)].recipe.variant;
  } else {
    outcome.scheme = Scheme::kOzaki2;  // its last rung
    outcome.repaired = state.selection.num_repaired;
  }
  return outcome;
}

template Status run_device_ec<float>(const plan::Plan&, const device::DeviceProblem<float>&, std::byte*,
                                     device::DeviceState*, product::Queue, const device::EffortReport&);
template Status run_device_ec<std::complex<float>>(const plan::Plan&, const device::DeviceProblem<std::complex<float>>&,
                                                   std::byte*, device::DeviceState*, product::Queue,
                                                   const device::EffortReport&);

}  // namespace kizami::ec
