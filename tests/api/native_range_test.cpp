// SPDX-License-Identifier: MIT
// Scheme native where terms or sums leave the range of the type on the way, though the result does not: the outcome
// says that the bound is conditional, and where the planner chose the scheme another one answers within the bound.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "api_case.hpp"

namespace kizami::api_test {
namespace {

/// alpha AB, all rows of A and columns of B alike.
struct Hard {
  const char* name;
  std::vector<double> a, b;
  double alpha;
  double want;  ///< NaN: any finite number, since |A||B| is beyond the range
};

std::vector<Hard> hard_products() {
  const double any = std::numeric_limits<double>::quiet_NaN();
  return {{"every term underflows", std::vector<double>(1000, 0x1p-538), std::vector<double>(1000, 0.75 * 0x1p-537), 1,
           375 * 0x1p-1074},
          {"a sum overflows", {1e200, -1e200, 1}, {1e200, 1e200, 1}, 1, any},
          {"a product overflows before alpha", {0x1p664}, {0x1p664}, 0x1p-996, 0x1p332},
          {"a product underflows before alpha", {0x1p-664}, {0x1p-664}, 0x1p996, 0x1p-332}};
}

template <class T>
class NativeRange : public ::testing::Test {};
using Types = ::testing::Types<double, std::complex<double>>;
TYPED_TEST_SUITE(NativeRange, Types);

constexpr std::int64_t kNumLines = 3;

template <class T>
Status multiply(const Hard& x, const Policy& policy, std::vector<T>& c, Outcome& outcome) {
  const auto k = static_cast<std::int64_t>(x.a.size());
  std::vector<T> a, b;
  for (std::int64_t i = 0; i < kNumLines; ++i) a.insert(a.end(), x.a.begin(), x.a.end());
  for (std::int64_t j = 0; j < kNumLines; ++j) b.insert(b.end(), x.b.begin(), x.b.end());
  c.assign(kNumLines * kNumLines, T{-1});
  return gemm<T>(Layout::kColMajor, Op::kTranspose, Op::kNone, kNumLines, kNumLines, k, T(x.alpha), a.data(), k,
                 b.data(), k, T{0}, c.data(), kNumLines, policy, &outcome);
}

TYPED_TEST(NativeRange, ByNameTheBoundIsConditional) {
  Policy policy;
  policy.scheme = Scheme::kNative;
  for (const Hard& x : hard_products()) {
    std::vector<TypeParam> c;
    Outcome outcome;
    ASSERT_TRUE(multiply(x, policy, c, outcome).ok()) << x.name;
    EXPECT_EQ(outcome.scheme, Scheme::kNative) << x.name;
    EXPECT_TRUE(outcome.is_conditional) << x.name;
  }
}

TYPED_TEST(NativeRange, ByChoiceAnotherSchemeAnswers) {
  Policy policy;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  for (const Hard& x : hard_products()) {
    ASSERT_EQ(make_plan(kScalarOf<TypeParam>, kNumLines, kNumLines, static_cast<std::int64_t>(x.a.size()), policy)
                  .value()
                  .scheme(),
              Scheme::kNative)
        << "else this tests nothing";
    std::vector<TypeParam> c;
    Outcome outcome;
    ASSERT_TRUE(multiply(x, policy, c, outcome).ok()) << x.name;
    EXPECT_EQ(outcome.scheme, Scheme::kOzaki2) << x.name;
    EXPECT_FALSE(outcome.is_conditional) << x.name;
    for (const TypeParam& element : c) {
      const double got = std::real(element);
      if (std::isnan(x.want)) {
        EXPECT_TRUE(std::isfinite(got)) << x.name;
      } else {  // terms of one sign: |A||B| is the result
        EXPECT_LE(std::fabs(got - x.want), outcome.bound * x.want * (1 + 0x1p-40)) << x.name;
      }
    }
  }
}

// Without room for scheme ozaki2 behind it, the call is refused, and C stays.
TYPED_TEST(NativeRange, ByChoiceIsRefusedWhereNothingStandsBehind) {
  Policy policy;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  policy.workspace_limit_bytes = 1;
  for (const Hard& x : hard_products()) {
    std::vector<TypeParam> c;
    Outcome outcome;
    const Status status = multiply(x, policy, c, outcome);
    EXPECT_EQ(status.code(), StatusCode::kAccuracyUnreachable) << x.name;
    EXPECT_NE(status.reason().find("scheme native: terms may overflow or underflow"), std::string::npos)
        << status.reason();
    EXPECT_EQ(c, std::vector<TypeParam>(kNumLines * kNumLines, TypeParam{-1})) << x.name;
  }
}

TYPED_TEST(NativeRange, OrdinaryOperandsAreTheBlas) {
  const Hard x{"ordinary", {1, -2, 3e-9, 0}, {4, 5e8, -6, 1e-30}, -0.5, 0};
  for (const bool is_named : {false, true}) {
    Policy policy;
    policy.reproducibility = Reproducibility::kNotGuaranteed;
    if (is_named) policy.scheme = Scheme::kNative;
    std::vector<TypeParam> c;
    Outcome outcome;
    ASSERT_TRUE(multiply(x, policy, c, outcome).ok());
    EXPECT_EQ(outcome.scheme, Scheme::kNative);
    EXPECT_FALSE(outcome.is_conditional);
  }
}

// C and beta count, too: beta C alone overflows, the sum does not.
TYPED_TEST(NativeRange, BetaC) {
  for (const bool is_named : {false, true}) {
    Policy policy;
    policy.reproducibility = Reproducibility::kNotGuaranteed;
    if (is_named) policy.scheme = Scheme::kNative;
    const std::vector<TypeParam> a{TypeParam(-0x1p500)}, b{TypeParam(0x1p500)};
    std::vector<TypeParam> c{TypeParam(0x1p1000)};
    Outcome outcome;
    ASSERT_TRUE(gemm<TypeParam>(Layout::kColMajor, Op::kNone, Op::kNone, 1, 1, 1, TypeParam(0x1p10), a.data(), 1,
                                b.data(), 1, TypeParam(0x1p24), c.data(), 1, policy, &outcome)
                    .ok());
    EXPECT_EQ(outcome.is_conditional, is_named);
    EXPECT_EQ(outcome.scheme, is_named ? Scheme::kNative : Scheme::kOzaki2);
  }
}

}  // namespace
}  // namespace kizami::api_test
