// SPDX-License-Identifier: MIT
// Batches: the bits of single calls, for strides, shared operands, pointer arrays and every way of running them.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kizami/gemm.hpp"

namespace kizami::api_test {
namespace {

template <class T>
class Batched : public testing::Test {
 protected:
  static constexpr std::int64_t kM = 13, kN = 7, kK = 40, kLd = 45, kCount = 9;

  static T number(std::uint64_t& state) {
    const auto next = [&] {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      return static_cast<RealOf<T>>(static_cast<double>(state >> 40) * 0x1p-23 - 1.0);
    };
    if constexpr (kIsComplex<T>) {
      const auto re = next();
      return {re, next()};
    } else {
      return next();
    }
  }
  static std::vector<T> random(std::size_t size, std::uint64_t seed) {
    std::vector<T> out(size);
    for (T& x : out) x = number(seed);
    return out;
  }

  std::vector<T> a = random(kLd * kLd * kCount, 1);
  std::vector<T> b = random(kLd * kLd * kCount, 2);
  std::vector<T> c0 = random(kLd * kLd * kCount, 3);

  std::vector<T> one_by_one(Op op_a, Op op_b, std::int64_t stride_a, std::int64_t stride_b, std::int64_t stride_c) {
    std::vector<T> c = c0;
    for (std::int64_t i = 0; i < kCount; ++i) {
      const Status status = gemm<T>(Layout::kColMajor, op_a, op_b, kM, kN, kK, T(2), a.data() + i * stride_a, kLd,
                                    b.data() + i * stride_b, kLd, T(3), c.data() + i * stride_c, kLd);
      EXPECT_TRUE(status.ok()) << status.reason();
    }
    return c;
  }
};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Batched, Types);

TYPED_TEST(Batched, StridedEqualsSingleCallsBitForBit) {
  using T = TypeParam;
  const std::int64_t whole = this->kLd * this->kLd;
  for (const Op op_a : {Op::kNone, Op::kConjTranspose}) {
    for (const std::int64_t stride_a : {std::int64_t{0}, std::int64_t{5}, whole}) {
      const std::vector<T> want = this->one_by_one(op_a, Op::kTranspose, stride_a, whole, whole);
      for (const int threads : {1, 4}) {
        for (const std::size_t limit : {std::size_t{0}, std::size_t{8} << 20}) {
          Policy policy;
          policy.threads = threads;
          policy.workspace_limit_bytes = limit;
          std::vector<T> c = this->c0;
          std::vector<Outcome> outcomes(static_cast<std::size_t>(this->kCount));
          const Status status =
              gemm_strided_batched<T>(Layout::kColMajor, op_a, Op::kTranspose, this->kM, this->kN, this->kK, T(2),
                                      this->a.data(), this->kLd, stride_a, this->b.data(), this->kLd, whole, T(3),
                                      c.data(), this->kLd, whole, this->kCount, policy, outcomes.data());
          ASSERT_TRUE(status.ok()) << status.reason();
          EXPECT_EQ(c, want);
          for (const Outcome& outcome : outcomes) EXPECT_GT(outcome.moduli, 0);
        }
      }
    }
  }
}

TYPED_TEST(Batched, PointersInAnyOrder) {
  using T = TypeParam;
  const std::int64_t whole = this->kLd * this->kLd;
  const std::vector<T> want = this->one_by_one(Op::kNone, Op::kNone, whole, whole, whole);
  std::vector<T> c = this->c0;
  std::vector<const T*> a_pointers, b_pointers;
  std::vector<T*> out;
  for (std::int64_t i = this->kCount - 1; i >= 0; --i) {
    a_pointers.push_back(this->a.data() + i * whole);
    b_pointers.push_back(this->b.data() + i * whole);
    out.push_back(c.data() + i * whole);
  }
  const Status status =
      gemm_batched<T>(Layout::kColMajor, Op::kNone, Op::kNone, this->kM, this->kN, this->kK, T(2), a_pointers.data(),
                      this->kLd, b_pointers.data(), this->kLd, T(3), out.data(), this->kLd, this->kCount);
  ASSERT_TRUE(status.ok()) << status.reason();
  EXPECT_EQ(c, want);
}

TYPED_TEST(Batched, OtherAccuraciesAndTheNativeBlas) {
  using T = TypeParam;
  const std::int64_t whole = this->kLd * this->kLd;
  std::vector<Policy> policies(3);
  policies[0].accuracy = Accuracy::correct();
  policies[1].accuracy = Accuracy::at_bits(20);
  policies[2].scheme = Scheme::kNative;
  for (const Policy& policy : policies) {
    std::vector<T> want = this->c0;
    std::vector<T> got = this->c0;
    for (std::int64_t i = 0; i < this->kCount; ++i) {
      ASSERT_TRUE(gemm<T>(Layout::kColMajor, Op::kNone, Op::kNone, this->kM, this->kN, this->kK, T(1),
                          this->a.data() + i * whole, this->kLd, this->b.data() + i * whole, this->kLd, T(0),
                          want.data() + i * whole, this->kLd, policy)
                      .ok());
    }
    ASSERT_TRUE(gemm_strided_batched<T>(Layout::kColMajor, Op::kNone, Op::kNone, this->kM, this->kN, this->kK, T(1),
                                        this->a.data(), this->kLd, whole, this->b.data(), this->kLd, whole, T(0),
                                        got.data(), this->kLd, whole, this->kCount, policy)
                    .ok());
    EXPECT_EQ(got, want);
  }
}

TEST(BatchedRefusals, NameTheProductOrTheArgument) {
  std::vector<double> a(40, 1.0);
  std::vector<double> c(40, 7.0);
  const auto call = [&](std::int64_t stride_a, std::int64_t stride_c, std::int64_t count, const Policy& policy = {}) {
    return gemm_strided_batched<double>(Layout::kColMajor, Op::kNone, Op::kNone, 2, 2, 2, 1.0, a.data(), 2, stride_a,
                                        a.data(), 2, stride_a, 0.0, c.data(), 2, stride_c, count, policy);
  };
  const auto expect = [](const Status& status, StatusCode code, const std::string& part) {
    EXPECT_EQ(to_string(status.code()), to_string(code)) << status.reason();
    EXPECT_NE(status.reason().find(part), std::string::npos) << status.reason();
  };
  expect(call(4, 4, -1), StatusCode::kInvalidArgument, "num_products = -1, must be >= 0");
  expect(call(-1, 4, 2), StatusCode::kInvalidArgument, "stride_a = -1, must be >= 0");
  expect(call(4, 0, 2), StatusCode::kInvalidArgument, "stride_c = 0 lets two matrices C of the batch overlap");
  EXPECT_TRUE(call(4, 0, 0).ok());
  for (const double x : c) EXPECT_EQ(x, 7.0);
  EXPECT_TRUE(call(4, 0, 1).ok());

  a[4 * 3] = std::numeric_limits<double>::quiet_NaN();
  Policy policy;
  policy.reject_nonfinite = true;
  for (const int threads : {1, 3}) {
    policy.threads = threads;
    c.assign(40, 7.0);
    expect(call(4, 4, 10, policy), StatusCode::kNonFinite, "product 3 of the batch: NaN or Inf in 1 rows of op(A)");
    for (int i = 12; i < 16; ++i) EXPECT_EQ(c[static_cast<std::size_t>(i)], 7.0) << "the product that failed";
  }
  const double* const none = nullptr;
  EXPECT_EQ(gemm_batched<double>(Layout::kColMajor, Op::kNone, Op::kNone, 2, 2, 2, 1.0, nullptr, 2, nullptr, 2, 0.0,
                                 nullptr, 2, 1)
                .code(),
            StatusCode::kInvalidArgument);
  double* out = c.data();
  expect(
      gemm_batched<double>(Layout::kColMajor, Op::kNone, Op::kNone, 2, 2, 2, 1.0, &none, 2, &none, 2, 0.0, &out, 2, 1),
      StatusCode::kInvalidArgument, "product 0 of the batch: A is null");
}

}  // namespace
}  // namespace kizami::api_test
