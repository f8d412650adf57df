// SPDX-License-Identifier: MIT
#include "kizami/cuda.hpp"

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "api/op_view.hpp"
#include "base/cuda_status.hpp"
#include "base/relaxed_capture.hpp"
#include "exec/device_call.hpp"
#include "exec/device_environment.hpp"
#include "exec/plan_cache.hpp"
#include "problem/problem.hpp"

namespace kizami::cuda {
namespace {

/// A pool for each device that keeps what it has once got: calls of the same size then allocate nothing new.
class WorkspacePools {
 public:
  Result<cudaMemPool_t> of(int device) {
    const std::lock_guard lock(mutex_);
    const auto found = pools_.find(device);
    if (found != pools_.end()) return found->second;
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, device};
    cudaMemPool_t pool = nullptr;
    KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaMemPoolCreate(&pool, &properties), "cudaMemPoolCreate"));
    std::uint64_t threshold = ~std::uint64_t{0};
    KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
                                             "cudaMemPoolSetAttribute"));
    pools_.emplace(device, pool);
    return pool;
  }

 private:
  std::mutex mutex_;
  std::map<int, cudaMemPool_t> pools_;
};

WorkspacePools& workspace_pools() {
  static WorkspacePools* const instance = new WorkspacePools;
  return *instance;
}

/// Memory of the pool in the order of a stream.
class StreamMemory {
 public:
  explicit StreamMemory(Stream stream) : stream_(stream) {}
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  ~StreamMemory() {
    if (data_ != nullptr) static_cast<void>(cudaFreeAsync(data_, stream_));
  }
  Status allocate(int device, std::size_t bytes) {
    const Result<cudaMemPool_t> pool = workspace_pools().of(device);
    if (!pool.ok()) return pool.status();
    const cudaError_t error = cudaMallocFromPoolAsync(&data_, bytes, pool.value(), stream_);
    if (error == cudaSuccess) {
      size_ = bytes;
      return {};
    }
    data_ = nullptr;
    return base::cuda_status(error, ("workspace of " + std::to_string(bytes) + " bytes").c_str());
  }
  [[nodiscard]] std::span<std::byte> span() const { return {static_cast<std::byte*>(data_), size_}; }

 private:
  Stream stream_;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace

Result<Plan> make_plan(Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k, const Policy& policy) {
  const Result<plan::Environment> environment = exec::device_environment();
  if (!environment.ok()) return environment.status();
  auto plan = exec::cached_plan({scalar, m, n, k}, policy, environment.value());
  if (!plan.ok()) return plan.status();
  return Plan(std::move(plan).value());
}

template <class T>
Status run(const Plan& plan, Factor<T> alpha, MatrixView<const T> a, MatrixView<const T> b, Factor<T> beta,
           MatrixView<T> c, std::span<std::byte> workspace, Stream stream) {
  if (plan.scalar() != kScalarOf<T>) {
    return {StatusCode::kInvalidArgument, "C is " + std::string(to_string(kScalarOf<T>)) + ", the plan is for " +
                                              std::string(to_string(plan.scalar()))};
  }
  return exec::run_device<T>(plan.impl(), {alpha, a, b, beta, c}, workspace, stream);
}

Result<Outcome> read_outcome(const Plan& plan, std::span<const std::byte> workspace, Stream stream) {
  return exec::read_device_outcome(plan.impl(), workspace, stream);
}

template <class T>
Status gemm(Stream stream, Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k,
            Factor<T> alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, Factor<T> beta, T* c,
            std::int64_t ldc, const Policy& policy, Outcome* outcome) {
  KIZAMI_RETURN_IF_ERROR(problem::validate_shape(m, n, k));
  KIZAMI_RETURN_IF_ERROR(problem::validate_leading_dimensions(layout, op_a, op_b, m, n, k, lda, ldb, ldc));
  const base::RelaxedCapture relaxed;
  const Result<Plan> plan = cuda::make_plan(kScalarOf<T>, m, n, k, policy);
  if (!plan.ok()) return plan.status();
  if (plan.value().scheme() == Scheme::kNative)
    return {StatusCode::kUnsupported, "the plan is of scheme native: call cuBLAS"};
  StreamMemory workspace(stream);
  KIZAMI_RETURN_IF_ERROR(workspace.allocate(plan.value().impl().schedule.facts.device, plan.value().workspace_bytes()));
  KIZAMI_RETURN_IF_ERROR(run<T>(plan.value(), alpha, api::op_view(layout, op_a, a, m, k, lda),
                                api::op_view(layout, op_b, b, k, n, ldb), beta, blas_view(c, m, n, ldc, layout),
                                workspace.span(), stream));
  if (outcome == nullptr) return {};
  const Result<Outcome> seen = read_outcome(plan.value(), workspace.span(), stream);
  if (seen.ok()) *outcome = seen.value();
  return seen.status();
}

#define KIZAMI_INSTANTIATE(T)                                                                                        \
  template Status run<T>(const Plan&, Factor<T>, MatrixView<const T>, MatrixView<const T>, Factor<T>, MatrixView<T>, \
                         std::span<std::byte>, Stream);                                                              \
  template Status gemm<T>(Stream, Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, Factor<T>, const T*,     \
                          std::int64_t, const T*, std::int64_t, Factor<T>, T*, std::int64_t, const Policy&, Outcome*)

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::cuda
