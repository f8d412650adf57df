// SPDX-License-Identifier: MIT
#include "exec/device_batch.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "base/cuda_status.hpp"
#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "base/phase_range.hpp"
#include "base/relaxed_capture.hpp"
#include "device/batch_buffers.hpp"
#include "device/side_streams.hpp"
#include "device/tell_effort.hpp"
#include "device/writes_c.hpp"
#include "num/scaled.hpp"
#include "problem/problem.hpp"
#include "schemes/ec/device_run.hpp"
#include "schemes/ec/stage.hpp"
#include "schemes/native/device_run.hpp"

namespace kizami::exec {
namespace {

[[nodiscard]] bool has_no_elements(const plan::Plan& plan) {
  return plan.shape.m == 0 || plan.shape.n == 0 || plan.schedule.batch.num_products == 0;
}

/// `status` with the number of its product, where there are several.
[[nodiscard]] Status with_number(const plan::Plan& plan, std::int64_t i, const Status& status) {
  if (plan.schedule.batch.num_products == 1) return status;
  return {status.code(), "product " + std::to_string(i) + " of the batch: " + status.reason()};
}

[[nodiscard]] device::DeviceBatchBuffers carve(const plan::Plan& plan, std::byte* workspace) {
  const plan::Schedule& schedule = plan.schedule;
  const int lanes =
      ec::ec_of(plan).products_together > 1
          ? 1
          : device::batch_lanes(plan.shape, schedule.batch, schedule.product_bytes, schedule.workspace_bytes);
  base::Carver carver(workspace);
  return device::carve_device_batch(carver, plan.shape, schedule.batch, schedule.product_bytes, lanes);
}

/// What the i-th product tells: the last one, behind which all states are there, that of all.
[[nodiscard]] device::EffortReport report_of(const plan::Plan& plan, std::int64_t i, const device::DeviceState* states,
                                             const EffortNote& note) {
  const std::int64_t num_products = plan.schedule.batch.num_products;
  if (i + 1 != num_products) return {};
  return {note, states, num_products};
}

/// Products of scheme ec that share launches. @param matrices problems, or an ec::EcBatch
/// @param is_answered false: nothing is enqueued, and each is to be run by itself
template <class T, class Matrices>
Status run_together(const plan::Plan& plan, const Factor<T>& alpha, const Matrices& matrices,
                    const device::DeviceBatchBuffers& buffers, product::Queue queue, const EffortNote& note,
                    bool& is_answered) {
  is_answered = false;
  if constexpr (std::is_same_v<RealOf<T>, float>) {
    if (has_no_terms(plan, alpha) || !ec::takes_together(plan, alpha)) return {};
    const base::PhaseRange phase(base::Phase::kGemm);
    const device::EffortReport effort = report_of(plan, plan.schedule.batch.num_products - 1, buffers.states, note);
    if constexpr (std::is_same_v<Matrices, ec::EcBatch<T>>) {
      is_answered = true;
      return ec::run_device_ec_batch(plan, matrices, buffers.lanes[0], buffers.states, queue, effort);
    } else {
      return ec::run_device_ec_batch(plan, matrices, buffers.lanes[0], buffers.states, queue, effort, is_answered);
    }
  }
  return {};
}

/// States of products that have no terms. Every bit is set, so is_scaling_only is not 0: nothing else is read of such a
/// state.
Status mark_as_scalings(device::DeviceState* states, std::int64_t num_products, product::Queue queue) {
  const std::size_t bytes = static_cast<std::size_t>(num_products) * sizeof(device::DeviceState);
  return base::cuda_status(cudaMemsetAsync(states, 0xFF, bytes, queue), "marking the states");
}

// ---- matrices that arrays in device memory point to
// --------------------------------------------------------------------

/// One matrix and its copy. The copy has no gaps.
template <class T>
struct StagedMatrix {
  const T* const* pointer;
  MatrixView<const T> layout;  ///< without data
  MatrixView<T> staged;
  Factor<T> factor;  ///< 0: the matrix is not read
};

/// y <- x, as stored. @shape blocks: x along the smaller stride of x, y along the other
template <class T>
__device__ void copy_matrix(MatrixView<const T> x, MatrixView<T> y) {
  if (x.row_stride > x.col_stride) {
    x = x.transposed();
    y = y.transposed();
  }
  for (std::int64_t j = blockIdx.y; j < x.cols; j += gridDim.y) {
    for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < x.rows;
         i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
      y(i, j) = x(i, j);
    }
  }
}

template <class T>
struct StagedOperands {
  StagedMatrix<T> matrices[3];
};

/// The matrices of a product as they are before it. Block z copies the z-th.
template <class T>
__global__ void stage_operands(StagedOperands<T> operands) {
  base::follow_previous_kernel();
  const StagedMatrix<T>& x = operands.matrices[blockIdx.z];
  if (x.factor.load() == T{0}) return;
  MatrixView<const T> matrix = x.layout;
  matrix.data = *x.pointer;
  copy_matrix(matrix, x.staged);
}

template <class T>
__global__ void store_result(T* const* pointer, MatrixView<T> layout, MatrixView<const T> staged) {
  base::follow_previous_kernel();
  layout.data = *pointer;
  copy_matrix(staged, layout);
}

/// C <- beta C for all matrices of a batch. Block z takes every gridDim.z-th.
template <class T>
__global__ void scale_matrices(T* const* pointers, MatrixView<T> layout, std::int64_t num_products, Factor<T> beta) {
  base::follow_previous_kernel();
  const T factor = beta.load();
  if (layout.row_stride > layout.col_stride) layout = layout.transposed();
  for (std::int64_t p = blockIdx.z; p < num_products; p += gridDim.z) {
    layout.data = pointers[p];
    for (std::int64_t j = blockIdx.y; j < layout.cols; j += gridDim.y) {
      for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < layout.rows;
           i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
        layout(i, j) = factor == T{0} ? T{0} : num::scale_by(factor, layout(i, j));
      }
    }
  }
}

