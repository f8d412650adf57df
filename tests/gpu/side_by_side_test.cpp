// SPDX-License-Identifier: MIT
// Kernels of a call that run side by side: their order, and the bits of the host.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gpu/device_memory.hpp"
#include "gpu/sm90_test.hpp"
#include "kizami/cuda.hpp"
#include "kizami/gemm.hpp"

namespace kizami::gpu_test {
namespace {

constexpr std::int64_t kSize =
    2048;  // the least of which repairs have a kernel of their own, and the CRT of real numbers
constexpr std::int64_t kLength = 96;

constexpr std::int64_t kSpecialLines =
    20;  ///< of A and of B: their pairs cancel what no rung holds, so FP64 arithmetic answers them

/// Numbers of wide exponents, element i times factor(i).
template <class T, class Factor>
[[nodiscard]] std::vector<T> wide_numbers(std::int64_t count, std::uint64_t seed, const Factor& factor) {
  std::mt19937_64 source(seed);
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  std::normal_distribution<double> normal;
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto draw = [&] { return factor(i) * uniform(source) * std::exp(2.5 * normal(source)); };
    T& x = values[static_cast<std::size_t>(i)];
    if constexpr (kIsComplex<T>) {
      const double re = draw();
      x = {re, draw()};
    } else {
      x = draw();
    }
  }
  return values;
}
/// Special rows of A are large where special columns of B are small.
[[nodiscard]] double factor_of_a(std::int64_t i) {
  return i % kSize >= kSpecialLines ? 1 : i / kSize < kLength / 2 ? 0x1p100 : 0x1p-100;
}
[[nodiscard]] double factor_of_b(std::int64_t i) {
  return i / kLength >= kSpecialLines ? 1 : i % kLength < kLength / 2 ? 0x1p-100 : 0x1p100;
}

template <class T>
class SideBySide : public Sm90Test {
 protected:
  void SetUp() override {
    Sm90Test::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    a_.emplace(host_a_);
    b_.emplace(host_b_);
  }
  void TearDown() override {
    if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
  }

  [[nodiscard]] static Policy policy() {
    Policy policy;
    policy.scheme = Scheme::kOzaki2;
    return policy;
  }
  [[nodiscard]] Status multiply(T* c, Outcome* outcome) const {
    return cuda::gemm<T>(stream_, Layout::kColMajor, Op::kNone, Op::kNone, kSize, kSize, kLength, T{1}, a_->data(),
                         kSize, b_->data(), kLength, beta_, c, kSize, policy(), outcome);
  }

  const std::vector<T> host_a_ = wide_numbers<T>(kSize * kLength, 1, factor_of_a);
  const std::vector<T> host_b_ = wide_numbers<T>(kSize * kLength, 2, factor_of_b);
  const std::vector<T> host_c_ = wide_numbers<T>(kSize * kSize, 3, [](std::int64_t) { return 1.0; });
  const T beta_{0.5};
  std::optional<DeviceArray<T>> a_;
  std::optional<DeviceArray<T>> b_;
  cudaStream_t stream_ = nullptr;
};
using Types = testing::Types<double, std::complex<double>>;
TYPED_TEST_SUITE(SideBySide, Types);

TYPED_TEST(SideBySide, HasTheBitsOfTheHost) {
  using T = TypeParam;
  std::vector<T> expected = this->host_c_;
  const Status on_host =
      gemm<T>(Layout::kColMajor, Op::kNone, Op::kNone, kSize, kSize, kLength, T{1}, this->host_a_.data(), kSize,
              this->host_b_.data(), kLength, this->beta_, expected.data(), kSize, this->policy());
  ASSERT_TRUE(on_host.ok()) << on_host.reason();
  for (int repeat = 0; repeat < 3; ++repeat) {
    DeviceArray<T> c(this->host_c_);
    Outcome outcome;
    const Status status = this->multiply(c.data(), &outcome);
    ASSERT_TRUE(status.ok()) << status.reason();
    EXPECT_GE(outcome.repaired, kSpecialLines * kSpecialLines);
    if (!kIsComplex<T>) {
      EXPECT_GT(outcome.moduli, 14) << "rungs of the kernel of bytes, of which complex numbers have all";
    }
    const std::vector<T> found = c.download();
    std::size_t at = 0;
    while (at < found.size() && std::memcmp(&found[at], &expected[at], sizeof(T)) == 0) ++at;
    ASSERT_EQ(at, found.size()) << found[at] << ", must be " << expected[at];
  }
}

#if CUDART_VERSION >= 13000
TYPED_TEST(SideBySide, RepairsAreEnqueuedBeforeTheKernelOfBytes) {
  using T = TypeParam;
  DeviceArray<T> c(this->host_c_);
  ASSERT_TRUE(this->multiply(c.data(), nullptr).ok());  // what a first call sets up is there
  check(cudaStreamSynchronize(this->stream_), "cudaStreamSynchronize");
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(this->stream_, cudaStreamCaptureModeGlobal), "capture");
  const Status status = this->multiply(c.data(), nullptr);
  check(cudaStreamEndCapture(this->stream_, &graph), "capture");
  ASSERT_TRUE(status.ok()) << status.reason();
  std::size_t count = 0;
  check(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count), "edges");
  std::vector<cudaGraphNode_t> from(count);
  std::vector<cudaGraphNode_t> to(count);
  std::vector<cudaGraphEdgeData> data(count);
  check(cudaGraphGetEdges(graph, from.data(), to.data(), data.data(), &count), "edges");
  const auto name_of = [](cudaGraphNode_t node) -> std::string {
    cudaGraphNodeType type{};
    check(cudaGraphNodeGetType(node, &type), "type of a node");
    if (type != cudaGraphNodeTypeKernel) return "";
    cudaKernelNodeParams kernel{};
    const char* name = nullptr;
    check(cudaGraphKernelNodeGetParams(node, &kernel), "a node");
    check(cudaFuncGetName(&name, kernel.func), "name of a kernel");
    return name;
  };
  int beside = 0;
  for (std::size_t e = 0; e < count; ++e) {
    if (name_of(to[e]).find("reconstruct_from_bytes") == std::string::npos) continue;
    EXPECT_NE(name_of(from[e]).find("answer_repairs_sm90"), std::string::npos) << name_of(from[e]);
    EXPECT_EQ(data[e].type, cudaGraphDependencyTypeProgrammatic);
    ++beside;
  }
  EXPECT_EQ(beside, 1);
  check(cudaGraphDestroy(graph), "cudaGraphDestroy");
}
#endif

}  // namespace
}  // namespace kizami::gpu_test
