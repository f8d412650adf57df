// SPDX-License-Identifier: MIT
// What calls tell of their effort without being waited for is what their outcomes say.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/device_memory.hpp"
#include "gpu/drawn_elements.hpp"
#include "gpu/sm90_test.hpp"
#include "kizami/cuda.hpp"

namespace kizami::gpu_test {
namespace {

constexpr std::int64_t kSize = 300;

/// @shape several kSize x kSize matrices
template <class T>
std::vector<T> numbers(std::int64_t num_matrices, double phi, unsigned seed) {
  return drawn_elements<T>(static_cast<std::size_t>(num_matrices * kSize * kSize), phi, seed);
}

template <class T>
class Products {
 public:
  Products(std::vector<T> a, const std::vector<T>& b)
      : num_products_(static_cast<std::int64_t>(a.size()) / (kSize * kSize)), a_(a), b_(b), c_(a.size()) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;
  ~Products() { static_cast<void>(cudaStreamDestroy(stream_)); }

  Status multiply(Scheme scheme, const EffortNote& note, std::vector<Outcome>* outcomes, T alpha = T{1}) const {
    Policy policy;
    policy.scheme = scheme;
    if (scheme == Scheme::kEc) policy.reproducibility = Reproducibility::kNotGuaranteed;
    if (outcomes != nullptr) outcomes->resize(static_cast<std::size_t>(num_products_));
    constexpr std::int64_t kStride = kSize * kSize;
    return cuda::gemm_strided_batched<T>(stream_, Layout::kColMajor, Op::kNone, Op::kNone, kSize, kSize, kSize, alpha,
                                         a_.data(), kSize, kStride, b_.data(), kSize, kStride, T{0}, c_.data(), kSize,
                                         kStride, num_products_, policy,
                                         outcomes == nullptr ? nullptr : outcomes->data(), note);
  }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  std::int64_t num_products_;
  DeviceArray<T> a_, b_, c_;
  cudaStream_t stream_ = nullptr;
};

class EffortOfCalls : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const Result<std::span<std::uint64_t>> made = cuda::make_effort_words(4);
    ASSERT_TRUE(made.ok()) << made.status().reason();
    words = made.value();
    for (std::uint64_t& word : words) EXPECT_FALSE(cuda::read_effort(&word).has_value());
  }
  /// What the word holds is what the outcomes say. @return it
  Effort expect_told(std::uint64_t* word, std::uint32_t number, const std::vector<Outcome>& outcomes) {
    const std::optional<ToldEffort> told = cuda::read_effort(word);
    EXPECT_TRUE(told.has_value());
    if (!told) return {};
    EXPECT_EQ(told->number, number);
    int rung = -1;
    bool is_equilibrated = false;
    std::int64_t exceptions = 0;
    for (const Outcome& x : outcomes) {
      if (x.scheme == Scheme::kOzaki2) rung = std::max(rung, x.rung);
      is_equilibrated |= x.equilibrated;
      exceptions += x.repaired + (x.nonfinite_rows + x.nonfinite_cols) * kSize;
    }
    if (outcomes[0].scheme == Scheme::kOzaki2) {
      EXPECT_EQ(told->effort.rung, rung);
    }
    EXPECT_EQ(told->effort.is_equilibrated, is_equilibrated);
    EXPECT_EQ(told->effort.num_exceptions, exceptions);
    return told->effort;
  }
  template <class T>
  Effort effort_of(std::int64_t num_products, double phi, Scheme scheme, std::uint32_t number) {
    SCOPED_TRACE(std::string(to_string(kScalarOf<T>)) + " phi " + std::to_string(phi));
    const Products<T> x(numbers<T>(num_products, phi, 1), numbers<T>(num_products, phi, 2));
    std::vector<Outcome> outcomes;
    const Status status = x.multiply(scheme, {&words[0], number}, &outcomes);
    EXPECT_TRUE(status.ok()) << status.reason();
    return expect_told(&words[0], number, outcomes);
  }

  std::span<std::uint64_t> words;
};

