// SPDX-License-Identifier: MIT
#include "exec/device_self_test.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/cuda_status.hpp"
#include "base/fp_environment.hpp"
#include "exec/device_batch.hpp"

namespace kizami::exec {
namespace {

[[nodiscard]] std::string text_of(const SelfTestCase& c) {
  return std::string(to_string(c.scalar)) + " " + std::to_string(c.m) + "x" + std::to_string(c.n) + "x" +
         std::to_string(c.k) + " by engine " + std::string(to_string(c.engine));
}

/// Device memory of one call.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (data_ != nullptr) static_cast<void>(cudaFree(data_));
  }
  Status allocate(std::size_t bytes) { return base::cuda_status(cudaMalloc(&data_, bytes), "memory of the self-test"); }
  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
  }
  Status create() {
    return base::cuda_status(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream of the self-test");
  }
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

template <class T>
Status test(const SelfTestCase& c, const plan::Environment& environment) {
  SelfTestNumbers numbers(c.spread);
  const std::vector<T> host_a = numbers.matrix<T>(c.m, c.k);
  const std::vector<T> host_b = numbers.matrix<T>(c.k, c.n);
  std::vector<T> host_c(static_cast<std::size_t>(c.m * c.n));
  const Result<plan::Plan> plan = plan::make({c.scalar, c.m, c.n, c.k}, self_test_policy(c), environment);
  if (!plan.ok()) return plan.status();
  const auto copy = [&](void* to, const void* from, std::size_t elems, cudaMemcpyKind kind, const Stream& stream) {
    return base::cuda_status(cudaMemcpyAsync(to, from, elems * sizeof(T), kind, stream.get()),
                             "copies of the self-test");
  };
  Stream stream;
  KIZAMI_RETURN_IF_ERROR(stream.create());
  Memory elements;
  Memory workspace;
  KIZAMI_RETURN_IF_ERROR(elements.allocate((host_a.size() + host_b.size() + host_c.size()) * sizeof(T)));
  KIZAMI_RETURN_IF_ERROR(workspace.allocate(plan.value().schedule.workspace_bytes));
  T* const a = static_cast<T*>(elements.data());
  T* const b = a + host_a.size();
  T* const result = b + host_b.size();
  KIZAMI_RETURN_IF_ERROR(copy(a, host_a.data(), host_a.size(), cudaMemcpyHostToDevice, stream));
  KIZAMI_RETURN_IF_ERROR(copy(b, host_b.data(), host_b.size(), cudaMemcpyHostToDevice, stream));
  const device::DeviceProblem<T> problem{T{1}, blas_view<const T>(a, c.m, c.k, c.m, Layout::kColMajor),
                                         blas_view<const T>(b, c.k, c.n, c.k, Layout::kColMajor), T{0},
                                         blas_view(result, c.m, c.n, c.m, Layout::kColMajor)};
  KIZAMI_RETURN_IF_ERROR(
      run_device<T>(plan.value(), {&problem, 1},
                    {static_cast<std::byte*>(workspace.data()), plan.value().schedule.workspace_bytes}, stream.get()));
  KIZAMI_RETURN_IF_ERROR(copy(host_c.data(), result, host_c.size(), cudaMemcpyDeviceToHost, stream));
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaStreamSynchronize(stream.get()), "the self-test"));
  if (digest_of<T>(host_c) == c.digest) return {};
  return {StatusCode::kUnsupported, "the bits are not the processor's"};
}

}  // namespace

Status self_test(const plan::Environment& environment, std::span<const SelfTestCase> cases) {
  const base::FpEnvironmentGuard guard;  // numbers are rounded to FP32
  for (const SelfTestCase& c : cases) {
    const Status status = with_scalar(c.scalar, [&]<class T>() { return test<T>(c, environment); });
    if (status.ok()) continue;
    const int capability = environment.facts.compute_capability;
    return {StatusCode::kUnsupported, "device " + std::to_string(environment.facts.device) +
                                          ", of compute capability " + std::to_string(capability / 10) + "." +
                                          std::to_string(capability % 10) + ", fails a test: " + text_of(c) + ": " +
                                          status.reason()};
  }
  return {};
}

}  // namespace kizami::exec
