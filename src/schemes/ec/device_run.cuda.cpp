// SPDX-License-Identifier: MIT
#include "schemes/ec/device_run.hpp"
#include "device/pointer_upload.hpp"
#include "device/wait.hpp"
#include "device/writes_c.hpp"
#include "fp64/device_calls.hpp"
#include "fp64/device_left.hpp"
#include "fp64/nonfinite_alpha.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/cuda_status.hpp"
#include "base/phase_range.hpp"
#include "fp64/device.hpp"
#include "problem/lines.hpp"
#include "schemes/ec/device_decide.hpp"
#include "schemes/ec/device_plan.hpp"
#include "schemes/ec/device_planes_plan.hpp"
#include "schemes/ec/device_planes_run.hpp"
#include "schemes/ec/device_prepare.hpp"
#include "schemes/ec/device_profile.hpp"
#include "schemes/ec/device_split.hpp"

namespace kizami::ec {
namespace {

static_assert(fp64::DeviceCalls<float>::kMost >= product::kMostEcProducts);

/// Whether the kernels' a is the columns of op(B).
template <class T>
[[nodiscard]] bool is_transposed(const MatrixView<T>& c) {
  return c.row_stride != 1 && c.col_stride == 1;
}

/// One call, of one product or several: the phases in order, each a member that enqueues what it does.
template <class T>
class EcCall {
 public:
  /// @param state one for each product
  EcCall(const plan::Plan& plan, const EcBatch<T>& batch, const DeviceEcBuffers& buffers, device::DeviceState* state,
         product::Queue queue, const device::EffortReport& effort)
      : plan_(plan),
        batch_(batch),
        problem_(batch.first),
        queue_(queue),
        num_sms_(plan.schedule.facts.num_sms),
        effort_(effort),
        is_transposed_(is_transposed(problem_.c)),
        buffers_(buffers),
        rows_(problem::lines_of(Side::kA, problem_.a)),
        columns_(problem::lines_of(Side::kB, problem_.b)) {
    buffers_.state = state;
    for (const Side side : {Side::kA, Side::kB}) {
      const device::Prepared* const prepared = problem_.prepared(side);
      if (prepared == nullptr) continue;
      base::Carver kept(const_cast<std::byte*>(prepared->memory));  // only read
      kept_[role_of(side)] = carve_device_ec_prepared(kept, plan, prepared->num_lines);
    }
    // Two real operands of the same lines have the same planes, and a product of all of C, or a batch, makes both.
    is_split_once_ = !problem_.part.is_all() && !kIsComplex<T> && has_same_lines(problem_) && !has_kept();
    if (is_split_once_) buffers_.b = buffers_.a;
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
    if (is_batch()) return fp64::answer_left_of_all(exceptions_of_all(), num_sms_, queue_);
    if (!decision_answers()) return fp64::answer_left(exceptions(), num_sms_, queue_);
    if (problem_.alpha.device == nullptr) return {};
    return device::writes_c(fp64::answer_signs(exceptions_told(), num_sms_, queue_));
  }

 private:
  /// Whether a side is the kernels' a (0) or b (1).
  [[nodiscard]] std::size_t role_of(Side side) const { return (side == Side::kA) != is_transposed_ ? 0 : 1; }
  [[nodiscard]] bool has_kept() const { return kept_[0] || kept_[1]; }
  /// Whether the FP64 rung comes with the decision, and so before the product: not where the host may yet refuse the call, or knows that signs
  /// answer it.
  [[nodiscard]] bool decision_answers() const {
    return !is_batch() && !plan_.policy.may_sync && !fp64::is_known_nonfinite(problem_.alpha);
  }
  /// Of the lines of the kernels' a (0) or b (1).
  [[nodiscard]] num::LineStats* stats(std::size_t role) const {
    if (kept_[role]) return kept_[role]->stats;
    return role == 0 ? buffers_.a.stats : buffers_.b.stats;
  }

