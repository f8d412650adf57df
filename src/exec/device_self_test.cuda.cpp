// SPDX-License-Identifier: MIT
#include "exec/device_self_test.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/cuda_status.hpp"
#include "exec/device_batch.hpp"
#include "exec/environment.hpp"
#include "exec/run.hpp"

namespace kizami::exec {
namespace {

/// A product, so small that the processor takes a millisecond for it.
struct TestCase {
  Scalar scalar;
  EngineName engine;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  int spread;  ///< of exponents: wide ones are not certified, and take the second look and FP64 arithmetic
};
/// Ragged shapes: no extent is a multiple of a tile's.
constexpr std::array kCases = {
    TestCase{Scalar::kF64, EngineName::kMma, 75, 67, 131, 4},
    TestCase{Scalar::kF64, EngineName::kCublasLt, 75, 67, 131, 4},
    TestCase{Scalar::kC128, EngineName::kMma, 43, 51, 70, 4},
    TestCase{Scalar::kF32, EngineName::kMma, 75, 67, 131, 4},
    TestCase{Scalar::kC64, EngineName::kMma, 43, 51, 70, 4},
    TestCase{Scalar::kF64, EngineName::kMma, 33, 40, 1500, 60},
};

[[nodiscard]] std::string text_of(const TestCase& c) {
  return std::string(to_string(c.scalar)) + " " + std::to_string(c.m) + "x" + std::to_string(c.n) + "x" +
         std::to_string(c.k) + " by engine " + std::string(to_string(c.engine));
}

/// Numbers in (-1, 1) times powers of two, the same on every machine.
class Numbers {
 public:
  explicit Numbers(int spread) : spread_(static_cast<std::uint64_t>(spread)) {}
  void fill(double& x) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    const auto significand = static_cast<double>(static_cast<std::int64_t>(state_) >> 11) * 0x1p-52;
    const auto halvings = static_cast<int>((state_ >> 40) % spread_);
    x = significand;
    for (int i = 0; i < halvings; ++i) x *= 0.5;
  }
  void fill(float& x) {
    double wide = 0;
    fill(wide);
    x = static_cast<float>(wide);
  }
  template <class Real>
  void fill(std::complex<Real>& x) {
    Real parts[2];
    fill(parts[0]);
    fill(parts[1]);
    x = {parts[0], parts[1]};
  }
  template <class T>
  [[nodiscard]] std::vector<T> matrix(std::int64_t rows, std::int64_t cols) {
    std::vector<T> out(static_cast<std::size_t>(rows * cols));
    for (T& x : out) fill(x);
    return out;
  }

 private:
  std::uint64_t spread_;
  std::uint64_t state_ = 1;
};

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

/// All column-major, without gaps.
template <class T>
struct Operands {
  std::vector<T> a;
  std::vector<T> b;
  std::vector<T> c;  ///< the processor's
};

template <class T>
Status on_processor(const TestCase& c, Policy policy, Operands<T>& x) {
  policy.engine = EngineName::kAuto;
  policy.threads = 1;
  const Result<plan::Plan> plan = plan::make({c.scalar, c.m, c.n, c.k}, policy, environment());
  if (!plan.ok()) return plan.status();
  const problem::Problem<T, T> problem{T{1}, blas_view<const T>(x.a.data(), c.m, c.k, c.m, Layout::kColMajor),
                                       blas_view<const T>(x.b.data(), c.k, c.n, c.k, Layout::kColMajor), T{0},
                                       blas_view(x.c.data(), c.m, c.n, c.m, Layout::kColMajor)};
  Outcome outcome;
  return run<T, T>(plan.value(), problem, nullptr, nullptr, {}, outcome);
}

template <class T>
Status on_device(const TestCase& c, Policy policy, const plan::Environment& environment, const Operands<T>& x,
                 std::vector<T>& out) {
  policy.engine = c.engine;
  const Result<plan::Plan> plan = plan::make({c.scalar, c.m, c.n, c.k}, policy, environment);
  if (!plan.ok()) return plan.status();
  const auto copy = [&](void* to, const void* from, std::size_t elems, cudaMemcpyKind kind, const Stream& stream) {
    return base::cuda_status(cudaMemcpyAsync(to, from, elems * sizeof(T), kind, stream.get()),
                             "copies of the self-test");
  };
  Stream stream;
  KIZAMI_RETURN_IF_ERROR(stream.create());
  Memory elements;
  Memory workspace;
  KIZAMI_RETURN_IF_ERROR(elements.allocate((x.a.size() + x.b.size() + x.c.size()) * sizeof(T)));
  KIZAMI_RETURN_IF_ERROR(workspace.allocate(plan.value().schedule.workspace_bytes));
  T* const a = static_cast<T*>(elements.data());
  T* const b = a + x.a.size();
  T* const result = b + x.b.size();
  KIZAMI_RETURN_IF_ERROR(copy(a, x.a.data(), x.a.size(), cudaMemcpyHostToDevice, stream));
  KIZAMI_RETURN_IF_ERROR(copy(b, x.b.data(), x.b.size(), cudaMemcpyHostToDevice, stream));
  const device::DeviceProblem<T> problem{T{1}, blas_view<const T>(a, c.m, c.k, c.m, Layout::kColMajor),
                                         blas_view<const T>(b, c.k, c.n, c.k, Layout::kColMajor), T{0},
                                         blas_view(result, c.m, c.n, c.m, Layout::kColMajor)};
  KIZAMI_RETURN_IF_ERROR(
      run_device<T>(plan.value(), {&problem, 1},
                    {static_cast<std::byte*>(workspace.data()), plan.value().schedule.workspace_bytes}, stream.get()));
  out.resize(x.c.size());
  KIZAMI_RETURN_IF_ERROR(copy(out.data(), result, out.size(), cudaMemcpyDeviceToHost, stream));
  return base::cuda_status(cudaStreamSynchronize(stream.get()), "the self-test");
}

template <class T>
Status test(const TestCase& c, const plan::Environment& environment) {
  Numbers numbers(c.spread);
  Operands<T> x{numbers.matrix<T>(c.m, c.k), numbers.matrix<T>(c.k, c.n),
                std::vector<T>(static_cast<std::size_t>(c.m * c.n))};
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  policy.max_rungs = c.engine == EngineName::kCublasLt ? 1 : 0;
  KIZAMI_RETURN_IF_ERROR(on_processor(c, policy, x));
  std::vector<T> got;
  KIZAMI_RETURN_IF_ERROR(on_device(c, policy, environment, x, got));
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::memcmp(&got[i], &x.c[i], sizeof(T)) == 0) continue;
    const auto rows = static_cast<std::size_t>(c.m);
    return {StatusCode::kUnsupported,
            "element (" + std::to_string(i % rows) + ", " + std::to_string(i / rows) + ") is not the processor's"};
  }
  return {};
}

}  // namespace

Status self_test(const plan::Environment& environment) {
  for (const TestCase& c : kCases) {
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
