// SPDX-License-Identifier: MIT
// The reproducibility policy and scheme native: the platform BLAS is taken only where it is allowed and its bound meets
// the accuracy, and what it then returns does meet it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api_case.hpp"

namespace kizami::api_test {
namespace {

using check::Case;

constexpr std::int64_t kSizes[] = {1, 7, 64, 128, 256, 257, 300, 1000, 5000};

/// Real terms of a product of k elements.
std::int64_t terms_of(Scalar scalar, std::int64_t k) { return is_complex(scalar) ? 2 * k : k; }

constexpr Scalar kScalars[] = {Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128};

TEST(Reproducibility, EngineToEngineNeverTakesTheBlas) {
  for (const Scalar scalar : kScalars) {
    for (const std::int64_t k : kSizes) {
      for (const std::int64_t m : kSizes) {
        for (const Gauge gauge : {Gauge::kEntry, Gauge::kNorm}) {
          Policy policy;
          policy.gauge = gauge;
          const Plan plan = make_plan(scalar, m, 100, k, policy).value();
          ASSERT_EQ(plan.scheme(), Scheme::kOzaki2) << m << ' ' << k;
          ASSERT_NE(plan.engine(), "native_blas");
        }
      }
    }
  }
}

TEST(Reproducibility, NotGuaranteedMayTakeTheBlas) {
  int native = 0;
  for (const Scalar scalar : kScalars) {
    for (const std::int64_t k : kSizes) {
      for (const Accuracy& accuracy :
           {Accuracy::native(), Accuracy::at_bits(10), Accuracy::at_bits(significand_bits(scalar) - 1)}) {
        Policy policy;
        policy.reproducibility = Reproducibility::kNotGuaranteed;
        policy.accuracy = accuracy;
        const Plan plan = make_plan(scalar, 200, 200, k, policy).value();
        EXPECT_LE(plan.bound(), num::target_bound(accuracy, scalar, terms_of(scalar, k))) << plan.explain();
        if (plan.scheme() != Scheme::kNative) continue;
        ++native;
        EXPECT_EQ(plan.engine(), "native_blas");
        // An engine or a number of moduli asked for by name excludes it.
        policy.engine = EngineName::kCpuSimd;
        EXPECT_EQ(make_plan(scalar, 200, 200, k, policy).value().scheme(), Scheme::kOzaki2);
        policy.engine = EngineName::kAuto;
        policy.scheme = Scheme::kOzaki2;
        EXPECT_EQ(make_plan(scalar, 200, 200, k, policy).value().scheme(), Scheme::kOzaki2);
        policy.scheme = Scheme::kAuto;
        policy.forced_moduli = 15;
        EXPECT_EQ(make_plan(scalar, 200, 200, k, policy).value().scheme(), Scheme::kOzaki2);
      }
    }
  }
  EXPECT_GT(native, 0) << "the planner never chose native where it may";
  Policy policy;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  policy.accuracy = Accuracy::at_bits(52);
  EXPECT_EQ(make_plan(Scalar::kF64, 200, 200, 300, policy).value().scheme(), Scheme::kOzaki2);
}

class ForcedNative : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, ForcedNative, ::testing::Values("d", "s", "z", "c"),
                         [](const auto& test) { return std::string(test.param); });

// k beyond 256 goes in blocks, since c(k) u is less than k u there.
TEST_P(ForcedNative, MeetsItsBound) {
  Tally tally;
  int turn = 0;
  for (const char* operands : {"A=randn B=randn", "A=rand B=rand", "A=exprand:phi=4 B=exprand:phi=4",
                               "A=cancel B=cancel", "A=lower B=hilbert"}) {
    for (const std::int64_t k : {1, 2, 255, 256, 257, 600, 1025, 3000}) {
      for (const char* scalars : {"a=1 b=0", "a=-1 b=0"}) {
        if (kIsSanitized && k > 600) continue;
        if (is_left_out(turn++, 5)) continue;
        Case c = case_of(std::string(GetParam()) + " nt 9x8x1 ld+2 scheme=native threads=2 C=randn,nan@all " +
                         operands + " " + scalars);
        c.k = k;
        const Outcome outcome = expect_guaranteed(c, &tally);
        EXPECT_EQ(outcome.scheme, Scheme::kNative);
        EXPECT_EQ(outcome.engine, "native_blas");
        EXPECT_LE(outcome.bound, num::target_bound(c.policy.accuracy, c.scalar, terms_of(c.scalar, k)));
      }
    }
  }
  report(std::string("forced native, ") + GetParam(), tally);
}

TEST_P(ForcedNative, MeetsItsBoundWithAlphaAndBeta) {
  Tally tally;
  for (const std::int64_t k : {3, 300, 2000, 8192}) {
    const bool is_complex_type = is_complex(case_of(std::string(GetParam()) + " nn 1x1x1").scalar);
    if (k > (kIsSanitized ? 300 : is_complex_type ? 2000 : 8192))
      continue;  // the exact reference takes 4 k products an element
    for (const char* scalars :
         {is_complex_type ? "a=2.7-1i b=0.3i C=randn" : "a=2.7 b=-1 C=randn",
          is_complex_type ? "a=1i b=1-2i C=randn" : "a=1 b=-2 C=randn", "a=2.7 b=0 C=randn,nan@all", "a=1 b=1 C=randn",
          "a=0.3 b=-0.7 C=randn", "a=0 b=0.3 C=randn", "a=-3 b=0.3 C=randn,x2^10", "a=1 b=1 C=randn,x2^60"}) {
      Case c = case_of(std::string(GetParam()) + " nn 12x11x1 ld+2 scheme=native threads=2 " + scalars);
      c.k = k;
      expect_guaranteed(c, &tally);
    }
  }
  report(std::string("native, alpha, beta, ") + GetParam(), tally);
}

TEST_P(ForcedNative, IsRefusedWhereItsBoundIsTooLarge) {
  const Scalar scalar = case_of(std::string(GetParam()) + " nn 1x1x1").scalar;
  Policy policy;
  policy.scheme = Scheme::kNative;
  policy.accuracy = Accuracy::at_bits(significand_bits(scalar) - 1);
  EXPECT_TRUE(make_plan(scalar, 8, 8, is_complex(scalar) ? 1 : 2, policy).ok());
  for (const std::int64_t k : {3, 256, 257, 5000}) {
    const Status status = make_plan(scalar, 8, 8, k, policy).status();
    EXPECT_EQ(status.code(), StatusCode::kAccuracyUnreachable) << k;
    EXPECT_EQ(status.reason().substr(0, 26), "scheme native: guarantees ") << status.reason();
  }
}

TEST_P(ForcedNative, PlacesNaNAndInf) {
  for (const char* operands :
       {"A=randn,nan@corner B=randn", "A=randn,inf@1:2 B=randn,-inf@2:3", "A=ones,inf@1:2 B=zeros"}) {
    const Case c = case_of(std::string(GetParam()) + " tn 7x6x5 scheme=native threads=2 " + operands);
    if (!is_complex(c.scalar)) {
      expect_guaranteed(c);
      continue;
    }
    // A BLAS multiplies by the imaginary part 0 of alpha: where Inf belongs there may be NaN, but nothing finite.
    with_scalar(c.scalar, [&]<class T>() {
      const std::vector<T> got = product_of<T>(c);
      const check::Operands<T> x(c);
      const check::Reference<T> reference(T{1}, x.a.view(), x.b.view(), T{0}, {});
      for (std::int64_t j = 0; j < c.n; ++j) {
        for (std::int64_t i = 0; i < c.m; ++i) {
          const T value = got[static_cast<std::size_t>(j * c.m + i)];
          for (const check::Part part : check::kPartsOf<T>) {
            const bool is_finite = reference.element(i, j, part).cls == check::ValueClass::kFinite;
            EXPECT_EQ(std::isfinite(check::part_of(value, part)), is_finite) << check::print(c) << i << ", " << j;
          }
        }
      }
    });
  }
}

}  // namespace
}  // namespace kizami::api_test