constexpr std::int64_t kCopyThreads = 256;

/// Blocks that copy matrices of at most `longest` rows and columns, whichever is contiguous.
[[nodiscard]] dim3 copy_grid(std::int64_t longest, unsigned num_matrices) {
  constexpr std::int64_t kMostAlong = 64;
  constexpr std::int64_t kMostAcross = 1024;
  return {static_cast<unsigned>(std::clamp<std::int64_t>(base::ceil_div(longest, kCopyThreads), 1, kMostAlong)),
          static_cast<unsigned>(std::clamp<std::int64_t>(longest, 1, kMostAcross)), num_matrices};
}

/// The copy of a matrix. C is stored by rows where the call would take it so: scheme ec then exchanges its operands.
template <class T>
[[nodiscard]] MatrixView<T> copy_of(const MatrixView<T>& layout, void* data) {
  MatrixView<T> copy{static_cast<T*>(data), layout.rows, layout.cols, 1, layout.rows, layout.is_conjugated};
  if (layout.row_stride != 1 && layout.col_stride == 1) {
    copy.row_stride = device::staged_line(layout.cols);
    copy.col_stride = 1;
  }
  return copy;
}

/// The layouts of the matrices and the arrays, as far as they are read.
template <class T>
Status validate_arrays(const plan::Plan& plan, const DeviceArrays<T>& problem) {
  const auto check_array = [](const char* name, const void* pointers) -> Status {
    if (pointers != nullptr) return {};
    return {StatusCode::kInvalidArgument,
            "the array of pointers to the matrices " + std::string(name) + " is null, must be in device memory"};
  };
  const auto with_address = [](auto layout) {
    layout.data = reinterpret_cast<decltype(layout.data)>(device::kWorkspaceAlignment);  // stands for all in the array
    return layout;
  };
  KIZAMI_RETURN_IF_ERROR(problem::validate_output(with_address(problem.c.layout), plan.shape.m, plan.shape.n));
  KIZAMI_RETURN_IF_ERROR(check_array("C", problem.c.pointers));
  if (has_no_terms(plan, problem.alpha)) return {};
  KIZAMI_RETURN_IF_ERROR(problem::validate_operand("A", with_address(problem.a.layout), plan.shape.m, plan.shape.k));
  KIZAMI_RETURN_IF_ERROR(problem::validate_operand("B", with_address(problem.b.layout), plan.shape.k, plan.shape.n));
  KIZAMI_RETURN_IF_ERROR(check_array("A", problem.a.pointers));
  return check_array("B", problem.b.pointers);
}

}  // namespace

