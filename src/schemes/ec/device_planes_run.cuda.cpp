// SPDX-License-Identifier: MIT
#include "schemes/ec/device_planes_run.hpp"

#include <cuda_runtime_api.h>

#include <complex>
#include <string>
#include <variant>

#include "base/phase_range.hpp"
#include "certify/device_begin.hpp"
#include "certify/device_statistics.hpp"
#include "device/wait.hpp"
#include "device/writes_c.hpp"
#include "fp64/device.hpp"
#include "fp64/device_left.hpp"
#include "fp64/nonfinite_alpha.hpp"
#include "problem/lines.hpp"
#include "schemes/ec/device_float_planes.hpp"
#include "schemes/ec/device_float_sums.hpp"
#include "schemes/ec/device_planes_plan.hpp"
#include "schemes/ec/plan.hpp"

namespace kizami::ec {
namespace {

using problem::RealForm;

/// One call: the phases in order, each a member that enqueues what it does.
template <class T>
class PlanesCall {
 public:
  PlanesCall(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
             device::DeviceState* state, product::Queue queue, const device::EffortReport& effort)
      : plan_(plan),
        rung_(ec_of(plan).numerics.rungs[0]),
        problem_(problem),
        queue_(queue),
        num_sms_(plan.schedule.facts.num_sms),
        effort_(effort) {
    base::Carver carver(workspace);
    buffers_ = carve_device_planes(carver, plan);
    buffers_.state = state;
    rows_ = problem::lines_of(Side::kA, problem.a);
    columns_ = problem::lines_of(Side::kB, problem.b);
  }

  Status run() {
    device::DeviceState* const state = buffers_.state;
    KIZAMI_RETURN_IF_ERROR(
        certify::begin_state(state, problem_.alpha, 0, plan_.shape.m * plan_.shape.n, /*rung=*/0, queue_));
    KIZAMI_RETURN_IF_ERROR(
        certify::device_statistics(rows_, buffers_.a.stats, {}, &state->nonfinite_rows, state, num_sms_, queue_));
    KIZAMI_RETURN_IF_ERROR(
        certify::device_statistics(columns_, buffers_.b.stats, {}, &state->nonfinite_cols, state, num_sms_, queue_));
    if (plan_.policy.may_sync && plan_.policy.reject_nonfinite) KIZAMI_RETURN_IF_ERROR(reject_nonfinite());
    if (fp64::is_known_nonfinite(problem_.alpha))
      return device::writes_c(fp64::answer_signs(exceptions(), num_sms_, queue_));
    KIZAMI_RETURN_IF_ERROR(multiply());
    KIZAMI_RETURN_IF_ERROR(finish());
    const base::PhaseRange phase(base::Phase::kFp64);
    return fp64::answer_left(exceptions(), num_sms_, queue_);
  }

 private:
  Status reject_nonfinite() {
    device::DeviceState seen;
    KIZAMI_RETURN_IF_ERROR(device::wait_for_state(buffers_.state, queue_, seen));
    return device::reject_nonfinite(seen);
  }

  Status split(const problem::Lines<T>& lines, RealForm form, const DevicePlaneBuffers& buffers,
               std::int64_t row_stride, std::int64_t plane_stride) {
    const base::PhaseRange phase(base::Phase::kSplit);
    return device_float_planes<T>(
        {lines, form, buffers.stats, buffers.scales, buffers.planes, row_stride, plane_stride}, rung_.recipe,
        buffers_.state, queue_);
  }

  /// One product, or those of both parts of a complex one. The planes of A serve both.
  Status multiply() {
    const product::FloatProductDesc desc = ec_product(plan_, 0);
    const product::FloatEngine& engine = *ec_of(plan_).engine;
    const auto answer = engine.query(desc, plan_.schedule.facts);
    if (const auto* const refusal = std::get_if<product::Refusal>(&answer)) {
      return {StatusCode::kInternal,
              "engine " + std::string(engine.name()) + " refused a planned product: " + refusal->reason};
    }
    constexpr RealForm kForms[2] = {kIsComplex<T> ? RealForm::kRealPart : RealForm::kPlain, RealForm::kImagPart};
    KIZAMI_RETURN_IF_ERROR(split(rows_, RealForm::kPlain, buffers_.a, desc.a_row_stride, desc.a_plane_stride));
    for (int p = 0; p < ec_products(plan_); ++p) {
      KIZAMI_RETURN_IF_ERROR(split(columns_, kForms[p], buffers_.b, desc.b_row_stride, desc.b_plane_stride));
      const base::PhaseRange phase(base::Phase::kProduct);
      KIZAMI_RETURN_IF_ERROR(engine.run(desc, std::get<product::Offer>(answer),
                                        {buffers_.a.planes, buffers_.b.planes, buffers_.sums + p * form_stride()},
                                        buffers_.engine, queue_));
    }
    return {};
  }

  Status finish() {
    const base::PhaseRange phase(base::Phase::kReconstruction);
    DeviceFloatSums<T> task;
    task.sums = {buffers_.sums, plan_.shape.m, form_stride()};
    task.row_scales = buffers_.a.scales;
    task.col_scales = buffers_.b.scales;
    task.alpha = problem_.alpha;
    task.beta = problem_.beta;
    task.c = problem_.c;
    task.state = buffers_.state;
    return device::writes_c(device_float_sums(task, num_sms_, queue_));
  }

  [[nodiscard]] std::int64_t form_stride() const { return plan_.shape.m * plan_.shape.n; }

  [[nodiscard]] fp64::DeviceCall<T> exceptions() const {
    fp64::DeviceCall<T> call;
    call.a = rows_;
    call.b = columns_;
    call.a_stats = buffers_.a.stats;
    call.b_stats = buffers_.b.stats;
    call.summation = ec_of(plan_).fp64_summation;
    call.alpha = problem_.alpha;
    call.beta = problem_.beta;
    call.c = problem_.c;
    call.state = buffers_.state;
    call.effort = effort_;
    return call;
  }

  const plan::Plan& plan_;
  const EcRung& rung_;
  const device::DeviceProblem<T>& problem_;
  product::Queue queue_;
  int num_sms_;
  device::EffortReport effort_;
  DevicePlanesBuffers buffers_;
  problem::Lines<T> rows_;
  problem::Lines<T> columns_;
};

}  // namespace

template <class T>
Status run_device_planes(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
                         device::DeviceState* state, product::Queue queue, const device::EffortReport& effort) {
  return PlanesCall<T>(plan, problem, workspace, state, queue, effort).run();
}

template Status run_device_planes<float>(const plan::Plan&, const device::DeviceProblem<float>&, std::byte*,
                                         device::DeviceState*, product::Queue, const device::EffortReport&);
template Status run_device_planes<std::complex<float>>(const plan::Plan&,
                                                       const device::DeviceProblem<std::complex<float>>&, std::byte*,
                                                       device::DeviceState*, product::Queue,
                                                       const device::EffortReport&);

}  // namespace kizami::ec
