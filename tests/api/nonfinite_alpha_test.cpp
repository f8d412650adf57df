// SPDX-License-Identifier: MIT
// alpha = Inf takes the sign of the exact product, also where it cancels far below every bound; an exact zero gives
// NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "api_case.hpp"

namespace kizami::api_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Rows of A times a column of ones: 2^60 + 2^-300 - 2^60 > 0, its negative, an exact zero, and an ordinary sum.
const std::vector<std::vector<double>> kRows = {
    {0x1p60, 0x1p-300, -0x1p60}, {-0x1p60, -0x1p-300, 0x1p60}, {0x1p60, 0, -0x1p60}, {1, 2, 3}};
constexpr std::int64_t kM = 4, kK = 3;

template <class T>
class NonFiniteAlpha : public ::testing::Test {};
using Types = ::testing::Types<double, std::complex<double>>;
TYPED_TEST_SUITE(NonFiniteAlpha, Types);

TYPED_TEST(NonFiniteAlpha, TakesTheSignOfTheExactProduct) {
  using T = TypeParam;
  std::vector<T> a;
  for (std::int64_t h = 0; h < kK; ++h) {
    for (const auto& row : kRows) a.push_back(T(row[static_cast<std::size_t>(h)]));
  }
  const std::vector<T> b(kK, T{1});
  for (const Scheme scheme : {Scheme::kAuto, Scheme::kOzaki2, Scheme::kOzaki1}) {
    for (const Reproducibility reproducibility : {Reproducibility::kEngineToEngine, Reproducibility::kNotGuaranteed}) {
      for (const double alpha : {kInf, -kInf}) {
        for (const double beta : {0.0, 2.0}) {
          Policy policy;
          policy.scheme = scheme;
          policy.reproducibility = reproducibility;
          std::vector<T> c(kM, T{1});
          Outcome outcome;
          const Status status = gemm<T>(Layout::kColMajor, Op::kNone, Op::kNone, kM, 1, kK, T(alpha), a.data(), kM,
                                        b.data(), kK, T(beta), c.data(), kM, policy, &outcome);
          ASSERT_TRUE(status.ok()) << status.reason();
          EXPECT_EQ(std::real(c[0]), alpha);
          EXPECT_EQ(std::real(c[1]), -alpha);
          EXPECT_TRUE(std::isnan(std::real(c[2])));
          EXPECT_EQ(std::real(c[3]), alpha);
          EXPECT_NE(outcome.scheme, Scheme::kNative);
        }
      }
    }
  }
}

TEST(NonFiniteAlphaDoubleDouble, TakesTheSignOfTheExactProduct) {
  std::vector<double> a;
  for (std::int64_t h = 0; h < kK; ++h) {
    for (const auto& row : kRows) a.push_back(row[static_cast<std::size_t>(h)]);
  }
  const std::vector<double> b(kK, 1.0);
  std::vector<DoubleDouble> c(kM);
  const Status status = gemm_dd<double>(Layout::kColMajor, Op::kNone, Op::kNone, kM, 1, kK, DoubleDouble(kInf),
                                        a.data(), kM, b.data(), kK, DoubleDouble{0}, c.data(), kM);
  ASSERT_TRUE(status.ok()) << status.reason();
  EXPECT_EQ(c[0].hi, kInf);
  EXPECT_EQ(c[1].hi, -kInf);
  EXPECT_TRUE(std::isnan(c[2].hi));
  EXPECT_EQ(c[3].hi, kInf);
}

TEST(NonFiniteAlphaFloat, TakesTheSignOfTheExactProduct) {
  const std::vector<float> a{0x1p60F, 0x1p-100F, -0x1p60F}, b{1, 1, 1};
  float c = 1;
  ASSERT_TRUE(gemm<float>(Layout::kRowMajor, Op::kNone, Op::kNone, 1, 1, 3, static_cast<float>(kInf), a.data(), 3,
                          b.data(), 1, 0.0F, &c, 1)
                  .ok());
  EXPECT_EQ(c, static_cast<float>(kInf));
}

}  // namespace
}  // namespace kizami::api_test