template <class T>
Status run_device(const plan::Plan& plan, std::span<const device::DeviceProblem<T>> problems,
                  std::span<std::byte> workspace, product::Queue queue, const EffortNote& note) {
  const base::RelaxedCapture relaxed;
  KIZAMI_RETURN_IF_ERROR(validate_device_plan(plan));
  const std::int64_t num_products = plan.schedule.batch.num_products;
  if (static_cast<std::int64_t>(problems.size()) != num_products) {
    return {StatusCode::kInvalidArgument,
            "the call has " + std::to_string(problems.size()) +
                " products, must be as many as the plan is for = " + std::to_string(num_products)};
  }
  for (std::int64_t i = 0; i < num_products; ++i) {
    const Status status = validate_device_problem(plan, problems[static_cast<std::size_t>(i)]);
    if (!status.ok()) return with_number(plan, i, status);
  }
  if (has_no_elements(plan)) return {};
  KIZAMI_RETURN_IF_ERROR(validate_device_call(plan, workspace, queue));
  const bool is_native = plan.first().scheme == Scheme::kNative;
  if (is_native && !has_no_terms(plan, problems[0].alpha))
    return native::run_device_native(plan, problems, workspace.data(), queue);
  const device::DeviceBatchBuffers buffers = is_native ? device::DeviceBatchBuffers{} : carve(plan, workspace.data());
  bool is_answered = false;
  KIZAMI_RETURN_IF_ERROR(run_together<T>(plan, problems[0].alpha, problems, buffers, queue, note, is_answered));
  if (is_answered) return {};
  const auto lanes = static_cast<std::int64_t>(std::max<std::size_t>(buffers.lanes.size(), 1));
  // One after another the last product tells what all have done; side by side there is none behind the others.
  const bool has_last = lanes == 1;
  device::SideStreams streams;
  KIZAMI_RETURN_IF_ERROR(streams.fork(queue, static_cast<int>(lanes)));
  for (std::int64_t i = 0; i < num_products; ++i) {
    const std::int64_t lane = i % lanes;
    const Status status = enqueue_device(plan, problems[static_cast<std::size_t>(i)],
                                         is_native ? nullptr : buffers.lanes[static_cast<std::size_t>(lane)],
                                         is_native ? nullptr : buffers.states + i, streams.at(static_cast<int>(lane)),
                                         has_last ? report_of(plan, i, buffers.states, note) : device::EffortReport{});
    if (!status.ok()) return with_number(plan, i, status);
  }
  KIZAMI_RETURN_IF_ERROR(streams.join());
  if (has_last || note.word == nullptr || plan.first().scheme == Scheme::kOzaki1)
    return {};  // whose kernels tell nothing
  return device::tell_effort_of_all(report_of(plan, num_products - 1, buffers.states, note), plan.shape.m, plan.shape.n,
                                    queue);
}

template <class T>
Status run_device_arrays(const plan::Plan& plan, const DeviceArrays<T>& problem, std::span<std::byte> workspace,
                         product::Queue queue, const EffortNote& note) {
  const base::RelaxedCapture relaxed;
  KIZAMI_RETURN_IF_ERROR(validate_device_plan(plan));
  const problem::Shape& shape = plan.shape;
  if (!plan.schedule.batch.has_device_arrays) {
    return {StatusCode::kInvalidArgument,
            "the plan is not for arrays in device memory, must be made with Batch::has_device_arrays"};
  }
  if (has_no_elements(plan)) return problem::validate_output(problem.c.layout, shape.m, shape.n);
  KIZAMI_RETURN_IF_ERROR(validate_device_call(plan, workspace, queue));
  const bool is_native = plan.first().scheme == Scheme::kNative;
  const device::DeviceBatchBuffers buffers = is_native ? device::DeviceBatchBuffers{} : carve(plan, workspace.data());
  const MatrixView<T> a = copy_of(MatrixView<T>{nullptr, shape.m, shape.k}, buffers.a);
  const MatrixView<T> b = copy_of(MatrixView<T>{nullptr, shape.k, shape.n}, buffers.b);
  const MatrixView<T> c = copy_of(problem.c.layout, buffers.c);
  device::DeviceProblem<T> staged{problem.alpha, a, b, problem.beta, c};
  staged.a.is_conjugated = problem.a.layout.is_conjugated;
  staged.b.is_conjugated = problem.b.layout.is_conjugated;
  KIZAMI_RETURN_IF_ERROR(validate_arrays(plan, problem));
  const std::int64_t num_products = plan.schedule.batch.num_products;
  if (has_no_terms(plan, problem.alpha)) {
    if (!is_native) KIZAMI_RETURN_IF_ERROR(mark_as_scalings(buffers.states, num_products, queue));
    constexpr std::int64_t kMostDeep = 4096;
    const auto deep = static_cast<unsigned>(std::min(num_products, kMostDeep));
    return device::writes_c(base::launch_overlapped(
        "scale_matrices", scale_matrices<T>, copy_grid(std::max(shape.m, shape.n), deep), dim3(kCopyThreads), 0, queue,
        problem.c.pointers, problem.c.layout, num_products, problem.beta));
  }
  if (is_native) {
    const device::DeviceProblem<T> layouts{problem.alpha, problem.a.layout, problem.b.layout, problem.beta,
                                           problem.c.layout};
    return native::run_device_native(plan, layouts, problem.a.pointers, problem.b.pointers, problem.c.pointers,
                                     workspace.data(), queue);
  }
  bool is_answered = false;
  if constexpr (std::is_same_v<RealOf<T>, float>) {
    const ec::EcBatch<T> batch{{problem.alpha, problem.a.layout, problem.b.layout, problem.beta, problem.c.layout},
                               num_products,
                               problem.a.pointers,
                               problem.b.pointers,
                               problem.c.pointers};
    KIZAMI_RETURN_IF_ERROR(run_together<T>(plan, problem.alpha, batch, buffers, queue, note, is_answered));
  }
  if (is_answered) return {};
  const dim3 all = copy_grid(std::max({shape.m, shape.n, shape.k}), 3);
  const dim3 one = copy_grid(std::max(shape.m, shape.n), 1);
  for (std::int64_t i = 0; i < num_products; ++i) {
    const StagedOperands<T> operands{{{problem.a.pointers + i, problem.a.layout, a, problem.alpha},
                                      {problem.b.pointers + i, problem.b.layout, b, problem.alpha},
                                      {problem.c.pointers + i, problem.c.layout, c, problem.beta}}};
    KIZAMI_RETURN_IF_ERROR(
        base::launch_overlapped("stage_operands", stage_operands<T>, all, dim3(kCopyThreads), 0, queue, operands));
    if (const Status status = enqueue_device(plan, staged, buffers.lanes[0], buffers.states + i, queue,
                                             report_of(plan, i, buffers.states, note));
        !status.ok())
      return with_number(plan, i, status);
    KIZAMI_RETURN_IF_ERROR(
        device::writes_c(base::launch_overlapped("store_result", store_result<T>, one, dim3(kCopyThreads), 0, queue,
                                                 problem.c.pointers + i, problem.c.layout, MatrixView<const T>(c))));
  }
  return {};
}

