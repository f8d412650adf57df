// SPDX-License-Identifier: MIT
// A call of which CUDA refuses a launch, each of its launches in turn: C is as it was unless last_call_writes_c(), and
// lack of memory is said as such as long as it is.
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gpu/device_memory.hpp"
#include "gpu_refused_launches/refusals.hpp"
#include "kizami/cuda.hpp"

namespace kizami::gpu_test {
namespace {

constexpr std::int64_t kSize = 96;
constexpr std::int64_t kInner = 200;
constexpr std::int64_t kProducts = 2;

template <class T>
std::vector<T> numbers(std::int64_t count, unsigned seed) {
  std::minstd_rand random(seed);
  const auto one = [&] { return static_cast<double>(random() % 2001) / 1000 - 1; };
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& x : values) {
    if constexpr (kIsComplex<T>) {
      x = T(static_cast<typename T::value_type>(one()), static_cast<typename T::value_type>(one()));
    } else {
      x = static_cast<T>(one());
    }
  }
  return values;
}

/// kProducts products, C <- C + A B.
template <class T>
class Products {
 public:
  Products()
      : before_(numbers<T>(kProducts * kSize * kSize, 3)),
        a_(numbers<T>(kProducts * kSize * kInner, 1)),
        b_(numbers<T>(kProducts * kInner * kSize, 2)),
        c_(before_) {}

  [[nodiscard]] Status multiply(const Policy& policy, std::int64_t k, std::int64_t num_products) const {
    return cuda::gemm_strided_batched<T>(nullptr, Layout::kColMajor, Op::kNone, Op::kNone, kSize, kSize, k, T{1},
                                         a_.data(), kSize, kSize * kInner, b_.data(), kInner, kInner * kSize, T{1},
                                         c_.data(), kSize, kSize * kSize, num_products, policy);
  }
  void reset() { c_.upload(before_); }
  [[nodiscard]] std::vector<T> result() const { return c_.download(); }
  [[nodiscard]] bool is_as_it_was() const { return is_same(c_.download(), before_); }
  [[nodiscard]] static bool is_same(const std::vector<T>& x, const std::vector<T>& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
  }

 private:
  std::vector<T> before_;
  DeviceArray<T> a_, b_, c_;
};

class RefusedLaunches : public DeviceTest {
 protected:
  void TearDown() override { refuse_launch(-1, cudaSuccess); }

  template <class T>
  void expect_truth(const std::string& what, const Policy& policy, std::int64_t k = kInner,
                    std::int64_t num_products = 1) {
    Products<T> x;
    refuse_launch(-1, cudaSuccess);
    const Status whole = x.multiply(policy, k, num_products);
    ASSERT_TRUE(whole.ok()) << what << ": " << whole.reason();
    EXPECT_TRUE(cuda::last_call_writes_c()) << what;
    const std::vector<T> expected = x.result();
    ASSERT_FALSE(x.is_as_it_was()) << what << ": nothing to see";
    const int launches = num_launches();
    ASSERT_GT(launches, 0) << what;
    int untouched = 0;
    int spoilt = 0;
    for (int i = 0; i < launches; ++i) {
      for (const cudaError_t error : {cudaErrorMemoryAllocation, cudaErrorLaunchOutOfResources}) {
        const std::string which = what + ", launch " + std::to_string(i) + " of " + std::to_string(launches);
        x.reset();
        refuse_launch(i, error);
        const Status status = x.multiply(policy, k, num_products);
        refuse_launch(-1, cudaSuccess);
        ASSERT_FALSE(status.ok()) << which;
        const bool is_as_it_was = x.is_as_it_was();
        EXPECT_TRUE(is_as_it_was || cuda::last_call_writes_c()) << which << ": " << status.reason();
        const bool is_lack = error == cudaErrorMemoryAllocation && !cuda::last_call_writes_c();
        EXPECT_EQ(status.code(), is_lack ? StatusCode::kOutOfMemory : StatusCode::kInternal)
            << which << ": " << status.reason();
        untouched += cuda::last_call_writes_c() ? 0 : 1;
        spoilt += is_as_it_was ? 0 : 1;
      }
    }
    EXPECT_GE(untouched, 2) << what << ": the first launch at least is before any that writes C";
    num_spoilt_ += spoilt;
    x.reset();
    const Status again = x.multiply(policy, k, num_products);
    ASSERT_TRUE(again.ok()) << what << ": " << again.reason();
    EXPECT_TRUE(Products<T>::is_same(x.result(), expected)) << what;
    std::printf("%s: %d launches, C is as it was after %d of %d refusals, written in part after %d\n", what.c_str(),
                launches, untouched, 2 * launches, spoilt);
  }

  int num_spoilt_ = 0;
};

[[nodiscard]] Policy of(Scheme scheme) {
  Policy policy;
  policy.scheme = scheme;
  if (scheme == Scheme::kEc) policy.reproducibility = Reproducibility::kNotGuaranteed;  // which it does not give to all
  return policy;
}

TEST_F(RefusedLaunches, OfOzaki2) {
  expect_truth<double>("ozaki2 d", of(Scheme::kOzaki2));
  expect_truth<float>("ozaki2 s", of(Scheme::kOzaki2));
  expect_truth<std::complex<double>>("ozaki2 z", of(Scheme::kOzaki2));
  expect_truth<std::complex<float>>("ozaki2 c", of(Scheme::kOzaki2));
  EXPECT_GT(num_spoilt_, 0) << "no refusal came behind a launch that writes C";
}

TEST_F(RefusedLaunches, OfEc) {
  expect_truth<float>("ec s", of(Scheme::kEc));
  expect_truth<std::complex<float>>("ec c", of(Scheme::kEc));
  EXPECT_GT(num_spoilt_, 0);
}

TEST_F(RefusedLaunches, OfOzaki1) {
  Policy policy = of(Scheme::kOzaki1);
  policy.slices.num_slices = 8;
  expect_truth<double>("ozaki1 d", policy);
  policy.slices.num_slices = 3;
  policy.slices.sums = SliceSums::kFused;
  policy.engine = EngineName::kHopper;
  expect_truth<double>("ozaki1 d, fused", policy);
  EXPECT_GT(num_spoilt_, 0);
}

TEST_F(RefusedLaunches, OfABatch) {
  expect_truth<double>("ozaki2 d, two products", of(Scheme::kOzaki2), kInner, kProducts);
  EXPECT_GT(num_spoilt_, 0) << "the first product is there when the second is refused";
}

TEST_F(RefusedLaunches, ACallThatIsRefusedAtOnceWritesNothing) {
  const Products<double> x;
  ASSERT_TRUE(x.multiply(of(Scheme::kOzaki2), kInner, 1).ok());
  EXPECT_TRUE(cuda::last_call_writes_c());
  EXPECT_FALSE(x.multiply(of(Scheme::kOzaki2), -1, 1).ok());
  EXPECT_FALSE(cuda::last_call_writes_c());
}

}  // namespace
}  // namespace kizami::gpu_test