TEST_F(EffortOfCalls, IsWhatOutcomesSay) {
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  std::uint32_t number = 0;
  const auto all_types = [&](std::int64_t num_products, double phi, Scheme scheme) {
    effort_of<float>(num_products, phi, scheme, ++number);
    effort_of<std::complex<float>>(num_products, phi, scheme, ++number);
    if (scheme == Scheme::kEc) return;
    effort_of<std::complex<double>>(num_products, phi, scheme, ++number);
    effort_of<double>(num_products, phi, scheme, ++number);
  };
  for (const double phi : {0.1, 2.0, 6.0, 30.0}) {
    all_types(1, std::min(phi, 6.0), Scheme::kOzaki2);
    all_types(1, std::min(phi, 6.0), Scheme::kEc);
    all_types(3, std::min(phi, 6.0), Scheme::kOzaki2);
    all_types(3, std::min(phi, 6.0), Scheme::kEc);
    effort_of<double>(1, phi, Scheme::kOzaki2, ++number);
  }
  all_types(70, 2.0, Scheme::kOzaki2);  // more products than lanes
}

TEST_F(EffortOfCalls, TellsWideFromTame) {
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  const Effort tame = effort_of<double>(1, 0.1, Scheme::kOzaki2, 1);
  const Effort wide = effort_of<double>(1, 6.0, Scheme::kOzaki2, 2);
  EXPECT_EQ(tame, Effort{}) << "what the plan counts on";
  EXPECT_TRUE(wide.has_second_look);
  EXPECT_NE(wide.rung, 0);
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  const Result<Plan> plan = cuda::make_plan(Scalar::kF64, kSize, kSize, kSize, policy);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(cuda::predicted_seconds(plan.value(), tame), plan.value().predicted_seconds());
  EXPECT_GT(cuda::predicted_seconds(plan.value(), wide), plan.value().predicted_seconds());
  EXPECT_EQ(effort_of<float>(1, 0.1, Scheme::kEc, 3).stage, 0);
  EXPECT_NE(effort_of<float>(1, 6.0, Scheme::kEc, 4).stage, 0);
}

TEST_F(EffortOfCalls, CountsLinesThatAreNotFinite) {
  std::vector<double> a = numbers<double>(1, 0.1, 1);
  a[7] = std::numeric_limits<double>::infinity();
  const Products<double> x(a, numbers<double>(1, 0.1, 2));
  std::vector<Outcome> outcomes;
  ASSERT_TRUE(x.multiply(Scheme::kOzaki2, {&words[1], 9}, &outcomes).ok());
  EXPECT_EQ(expect_told(&words[1], 9, outcomes).num_exceptions, kSize);
}

TEST_F(EffortOfCalls, ACallThatMultipliesNothingTellsNothing) {
  const Products<double> x(numbers<double>(1, 0.1, 1), numbers<double>(1, 0.1, 2));
  ASSERT_TRUE(x.multiply(Scheme::kOzaki2, {&words[2], 1}, nullptr, 0.0).ok());
  x.wait();
  EXPECT_FALSE(cuda::read_effort(&words[2]).has_value());
  EXPECT_FALSE(cuda::read_effort(&words[3]).has_value()) << "which no call was given";
}

TEST_F(EffortOfCalls, AGraphTellsAtEachReplay) {
  const Products<double> x(numbers<double>(1, 6.0, 1), numbers<double>(1, 6.0, 2));
  ASSERT_TRUE(x.multiply(Scheme::kOzaki2, {}, nullptr).ok());
  x.wait();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check(cudaStreamBeginCapture(x.stream(), cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
  const Status status = x.multiply(Scheme::kOzaki2, {&words[0], 77}, nullptr);
  check(cudaStreamEndCapture(x.stream(), &graph), "cudaStreamEndCapture");
  ASSERT_TRUE(status.ok()) << status.reason();
  check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  EXPECT_FALSE(cuda::read_effort(&words[0]).has_value()) << "nothing has run";
  for (int replay = 0; replay < 2; ++replay) {
    words[0] = 0;
    check(cudaGraphLaunch(executable, x.stream()), "cudaGraphLaunch");
    x.wait();
    const std::optional<ToldEffort> told = cuda::read_effort(&words[0]);
    ASSERT_TRUE(told.has_value());
    EXPECT_EQ(told->number, 77U);
    EXPECT_TRUE(told->effort.has_second_look);
  }
  check(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
  check(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

}  // namespace
}  // namespace kizami::gpu_test