Status read_device_outcomes(const plan::Plan& plan, std::span<const std::byte> workspace, product::Queue queue,
                            std::span<Outcome> outcomes) {
  KIZAMI_RETURN_IF_ERROR(validate_device_plan(plan));
  const std::int64_t num_products = plan.schedule.batch.num_products;
  if (static_cast<std::int64_t>(outcomes.size()) != num_products) {
    return {StatusCode::kInvalidArgument,
            "there is room for " + std::to_string(outcomes.size()) +
                " outcomes, must be as many as products = " + std::to_string(num_products)};
  }
  device::DeviceState nothing;
  nothing.is_scaling_only = 1;
  if (has_no_elements(plan)) {
    std::fill(outcomes.begin(), outcomes.end(), device_outcome(plan, nothing));
    return {};
  }
  if (plan.first().scheme == Scheme::kNative) {  // cuBLAS does not tell
    Outcome native;
    native.engine = plan.first().engine_name();
    native.bound = plan.first().bound;
    native.gauge = plan.first().gauge;
    native.is_conditional = true;  // nobody has looked at the elements
    std::fill(outcomes.begin(), outcomes.end(), native);
    return base::cuda_status(cudaStreamSynchronize(queue), "waiting for the outcomes");
  }
  KIZAMI_RETURN_IF_ERROR(validate_device_workspace(plan, workspace));
  const device::DeviceState* const states = carve(plan, const_cast<std::byte*>(workspace.data())).states;  // only read
  std::vector<device::DeviceState> seen(outcomes.size());
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(
      cudaMemcpyAsync(seen.data(), states, seen.size() * sizeof(device::DeviceState), cudaMemcpyDeviceToHost, queue),
      "reading the outcomes"));
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaStreamSynchronize(queue), "waiting for the outcomes"));
  std::transform(seen.begin(), seen.end(), outcomes.begin(),
                 [&](const device::DeviceState& state) { return device_outcome(plan, state); });
  return {};
}

#define KIZAMI_INSTANTIATE(T)                                                                                       \
  template Status run_device<T>(const plan::Plan&, std::span<const device::DeviceProblem<T>>, std::span<std::byte>, \
                                product::Queue, const EffortNote&);                                                 \
  template Status run_device_arrays<T>(const plan::Plan&, const DeviceArrays<T>&, std::span<std::byte>,             \
                                       product::Queue, const EffortNote&)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::exec
