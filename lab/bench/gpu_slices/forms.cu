// SPDX-License-Identifier: MIT
#include "gpu_slices/forms.hpp"

#include <utility>
#include <vector>

#include "device_bench.cuh"
#include "kizami/cuda.hpp"

namespace bench {
namespace {

/// Streams that begin where the default stream is, and that it waits for.
class Streams {
 public:
  explicit Streams(int count) : streams_(static_cast<std::size_t>(count)), done_(streams_.size()) {
    check(cudaEventCreateWithFlags(&begun_, cudaEventDisableTiming), "event");
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      check(cudaStreamCreateWithFlags(&streams_[s], cudaStreamNonBlocking), "stream");
      check(cudaEventCreateWithFlags(&done_[s], cudaEventDisableTiming), "event");
    }
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  ~Streams() {
    static_cast<void>(cudaEventDestroy(begun_));
    for (cudaEvent_t event : done_) static_cast<void>(cudaEventDestroy(event));
    for (cudaStream_t stream : streams_) static_cast<void>(cudaStreamDestroy(stream));
  }
  void fork() const {
    check(cudaEventRecord(begun_), "event");
    for (cudaStream_t stream : streams_) check(cudaStreamWaitEvent(stream, begun_), "stream");
  }
  void join() const {
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      check(cudaEventRecord(done_[s], streams_[s]), "event");
      check(cudaStreamWaitEvent(nullptr, done_[s]), "stream");
    }
  }
  [[nodiscard]] cudaStream_t at(std::int64_t s) const { return streams_[static_cast<std::size_t>(s)]; }

 private:
  std::vector<cudaStream_t> streams_;
  std::vector<cudaEvent_t> done_;
  cudaEvent_t begun_ = nullptr;
};

/// Column-major [Re X, -Im X; Im X, Re X] of a column-major X of `rows` rows.
__global__ void enlarge(const double2* x, std::int64_t rows, std::int64_t count, double* out) {
  for (std::int64_t at = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; at < count;
       at += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const double2 value = x[at];
    const std::int64_t left = at / rows * 2 * rows + at % rows;
    const std::int64_t right = left + 2 * count;
    out[left] = out[right + rows] = value.x;
    out[left + rows] = value.y;
    out[right] = -value.y;
  }
}

/// The complex matrix of `rows` rows whose parts lie above each other in x.
__global__ void gather(const double* x, std::int64_t rows, std::int64_t count, double2* out) {
  for (std::int64_t at = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; at < count;
       at += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::int64_t from = at / rows * 2 * rows + at % rows;
    out[at] = {x[from], x[from + rows]};
  }
}

}  // namespace

kizami::Result<Form> column_blocks(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, const double* b,
                                   double* c, kizami::Policy policy, int num_streams) {
  const std::int64_t columns = n / kColumnBlocks;
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "memory");
  policy.workspace_limit_bytes = total_bytes / 4 / static_cast<std::size_t>(num_streams);
  auto plan = kizami::cuda::make_plan(kizami::Scalar::kF64, m, columns, k, policy);
  if (!plan.ok()) return plan.status();
  const std::size_t bytes = (plan.value().workspace_bytes() + 255) / 256 * 256;
  const auto streams = std::make_shared<Streams>(num_streams);
  const auto call = [=, plan = plan.value()](std::span<std::byte> workspace) {
    streams->fork();
    for (std::int64_t block = 0; block < kColumnBlocks; ++block) {
      const std::int64_t s = block % num_streams;
      check(kizami::cuda::run<double>(plan, 1.0, kizami::blas_view(a, m, k, m),
                                      kizami::blas_view(b + block * columns * k, k, columns, k), 0.0,
                                      kizami::blas_view(c + block * columns * m, m, columns, m),
                                      workspace.subspan(static_cast<std::size_t>(s) * bytes, bytes), streams->at(s)),
            "a block of columns");
    }
    streams->join();
  };
  return Form{call, bytes * static_cast<std::size_t>(num_streams), plan.value()};
}

kizami::Result<Form> full_enlarged(std::int64_t m, std::int64_t n, std::int64_t k, const std::complex<double>* a,
                                   const std::complex<double>* b, std::complex<double>* c,
                                   const kizami::Policy& policy) {
  auto plan = kizami::cuda::make_plan(kizami::Scalar::kF64, 2 * m, 2 * n, 2 * k, policy);
  if (!plan.ok()) return plan.status();
  struct Matrices {
    DeviceBuffer<double> a, b, c;
  };
  const auto x = std::shared_ptr<Matrices>(
      new Matrices{DeviceBuffer<double>(4 * m * k), DeviceBuffer<double>(4 * k * n), DeviceBuffer<double>(4 * m * n)});
  const auto call = [=, plan = plan.value()](std::span<std::byte> workspace) {
    enlarge<<<2048, 256>>>(reinterpret_cast<const double2*>(a), m, m * k, x->a.data);
    enlarge<<<2048, 256>>>(reinterpret_cast<const double2*>(b), k, k * n, x->b.data);
    const auto view = [](const double* data, std::int64_t rows, std::int64_t cols) {
      return kizami::blas_view(data, rows, cols, rows);
    };
    check(kizami::cuda::run<double>(plan, 1.0, view(x->a.data, 2 * m, 2 * k), view(x->b.data, 2 * k, 2 * n), 0.0,
                                    kizami::blas_view(x->c.data, 2 * m, 2 * n, 2 * m), workspace, nullptr),
          "the enlarged product");
    gather<<<2048, 256>>>(x->c.data, m, m * n, reinterpret_cast<double2*>(c));
    check(cudaGetLastError(), "the enlarged product");
  };
  return Form{call, plan.value().workspace_bytes(), plan.value()};
}

}  // namespace bench
