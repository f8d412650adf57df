// SPDX-License-Identifier: MIT
#include "exec/device_call.hpp"

#include <cuda_runtime_api.h>

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "base/cuda_status.hpp"
#include "base/instantiate.hpp"
#include "base/phase_range.hpp"
#include "certify/device_begin.hpp"
#include "device/batch_buffers.hpp"
#include "device/writes_c.hpp"
#include "exec/device_prepared.hpp"
#include "exec/device_triangle.hpp"
#include "problem/problem.hpp"
#include "schemes/ec/device_run.hpp"
#include "schemes/ozaki1/device_run.hpp"
#include "schemes/ozaki1/device_rungs.hpp"
#include "schemes/ozaki1/device_rungs_plan.hpp"
#include "schemes/ozaki2/device_crt.hpp"
#include "schemes/ozaki2/device_looks.hpp"
#include "schemes/ozaki2/device_run.hpp"

namespace kizami::exec {
namespace {

template <class T>
Status validate_operands(const plan::Plan& plan, const device::DeviceProblem<T>& problem) {
  const problem::Shape& shape = plan.shape;
  KIZAMI_RETURN_IF_ERROR(problem::validate_operand("A", problem.a, shape.m, shape.k));
  KIZAMI_RETURN_IF_ERROR(problem::validate_operand("B", problem.b, shape.k, shape.n));
  const MatrixView<const T> c = problem.c;
  if (problem::overlaps<T>(problem.a, c) || problem::overlaps<T>(problem.b, c))
    return {StatusCode::kInvalidArgument, "C overlaps an operand in memory, must be disjoint from A and B"};
  for (const T* const data : {problem.a.data, problem.b.data, c.data})
    KIZAMI_RETURN_IF_ERROR(device::validate_alignment("A, B or C", data));
  return {};
}

Status validate_waiting(const plan::Plan& plan, product::Queue queue) {
  if (!plan.policy.may_sync || plan.first().scheme == Scheme::kNative) return {};
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaStreamIsCapturing(queue, &capture), "cudaStreamIsCapturing"));
  if (capture == cudaStreamCaptureStatusNone) return {};
  return {StatusCode::kUnsupported, "sync: a captured stream cannot wait for what the elements decide"};
}

}  // namespace

Status validate_device_plan(const plan::Plan& plan) {
  if (plan.schedule.facts.space != product::MemorySpace::kDevice)
    return {StatusCode::kInvalidArgument, "the plan is for operands in host memory"};
  int device = 0;
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaGetDevice(&device), "cudaGetDevice"));
  if (device == plan.schedule.facts.device) return {};
  return {StatusCode::kInvalidArgument, "the plan is for device " + std::to_string(plan.schedule.facts.device) +
                                            ", the current device is " + std::to_string(device)};
}

Status validate_device_workspace(const plan::Plan& plan, std::span<const std::byte> workspace) {
  const std::size_t needed = plan.schedule.workspace_bytes;
  if (workspace.size() >= needed &&
      reinterpret_cast<std::uintptr_t>(workspace.data()) % device::kWorkspaceAlignment == 0)
    return {};
  return {StatusCode::kInvalidArgument, "workspace = " + std::to_string(workspace.size()) + " bytes, must be >= " +
                                            std::to_string(needed) + " and begin on a 256-byte boundary"};
}

Status validate_device_call(const plan::Plan& plan, std::span<const std::byte> workspace, product::Queue queue) {
  KIZAMI_RETURN_IF_ERROR(validate_device_workspace(plan, workspace));
  return validate_waiting(plan, queue);
}

template <class T>
Status validate_device_problem(const plan::Plan& plan, const device::DeviceProblem<T>& problem) {
  if (problem.look && !ozaki2::takes_any_look(plan))
    return {StatusCode::kInvalidArgument, "a look is given, must be absent where the plan's split makes no blocks"};
  for (const Side side : {Side::kA, Side::kB}) {
    if (problem.prepared(side) != nullptr)
      KIZAMI_RETURN_IF_ERROR(validate_device_prepared(plan, side, *problem.prepared(side)));
  }
  KIZAMI_RETURN_IF_ERROR(problem::validate_output(problem.c, plan.shape.m, plan.shape.n));
  if (plan.shape.m == 0 || plan.shape.n == 0 || has_no_terms(plan, problem.alpha)) return {};
  if (!problem.part.is_all()) {
    if (const std::optional<std::string> reason = why_no_part(plan)) return {StatusCode::kUnsupported, *reason};
  }
  return validate_operands(plan, problem);
}

template <class T>
Status enqueue_device(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
                      device::DeviceState* state, product::Queue queue, const device::EffortReport& effort) {
  const base::PhaseRange phase(base::Phase::kGemm);
  if (has_no_terms(plan, problem.alpha)) {
    if (state != nullptr) KIZAMI_RETURN_IF_ERROR(certify::begin_state(state, Factor<T>(T{0}), 0, 0, 0, queue));
    return device::writes_c(ozaki2::scale_device(problem.beta, problem.c, problem.part, queue));
  }
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, std::complex<float>>) {
    if (plan.first().scheme == Scheme::kEc) return ec::run_device_ec(plan, problem, workspace, state, queue, effort);
  }
  if (plan.first().scheme == Scheme::kOzaki1) {
    if (!ozaki1::has_slice_rungs(plan)) return ozaki1::run_device_ozaki1(plan, problem, workspace, state, queue);
    bool is_answered = false;
    KIZAMI_RETURN_IF_ERROR(ozaki1::run_device_slice_rungs(plan, problem, workspace, state, queue, is_answered));
    if (is_answered) return {};
  }
  return ozaki2::run_device_ozaki2(plan, problem, workspace, state, queue, effort);
}

Outcome device_outcome(const plan::Plan& plan, const device::DeviceState& state) {
  if (state.is_scaling_only != 0) {
    Outcome outcome;
    outcome.engine = "none";
    outcome.scheme = plan.first().scheme;
    outcome.gauge = plan.first().gauge;
    return outcome;
  }
  if (plan.first().scheme == Scheme::kEc) return ec::device_ec_outcome(plan, state);
  if (plan.first().scheme == Scheme::kOzaki1) {
    if (!ozaki1::has_slice_rungs(plan)) return ozaki1::device_ozaki1_outcome(plan, state);
    if (state.is_sliced != 0) return ozaki1::device_slice_rung_outcome(plan, state);
  }
  return ozaki2::device_ozaki2_outcome(plan, state);  // also what stands behind the last rung of slices
}

#define KIZAMI_INSTANTIATE(T)                                                                       \
  template Status validate_device_problem<T>(const plan::Plan&, const device::DeviceProblem<T>&);   \
  template Status enqueue_device<T>(const plan::Plan&, const device::DeviceProblem<T>&, std::byte*, \
                                    device::DeviceState*, product::Queue, const device::EffortReport&)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::exec