  [[nodiscard]] std::int64_t row_stride(int stage) const {
    return product::ec_line_bytes(ec_format(ec_of(plan_).numerics.rungs[static_cast<std::size_t>(stage)]),
                                  plan::num_terms(plan_.shape));
  }
  /// Also of a last part of one product that arrays find.
  [[nodiscard]] bool is_batch() const { return batch_.num_products > 1 || batch_.c_array != nullptr; }
  [[nodiscard]] EcTogether together() const {
    return {static_cast<std::int32_t>(batch_.num_products), buffers_.reports_step};
  }
  /// The kernels' operands: C is stored by columns of what they multiply.
  [[nodiscard]] DeviceEcSplits<T> a(int stage) const {
    return operand(is_transposed_ ? Side::kB : Side::kA, buffers_.a, stage);
  }
  [[nodiscard]] DeviceEcSplits<T> b(int stage) const {
    return operand(is_transposed_ ? Side::kA : Side::kB, buffers_.b, stage);
  }
  [[nodiscard]] DeviceEcSplits<T> operand(Side side, const DeviceEcLineBuffers& buffers, int stage) const {
    DeviceEcSplits<T> split{
        {side == Side::kA ? rows_ : columns_, buffers.planes, row_stride(stage), buffers.scales, stats(role_of(side))}};
    if (!is_batch()) return split;
    split.array = side == Side::kA ? batch_.a_array : batch_.b_array;
    split.data_step = side == Side::kA ? batch_.a_step : batch_.b_step;
    if (split.is_shared()) {  // in room that other operands have for each product: a place for each stage
      split.planes += stage * buffers.planes_step;
      split.scales += stage * buffers.scales_step;
      return split;
    }
    split.planes_step = buffers.planes_step;
    split.scales_step = buffers.scales_step;
    split.stats_step = buffers.stats_step;
    return split;
  }

  /// What a launch makes of the kernels' b: nothing where a is of both.
  [[nodiscard]] DeviceEcSplits<T> made_b(int stage) const { return is_split_once_ ? DeviceEcSplits<T>{} : b(stage); }

  /// The planes of the first stage that are multiplied: those that are kept of a prepared operand.
  [[nodiscard]] DeviceEcSplits<T> first_a() const {
    DeviceEcSplits<T> split = a(0);
    if (kept_[0]) split.planes = kept_[0]->as[0].planes;
    return split;
  }
  [[nodiscard]] DeviceEcSplits<T> first_b() const {
    DeviceEcSplits<T> split = b(0);
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
      const EcObservation observation{ec.limits, buffers_.reports + num_reports, profiles()};
      const product::EcFormat format = ec_format(ec.rungs[0]);
      int made = 0;
      if (is_batch()) {
        KIZAMI_RETURN_IF_ERROR(device_ec_split_batch<T>(together(), a(0), b(0), format, observation, problem_.alpha,
                                                        num_sms_, made, queue_));
      } else {
        KIZAMI_RETURN_IF_ERROR(device_ec_split<T>(kept_[0] ? DeviceEcSplit<T>{} : a(0),
                                                  kept_[1] ? DeviceEcSplit<T>{} : made_b(0), format, observation,
                                                  problem_.alpha, num_sms_, made, queue_));
      }
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
    decision.is_of_both = is_split_once_;
    decision.num_pairs = plan_.shape.m * plan_.shape.n;
    decision.state = buffers_.state;
    if (has_kept()) decision.made_product = buffers_.made_product;
    const int last = ec.num_rungs - 1;
    if (is_batch())
      return device_ec_decide_batch<T>(together(), decision, a(last), b(last), problem_.alpha, num_sms_, queue_);
    if (!decision_answers())
      return device_ec_decide<T>(decision, a(last), made_b(last), problem_.alpha, num_sms_, queue_);
    return device::writes_c(
        device_ec_decide_and_answer<T>(decision, a(last), made_b(last), exceptions(), num_sms_, queue_));
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
    const auto planes = [](const DeviceEcSplits<T>& made) -> product::EcPlanes {
      return {made.planes, made.row_stride, made.scales, made.planes_step, made.scales_step};
    };
    const auto taken = [&](const DeviceEcSplits<T>& made, std::int64_t num_lines) {
      product::EcOperand operand;
      operand.planes = planes(made);
      operand.lines.num_lines = num_lines;  // no elements: the FP64 rung answers lines with NaN or Inf
      operand.lines.length = desc.k;
      return operand;
    };
    product::EcProduct p;
    p.format = ec_format(first);
    p.a = taken(first_a(), desc.m);
    p.b = taken(first_b(), desc.n);
    if (ec.num_rungs == 2 && !has_kept()) p.second = {ec_format(ec.rungs[1]), planes(a(1)), planes(b(1))};
    p.num_products = static_cast<std::int32_t>(batch_.num_products);
    p.c = reinterpret_cast<float*>(problem_.c.data);
    p.c_array = reinterpret_cast<float* const*>(batch_.c_array);
    p.c_product_stride = batch_.c_step * problem::kTerms<T>;
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
    p.decision_stride = sizeof(device::DeviceState) / sizeof(std::int32_t);
    const auto launch = [&] {
      const product::EcEngine& engine = *ec_of(plan_).device_engine;
      if (problem_.part.is_all())
        return device::writes_c(engine.run(p, ec_promotion(first), plan_.schedule.facts, queue_));
      const bool is_lower =
          (problem_.part.kind == problem::PartKind::kLower) != is_transposed_;  // of what kernels make
      return device::writes_c(product::triangles_of(&engine)->run_triangle(p, is_lower, ec_promotion(first), queue_));
    };
    KIZAMI_RETURN_IF_ERROR(launch());
    if (ec.num_rungs < 2 || !has_kept()) return {};
    p.a = taken(a(0), desc.m);
    p.b = taken(b(0), desc.n);
    p.second = {ec_format(ec.rungs[1]), planes(a(1)), planes(b(1))};
    p.decision = buffers_.made_product;
    return launch();
  }

