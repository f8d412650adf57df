// SPDX-License-Identifier: MIT
// Double-double results at the end of the range against exact rationals: one rounding, so half the smallest subnormal
// number at most; and beta C of complex types, whose parts are sums of two products, likewise.
#include "num/double_double.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include "num/bounds.hpp"
#include "tests/certify/stored_lines.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::num {
namespace {

using tests::Rational;
using tests::Rng;
using tests::scaled;

const Rational kHalfTiny = scaled(1, -1075);

/// |got - want| <= the larger of half the smallest subnormal number and 2^-106 |want|; normalised.
void expect_rounded_once(DoubleDouble got, const Rational& want, const char* what) {
  ASSERT_EQ(got.hi + got.lo, got.hi) << what;
  const Rational error = abs(Rational(got.hi) + Rational(got.lo) - want);
  const Rational relative = abs(want) * Rational(result_rounding(Scalar::kDD));
  ASSERT_LE(error, relative > kHalfTiny ? relative : kHalfTiny) << what << ": " << got.hi << " + " << got.lo;
}

/// x y 2^exponent, exactly.
struct Term {
  double x, y;
  int exponent;
};
void expect_sum(const std::vector<Term>& terms, const char* what) {
  LongAccumulator sum;
  Rational want = 0;
  for (const Term& t : terms) {
    sum.add_product(t.x, t.y, t.exponent);
    want += scaled(Rational(t.x) * Rational(t.y), t.exponent);
  }
  const ScaledDoubleDouble p = round_double_double(sum);
  expect_rounded_once(to_double_double(p), want, what);
  expect_rounded_once(finish(p, DoubleDouble{1}, DoubleDouble{0}, DoubleDouble{}), want, what);
  expect_rounded_once(finish(p, DoubleDouble{-1}, DoubleDouble{0}, DoubleDouble{}), -want, what);
}

TEST(DoubleDoubleRange, ResultsBelowTheRangeAreRoundedOnce) {
  expect_sum({{2.5, 1, -1074}, {0.125, 1, -1074}}, "hi and lo both have a part below the range");
  expect_sum({{1, 1, -1000}, {1, 1, -1075}, {1, 1, -1200}}, "lo lies above a tie by less than its own rounding");
  expect_sum({{1, 1, -1000}, {1, 1, -1075}, {-1, 1, -1200}}, "below it");
  expect_sum({{1, 1, -1000}, {1, 1, -1075}}, "on it");
  expect_sum({{1, 1, -1076}}, "a quarter");
  expect_sum({{1, 1, -1075}}, "a half");
  expect_sum({{1, 1, -1075}, {1, 1, -1400}}, "a little more than a half");
  expect_sum({{1, 1, -2000}}, "nothing");
  Rng rng(3);
  for (int i = 0; i < tests::cases(1000); ++i) {
    std::vector<Term> terms;
    const int top = tests::random_int(rng, -1080, -900);
    for (int t = tests::random_int(rng, 1, 6); t > 0; --t) {
      terms.push_back({tests::random_value<double>(rng, 0), rng() % 2 == 0 ? 1.0 : tests::random_value<double>(rng, 0),
                       top - tests::random_int(rng, 0, 200)});
    }
    if (rng() % 2 == 0) terms.push_back({rng() % 2 == 0 ? 1.0 : -1.0, 1, -1075});  // a tie, or near one
    expect_sum(terms, "random");
    if (HasFatalFailure()) return;
  }
}

TEST(DoubleDoubleRange, AlphaAndBetaAreRoundedOnce) {
  Rng rng(4);
  for (int i = 0; i < tests::cases(500); ++i) {
    const DoubleDouble beta(tests::random_value<double>(rng, 0));
    const DoubleDouble c(std::ldexp(tests::random_value<double>(rng, 0), tests::random_int(rng, -1074, -1000)));
    const Rational want = Rational(beta.hi) * Rational(c.hi);
    expect_rounded_once(finish(ScaledDoubleDouble{}, DoubleDouble{0}, beta, c), want, "beta c");
    if (HasFatalFailure()) return;
  }
}

template <class R>
void expect_scaled_once() {
  constexpr int kTiny = FloatTraits<R>::kMinUlpExponent;
  const Scalar scalar = sizeof(R) == 4 ? Scalar::kC64 : Scalar::kC128;
  Rng rng(5);
  for (int i = 0; i < tests::cases(1000); ++i) {
    const auto number = [&](int least, int most) {
      return static_cast<R>(std::ldexp(tests::random_value<R>(rng, 0), tests::random_int(rng, least, most)));
    };
    const std::complex<R> beta(number(-3, 3), number(-3, 3)), x(number(kTiny, kTiny + 60), number(kTiny, kTiny + 60));
    const std::complex<R> got = scale_by(beta, x);
    const auto product = [](R a, R b) -> Rational {
      return Rational(static_cast<double>(a)) * Rational(static_cast<double>(b));
    };
    const auto expect_part = [&](R part, const Rational& first, const Rational& second) {
      const Rational terms = abs(first) + abs(second);
      // epilogue_bound() without its underflow, and half the smallest number for that.
      const Rational relative = terms * Rational(epilogue_bound(scalar, 1, 0));
      ASSERT_LE(abs(Rational(static_cast<double>(part)) - (first + second)), relative + scaled(1, kTiny - 1))
          << beta << " * " << x;
    };
    expect_part(got.real(), product(beta.real(), x.real()), -product(beta.imag(), x.imag()));
    expect_part(got.imag(), product(beta.real(), x.imag()), product(beta.imag(), x.real()));
    if (::testing::Test::HasFatalFailure()) return;
  }
}
TEST(ScaleBy, ComplexPartsUnderflowOnce64) { expect_scaled_once<double>(); }
TEST(ScaleBy, ComplexPartsUnderflowOnce32) { expect_scaled_once<float>(); }

}  // namespace
}  // namespace kizami::num
