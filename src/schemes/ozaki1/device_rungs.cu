// SPDX-License-Identifier: MIT
#include "schemes/ozaki1/device_rungs.hpp"

#include <cuda_runtime_api.h>

#include <complex>

#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "certify/device_begin.hpp"
#include "certify/device_certifier.hpp"
#include "device/wait.hpp"
#include "num/slice_weight.hpp"
#include "schemes/ozaki1/device_run.hpp"
#include "schemes/ozaki1/device_rungs_plan.hpp"
#include "schemes/ozaki1/stage.hpp"
#include "schemes/ozaki2/device_split.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::ozaki1 {
namespace {

constexpr unsigned kThreads = 256;

/// A thread a line of A, then of B.
__global__ void __launch_bounds__(kThreads)
    weigh_lines(const __grid_constant__ num::SliceLadder ladder, const device::DeviceLineBuffers a, std::int64_t m,
                const device::DeviceLineBuffers b, std::int64_t n, const device::DeviceState* state) {
  base::follow_previous_kernel();
  if (state->is_scaling_only != 0) return;
  const std::int64_t line = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (line >= m + n) return;
  const device::DeviceLineBuffers& lines = line < m ? a : b;
  const std::int64_t i = line < m ? line : line - m;
  const num::LineWeight weight = num::slice_weight(ladder, lines.stats[i]);
  lines.line_weights[i] = weight;
  lines.weights[i] = num::weight_at(weight, 0);
}

/// Enqueues all that decides the rung: state->selection is it.
template <class T>
Status certify(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
               device::DeviceState* state, product::Queue queue) {
  base::Carver carver(workspace);
  const DeviceSliceCertificateBuffers buffers = carve_device_slice_certificate(carver, plan);
  const std::int64_t m = plan.shape.m;
  const std::int64_t n = plan.shape.n;
  const SliceNumerics& slices = ozaki1_of(plan).numerics;
  const int num_sms = plan.schedule.facts.num_sms;
  const certify::DeviceCertifier<T> certifier{.plan = ozaki2::certificate_plan(plan),
                                              .ladder = slices.ladder,
                                              .a = problem::lines_of(Side::kA, problem.a),
                                              .b = problem::lines_of(Side::kB, problem.b),
                                              .a_lines = buffers.a,
                                              .b_lines = buffers.b,
                                              .sampled = buffers.sampled,
                                              .second_look = buffers.second_look,
                                              .wants_all_pairs = true,
                                              .state = state,
                                              .queue = queue};
  KIZAMI_RETURN_IF_ERROR(certify::begin_state(state, problem.alpha, 0, m * n, 0, queue));
  KIZAMI_RETURN_IF_ERROR(certify::device_statistics(certifier.a, buffers.a.stats, certifier.early_digits(Side::kA),
                                                    &state->nonfinite_rows, state, num_sms, queue));
  KIZAMI_RETURN_IF_ERROR(certify::device_statistics(certifier.b, buffers.b.stats, certifier.early_digits(Side::kB),
                                                    &state->nonfinite_cols, state, num_sms, queue));
  const auto blocks = static_cast<unsigned>(base::ceil_div(m + n, std::int64_t{kThreads}));
  KIZAMI_RETURN_IF_ERROR(base::launch_overlapped("weigh_lines", weigh_lines, dim3(blocks), dim3(kThreads), 0, queue,
                                                 slice_ladder(slices), buffers.a, m, buffers.b, n,
                                                 static_cast<const device::DeviceState*>(state)));
  return certifier.run(false);
}

}  // namespace

template <class T>
Status run_device_slice_rungs(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
                              device::DeviceState* state, product::Queue queue, bool& is_answered) {
  is_answered = false;
  if (!ozaki2::ozaki2_of(plan).has_certificate) return {};
  KIZAMI_RETURN_IF_ERROR(certify(plan, problem, workspace, state, queue));
  device::DeviceState seen;
  KIZAMI_RETURN_IF_ERROR(device::wait_for_state(state, queue, seen));
  if (plan.policy.reject_nonfinite) KIZAMI_RETURN_IF_ERROR(device::reject_nonfinite(seen));
  if (seen.selection.rung < 0) return {};
  is_answered = true;
  plan::Plan one = plan_at_slice_rung(plan, seen.selection.rung);
  one.policy.reject_nonfinite = false;  // that is settled
  return run_device_ozaki1(one, problem, workspace, state, queue, seen.selection.rung);
}

Outcome device_slice_rung_outcome(const plan::Plan& plan, const device::DeviceState& state) {
  Outcome outcome = device_ozaki1_outcome(plan_at_slice_rung(plan, state.selection.rung), state);
  outcome.rung = state.selection.rung;
  return outcome;
}

#define KIZAMI_INSTANTIATE(T)                                                                               \
  template Status run_device_slice_rungs<T>(const plan::Plan&, const device::DeviceProblem<T>&, std::byte*, \
                                            device::DeviceState*, product::Queue, bool&)

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki1