  [[nodiscard]] fp64::DeviceCall<T> exceptions() const {
    fp64::DeviceCall<T> call;
    call.a = rows_;
    call.b = columns_;
    call.a_stats = stats(role_of(Side::kA));
    call.b_stats = stats(role_of(Side::kB));
    call.summation = ec_of(plan_).fp64_summation;
    call.alpha = problem_.alpha;
    call.beta = problem_.beta;
    call.c = problem_.c;
    call.part = problem_.part;
    call.state = buffers_.state;
    call.effort = effort_;
    return call;
  }
  [[nodiscard]] fp64::DeviceCall<T> exceptions_told() const {
    fp64::DeviceCall<T> call = exceptions();
    call.effort = {};
    return call;
  }
  [[nodiscard]] fp64::DeviceCalls<T> exceptions_of_all() const {
    fp64::DeviceCalls<T> calls{exceptions()};
    calls.num_calls = batch_.num_products;
    calls.a_array = batch_.a_array;
    calls.b_array = batch_.b_array;
    calls.c_array = batch_.c_array;
    calls.a_step = batch_.a_step;
    calls.b_step = batch_.b_step;
    calls.c_step = batch_.c_step;
    calls.a_stats_step = (is_transposed_ ? b(0) : a(0)).stats_step;
    calls.b_stats_step = (is_transposed_ ? a(0) : b(0)).stats_step;
    return calls;
  }

  const plan::Plan& plan_;
  const EcBatch<T>& batch_;
  const device::DeviceProblem<T>& problem_;
  product::Queue queue_;
  int num_sms_;
  device::EffortReport effort_;
  bool is_transposed_;
  bool is_split_once_ = false;
  DeviceEcBuffers buffers_;
  problem::Lines<T> rows_;
  problem::Lines<T> columns_;
  std::optional<DeviceEcPrepared> kept_[2];  ///< of the kernels' a and b
};

/// Elements from each matrix to the next one, if that is the same for all.
template <class T, class MatrixOf>
[[nodiscard]] std::optional<std::int64_t> common_step(std::span<const device::DeviceProblem<T>> problems,
                                                      const MatrixOf& matrix_of) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  const auto address = [&](std::size_t i) {
    return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(matrix_of(problems[i]).data));
  };
  const std::int64_t bytes = address(1) - address(0);
  if (bytes % kSize != 0) return std::nullopt;
  for (std::size_t i = 2; i < problems.size(); ++i) {
    if (address(i) - address(i - 1) != bytes) return std::nullopt;
  }
  return bytes / kSize;
}

template <class T>
[[nodiscard]] bool have_one_layout(std::span<const device::DeviceProblem<T>> problems) {
  const auto is_like = [](const auto& x, const auto& y) {
    return x.row_stride == y.row_stride && x.col_stride == y.col_stride && x.is_conjugated == y.is_conjugated;
  };
  return std::all_of(problems.begin(), problems.end(), [&](const device::DeviceProblem<T>& problem) {
    const device::DeviceProblem<T>& first = problems[0];
    return is_like(problem.a, first.a) && is_like(problem.b, first.b) && is_like(problem.c, first.c);
  });
}

/// One part of a batch, in the workspace of as many products as the plan takes together.
template <class T>
Status run_part(const plan::Plan& plan, const EcBatch<T>& part, const DeviceEcBuffers& buffers,
                device::DeviceState* states, product::Queue queue, const device::EffortReport& effort) {
  return EcCall<T>(plan, part, buffers, states, queue, effort).run();
}

/// Enqueues the parts of a batch. run_one(first product, their number, effort of the part)
template <class RunOne>
Status run_parts(const plan::Plan& plan, const device::EffortReport& effort, const RunOne& run_one) {
  const std::int64_t num_products = plan.schedule.batch.num_products;
  const std::int64_t together = ec_of(plan).products_together;
  for (std::int64_t begin = 0; begin < num_products; begin += together) {
    const std::int64_t count = std::min(together, num_products - begin);
    const bool is_last = begin + count == num_products;
    KIZAMI_RETURN_IF_ERROR(run_one(begin, count, is_last ? effort : device::EffortReport{}));
  }
  return {};
}

