// SPDX-License-Identifier: MIT
#include <cuda_runtime_api.h>

#include <complex>
#include <memory>
#include <string>
#include <utility>

#include "api/stream_memory.hpp"
#include "base/cuda_status.hpp"
#include "base/instantiate.hpp"
#include "base/relaxed_capture.hpp"
#include "device/prepared.hpp"
#include "device/writes_c.hpp"
#include "exec/device_batch.hpp"
#include "exec/device_call.hpp"
#include "exec/device_prepared.hpp"
#include "kizami/cuda.hpp"

namespace kizami::cuda {
namespace {

/// In memory of its own, which cudaFree() takes back once the device has done what was enqueued.
struct OwnPrepared : device::Prepared {
  OwnPrepared() = default;
  OwnPrepared(const OwnPrepared&) = delete;
  OwnPrepared& operator=(const OwnPrepared&) = delete;
  ~OwnPrepared() {
    const base::RelaxedCapture relaxed;
    static_cast<void>(cudaFree(owned));
  }
  Status allocate(std::size_t size) {
    if (size == 0) return {};
    const base::RelaxedCapture relaxed;
    const cudaError_t error = cudaMalloc(&owned, size);
    if (error != cudaErrorMemoryAllocation) return base::cuda_status(error, "memory of the prepared operand");
    static_cast<void>(cudaGetLastError());
    return {StatusCode::kOutOfMemory,
            "prepared operand: " + std::to_string(size) + " bytes refused, the device has no memory left"};
  }

  void* owned = nullptr;
};

Status validate_scalar(const char* what, Scalar scalar, const Plan& plan) {
  if (plan.scalar() == scalar) return {};
  return {StatusCode::kInvalidArgument, std::string(what) + " is " + std::string(to_string(scalar)) +
                                            ", the plan is for " + std::string(to_string(plan.scalar()))};
}

template <class T>
device::DeviceProblem<T> problem_of(const Factor<T>& alpha, const Operand<T>& a, const Operand<T>& b,
                                    const Factor<T>& beta, MatrixView<T> c) {
  device::DeviceProblem<T> problem{alpha, a.matrix, b.matrix, beta, c};
  const auto take = [](const PreparedOperand* prepared, MatrixView<const T>& matrix, const device::Prepared*& kept) {
    if (prepared == nullptr) return;
    kept = &prepared->impl();
    if (matrix.data == nullptr) matrix = kept->template matrix<T>();
  };
  take(a.prepared, problem.a, problem.a_prepared);
  take(b.prepared, problem.b, problem.b_prepared);
  return problem;
}

}  // namespace

Side PreparedOperand::side() const { return impl_->side; }
std::size_t PreparedOperand::size_bytes() const { return impl_->bytes; }
std::string PreparedOperand::explain() const { return exec::explain_prepared(*impl_); }

Result<std::size_t> prepared_bytes(const Plan& plan, Side side) {
  std::size_t bytes = 0;
  KIZAMI_RETURN_IF_ERROR(exec::prepared_device_bytes(plan.impl(), side, bytes));
  return bytes;
}

template <class T>
Result<PreparedOperand> prepare(const Plan& plan, Side side, MatrixView<const T> op, std::span<std::byte> memory,
                                Stream stream) {
  KIZAMI_RETURN_IF_ERROR(validate_scalar("operand", kScalarOf<T>, plan));
  const auto prepared = std::make_shared<device::Prepared>();
  KIZAMI_RETURN_IF_ERROR(exec::prepare_device<T>(plan.impl(), side, op, memory, stream, *prepared));
  return PreparedOperand(prepared);
}

template <class T>
Result<PreparedOperand> prepare(const Plan& plan, Side side, MatrixView<const T> op, Stream stream) {
  KIZAMI_RETURN_IF_ERROR(validate_scalar("operand", kScalarOf<T>, plan));
  std::size_t bytes = 0;
  KIZAMI_RETURN_IF_ERROR(exec::prepared_device_bytes(plan.impl(), side, bytes));
  KIZAMI_RETURN_IF_ERROR(exec::validate_device_plan(plan.impl()));
  const auto prepared = std::make_shared<OwnPrepared>();
  KIZAMI_RETURN_IF_ERROR(prepared->allocate(bytes));
  KIZAMI_RETURN_IF_ERROR(exec::prepare_device<T>(plan.impl(), side, op,
                                                 {static_cast<std::byte*>(prepared->owned), bytes}, stream, *prepared));
  return PreparedOperand(prepared);
}

template <class T>
Status run_prepared(const Plan& plan, Factor<T> alpha, std::type_identity_t<Operand<T>> a,
                    std::type_identity_t<Operand<T>> b, Factor<T> beta, MatrixView<T> c, std::span<std::byte> workspace,
                    Stream stream) {
  device::t_writes_c = false;
  KIZAMI_RETURN_IF_ERROR(validate_scalar("C", kScalarOf<T>, plan));
  const device::DeviceProblem<T> problem = problem_of(alpha, a, b, beta, c);
  return exec::run_device<T>(plan.impl(), {&problem, 1}, workspace, stream);
}

template <class T>
Status run_prepared(const Plan& plan, Factor<T> alpha, std::type_identity_t<Operand<T>> a,
                    std::type_identity_t<Operand<T>> b, Factor<T> beta, MatrixView<T> c, Stream stream,
                    const EffortNote& note) {
  device::t_writes_c = false;
  KIZAMI_RETURN_IF_ERROR(validate_scalar("C", kScalarOf<T>, plan));
  KIZAMI_RETURN_IF_ERROR(exec::validate_device_plan(plan.impl()));
  const base::RelaxedCapture relaxed;
  const device::DeviceProblem<T> problem = problem_of(alpha, a, b, beta, c);
  api::StreamMemory workspace(stream);
  KIZAMI_RETURN_IF_ERROR(workspace.allocate(plan.impl().schedule.facts.device, plan.workspace_bytes()));
  return device::of_enqueued(exec::run_device<T>(plan.impl(), {&problem, 1}, workspace.span(), stream, note));
}

#define KIZAMI_INSTANTIATE(T)                                                                                        \
  template Result<PreparedOperand> prepare<T>(const Plan&, Side, MatrixView<const T>, std::span<std::byte>, Stream); \
  template Result<PreparedOperand> prepare<T>(const Plan&, Side, MatrixView<const T>, Stream);                       \
  template Status run_prepared<T>(const Plan&, Factor<T>, std::type_identity_t<Operand<T>>,                          \
                                  std::type_identity_t<Operand<T>>, Factor<T>, MatrixView<T>, std::span<std::byte>,  \
                                  Stream);                                                                           \
  template Status run_prepared<T>(const Plan&, Factor<T>, std::type_identity_t<Operand<T>>,                          \
                                  std::type_identity_t<Operand<T>>, Factor<T>, MatrixView<T>, Stream,                \
                                  const EffortNote&)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::cuda