[[nodiscard]] DeviceEcBuffers carve_together(const plan::Plan& plan, std::byte* workspace, bool is_transposed) {
  base::Carver carver(workspace);
  return carve_device_ec(carver, plan, is_transposed, ec_of(plan).products_together);
}

}  // namespace

template <class T>
bool takes_together(const plan::Plan& plan, const Factor<T>& alpha) {
  return ec_of(plan).products_together > 1 && !fp64::is_known_nonfinite(alpha);
}

template <class T>
Status run_device_ec_batch(const plan::Plan& plan, const EcBatch<T>& batch, std::byte* workspace,
                           device::DeviceState* states, product::Queue queue, const device::EffortReport& effort) {
  const DeviceEcBuffers buffers = carve_together(plan, workspace, is_transposed(batch.first.c));
  return run_parts(plan, effort, [&](std::int64_t begin, std::int64_t count, const device::EffortReport& of_part) {
    return run_part(plan, batch.part(begin, count), buffers, states + begin, queue, of_part);
  });
}

template <class T>
Status run_device_ec_batch(const plan::Plan& plan, std::span<const device::DeviceProblem<T>> problems,
                           std::byte* workspace, device::DeviceState* states, product::Queue queue,
                           const device::EffortReport& effort, bool& is_answered) {
  is_answered = have_one_layout(problems);
  if (!is_answered) return {};
  EcBatch<T> batch{problems[0], plan.schedule.batch.num_products};
  const auto a_step = common_step(problems, [](const auto& problem) { return problem.a; });
  const auto b_step = common_step(problems, [](const auto& problem) { return problem.b; });
  const auto c_step = common_step(problems, [](const auto& problem) { return problem.c; });
  if (a_step && b_step && c_step) {
    batch.a_step = *a_step;
    batch.b_step = *b_step;
    batch.c_step = *c_step;
    return run_device_ec_batch(plan, batch, workspace, states, queue, effort);
  }
  const DeviceEcBuffers buffers = carve_together(plan, workspace, is_transposed(batch.first.c));
  return run_parts(plan, effort, [&](std::int64_t begin, std::int64_t count, const device::EffortReport& of_part) {
    const auto part = problems.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
    std::vector<void*> pointers;
    pointers.reserve(3 * part.size());
    for (const device::DeviceProblem<T>& problem : part) pointers.push_back(const_cast<T*>(problem.a.data));  // read
    for (const device::DeviceProblem<T>& problem : part) pointers.push_back(const_cast<T*>(problem.b.data));
    for (const device::DeviceProblem<T>& problem : part) pointers.push_back(problem.c.data);
    KIZAMI_RETURN_IF_ERROR(device::upload_pointers(pointers, buffers.pointers, queue));
    batch.num_products = count;
    batch.a_array = reinterpret_cast<const T* const*>(buffers.pointers);
    batch.b_array = reinterpret_cast<const T* const*>(buffers.pointers + count);
    batch.c_array = reinterpret_cast<T* const*>(buffers.pointers + 2 * count);
    return run_part(plan, batch, buffers, states + begin, queue, of_part);
  });
}

template <class T>
Status run_device_ec(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
                     device::DeviceState* state, product::Queue queue, const device::EffortReport& effort) {
  if (has_device_planes(plan)) return run_device_planes(plan, problem, workspace, state, queue, effort);
  base::Carver carver(workspace);
  const DeviceEcBuffers buffers = carve_device_ec(carver, plan, is_transposed(problem.c));
  return EcCall<T>(plan, EcBatch<T>{problem}, buffers, state, queue, effort).run();
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

#define KIZAMI_INSTANTIATE(T)                                                                                       \
  template bool takes_together<T>(const plan::Plan&, const Factor<T>&);                                             \
  template Status run_device_ec_batch<T>(const plan::Plan&, const EcBatch<T>&, std::byte*, device::DeviceState*,    \
                                         product::Queue, const device::EffortReport&);                              \
  template Status run_device_ec_batch<T>(const plan::Plan&, std::span<const device::DeviceProblem<T>>, std::byte*,  \
                                         device::DeviceState*, product::Queue, const device::EffortReport&, bool&); \
  template Status run_device_ec<T>(const plan::Plan&, const device::DeviceProblem<T>&, std::byte*,                  \
                                   device::DeviceState*, product::Queue, const device::EffortReport&)

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(std::complex<float>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ec
