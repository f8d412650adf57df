// SPDX-License-Identifier: MIT
// The superaccumulator against MPFR with more bits than any sum here needs, and against closed forms.
#include "check/exact.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "case_line.hpp"
#include "check/random.hpp"
#include "mpfr_number.hpp"

namespace kizami::check {
namespace {

constexpr double kMax = std::numeric_limits<double>::max();
constexpr double kMinSubnormal = std::numeric_limits<double>::denorm_min();
constexpr double kMinNormal = std::numeric_limits<double>::min();

/// A double of random bits, so of random exponent, finite; now and then an extreme one.
double wild(AddressedRandom& random) {
  const double extremes[] = {0.0, -0.0, kMinSubnormal, -kMinSubnormal, kMinNormal, kMax, -kMax, 1.0};
  if (random.below(8) == 0) return extremes[random.below(8)];
  std::uint64_t word = random.bits();
  if ((word >> 52 & 0x7ff) == 0x7ff) word ^= std::uint64_t{1} << 60;
  return std::bit_cast<double>(word);
}

void expect_equal(const Exact& got, const Mpfr& want) {
  ASSERT_TRUE(want.is_exact());
  const double zero = mpfr_sgn(want.raw()) < 0 ? -0.0 : 0.0;  // makes an exact zero of MPFR +0 and changes nothing else
  EXPECT_EQ(std::bit_cast<std::uint64_t>(got.rounded<double>()), std::bit_cast<std::uint64_t>(want.to_double() + zero));
  EXPECT_EQ(got.rounded<double>(Rounding::kUp), want.to_double(MPFR_RNDU));
  EXPECT_EQ(got.rounded<double>(Rounding::kDown), want.to_double(MPFR_RNDD));
  EXPECT_EQ(got.rounded<float>(), want.to_float());
  EXPECT_EQ(got.rounded<float>(Rounding::kUp), want.to_float(MPFR_RNDU));
  EXPECT_EQ(got.rounded<float>(Rounding::kDown), want.to_float(MPFR_RNDD));
  EXPECT_EQ(got.sign(), mpfr_sgn(want.raw()) > 0 ? 1 : mpfr_sgn(want.raw()) < 0 ? -1 : 0);
}

TEST(Exact, SumsOfWildProductsAgreeWithMpfr) {
  AddressedRandom random(11, 0, 0, 0);
  for (int trial = 0; trial < 300; ++trial) {
    Exact got;
    Mpfr want;
    const int num_terms = 1 + static_cast<int>(random.below(12));
    for (int t = 0; t < num_terms; ++t) {
      const double x = wild(random), y = wild(random);
      got.add_product(x, y);
      Mpfr term(x);
      term *= Mpfr(y);
      want += term;
    }
    expect_equal(got, want);
    const double alpha = wild(random);
    Mpfr scaled = want;
    scaled *= Mpfr(alpha);
    expect_equal(got.times(alpha), scaled);
    expect_equal(got.negated().times(alpha).abs(), scaled.abs());
  }
}

TEST(Exact, SumsNearTiesAgreeWithMpfr) {
  AddressedRandom random(12, 0, 0, 0);
  for (int trial = 0; trial < 2000; ++trial) {
    // A significand, half a unit in its last place, and a far smaller term of either sign: the hard case of rounding.
    const int exps[] = {-1074, -1022, -1000, 0, 900, 971, -149 - 20, -126, 103};
    const int e = exps[random.below(9)];
    const double base = std::ldexp(static_cast<double>(random.bits() >> (11 + random.below(45))), e);
    const double half = std::ldexp(random.sign(), e - 1 - static_cast<int>(random.below(31)));
    const double tiny = random.sign() * static_cast<double>(random.below(2));
    Exact got;
    Mpfr want;
    for (const double term : {base, half}) {
      got.add(term);
      want += Mpfr(term);
    }
    got.add(half, -1);
    Mpfr quarter(half);
    mpfr_div_2ui(quarter.raw(), quarter.raw(), 1, MPFR_RNDN);
    want += quarter;
    got.add(tiny, -2000);
    Mpfr small(tiny);
    mpfr_div_2ui(small.raw(), small.raw(), 2000, MPFR_RNDN);
    want += small;
    expect_equal(got, want);
  }
}

TEST(Exact, RoundsAtTheEndsOfTheRange) {
  Exact x(kMax);
  x.add(std::ldexp(1.0, 970));  // the tie between the largest finite number and 2^1024
  EXPECT_EQ(x.rounded<double>(), kInfinity);
  EXPECT_EQ(x.rounded<double>(Rounding::kDown), kMax);
  x.add(-kMinSubnormal);
  EXPECT_EQ(x.rounded<double>(), kMax);
  EXPECT_EQ(x.rounded<double>(Rounding::kUp), kInfinity);
  EXPECT_EQ(x.negated().rounded<double>(), -kMax);
  EXPECT_EQ(x.negated().rounded<double>(Rounding::kDown), -kInfinity);

  Exact y;
  y.add(kMinSubnormal, -1);  // a tie with 0
  EXPECT_EQ(std::bit_cast<std::uint64_t>(y.rounded<double>()), 0U);
  EXPECT_EQ(y.rounded<double>(Rounding::kUp), kMinSubnormal);
  EXPECT_TRUE(std::signbit(y.negated().rounded<double>()));
  y.add(1, -4000);
  EXPECT_EQ(y.rounded<double>(), kMinSubnormal);
  EXPECT_FALSE(std::signbit(Exact().rounded<double>()));
}

TEST(Exact, ClosedForms) {
  // sum of 2^0 .. 2^100 plus 1 is 2^101.
  Exact x(1);
  for (int e = 0; e <= 100; ++e) x.add(std::ldexp(1.0, e));
  EXPECT_EQ(x, Exact(std::ldexp(1.0, 101)));
  // The largest and the smallest product of doubles, added and taken away again.
  for (int t = 0; t < 1000; ++t) x.add_product(kMax, kMax), x.add_product(kMinSubnormal, -kMinSubnormal);
  for (int t = 0; t < 1000; ++t) x.add_product(-kMax, kMax), x.add_product(kMinSubnormal, kMinSubnormal);
  EXPECT_EQ(x, Exact(std::ldexp(1.0, 101)));
  // (2^53 - 1)^2 = 2^106 - 2^54 + 1.
  const double largest_integer = std::ldexp(1.0, 53) - 1;
  Exact square;
  square.add_product(largest_integer, largest_integer);
  square.add(-1);
  square.add(std::ldexp(1.0, 54));
  EXPECT_EQ(square, Exact(std::ldexp(1.0, 106)));
  // The extremes of four factors.
  EXPECT_EQ(Exact(kMinSubnormal)
                .times(kMinSubnormal)
                .times(kMinSubnormal)
                .times(kMinSubnormal)
                .magnitude(Rounding::kDown)
                .exp,
            -4296);
  EXPECT_EQ(Exact(kMax).times(kMax).times(kMax).times(kMax).magnitude(Rounding::kUp).exp, 4095);
}

TEST(Exact, ComparesWithTheSign) {
  EXPECT_LT(Exact(-1), Exact(kMinSubnormal));
  EXPECT_LT(Exact(-2), Exact(-1));
  EXPECT_GT(Exact(2), Exact(1));
  EXPECT_EQ(Exact(0.0), Exact(-0.0));
}

TEST(Exact, RefusesWhatItCannotHold) {
  Exact x(1);
  EXPECT_THROW(x.add(kInfinity), std::domain_error);
  EXPECT_THROW(x.add_product(std::nan(""), 0), std::domain_error);
  EXPECT_THROW(x.add(1, Exact::kMinExp - 1), std::range_error);
  EXPECT_THROW(x.add(1, 4224), std::range_error);
  EXPECT_THROW(x.add(1, -Exact::kMinExp), std::range_error);
  EXPECT_NO_THROW(x.add(-1, 4223));
  EXPECT_NO_THROW(x.add(1, 4223));
  EXPECT_EQ(x, Exact(1));
  EXPECT_NO_THROW(x.add(1, Exact::kMinExp));
  EXPECT_THROW((void)x.times(0.5), std::range_error);
}

TEST(ExactDot, ReportsSumsMagnitudesAndErrors) {
  ExactDot dot;
  dot.add(1e200, 1e200);
  dot.add(3, 4);
  dot.add(-1e200, 1e200);
  dot.add(-0.5, 2);
  EXPECT_EQ(dot.rounded<double>(), 11);
  Exact magnitudes(13);
  for (int t = 0; t < 2; ++t) magnitudes.add_product(1e200, 1e200);
  EXPECT_EQ(dot.abs_sum(), magnitudes);
  EXPECT_TRUE(dot.within(11, 0));
  EXPECT_TRUE(dot.within(12, 1));
  EXPECT_FALSE(dot.within(std::nextafter(12, 13), 1));
  EXPECT_FALSE(dot.within(std::nan(""), 1));
  EXPECT_FALSE(dot.within(11, std::nan("")));
  EXPECT_FALSE(dot.within(11, kInfinity));
  EXPECT_FALSE(dot.within(kInfinity, 1));
}

TEST(ExactDot, ClassesFollowIeee) {
  const auto class_of_terms = [](std::vector<std::pair<double, double>> terms) {
    ExactDot dot;
    for (const auto& [a, b] : terms) dot.add(a, b);
    return dot.value_class();
  };
  EXPECT_EQ(class_of_terms({{kMax, kMax}}), ValueClass::kFinite);
  EXPECT_EQ(class_of_terms({{1, 1}, {std::nan(""), 0}}), ValueClass::kNaN);
  EXPECT_EQ(class_of_terms({{0, kInfinity}}), ValueClass::kNaN);
  EXPECT_EQ(class_of_terms({{-0.0, -kInfinity}, {kInfinity, 1}}), ValueClass::kNaN);
  EXPECT_EQ(class_of_terms({{kInfinity, 2}, {-kMax, kMax}}), ValueClass::kPosInf);
  EXPECT_EQ(class_of_terms({{kInfinity, -2}, {3, -kInfinity}}), ValueClass::kNegInf);
  EXPECT_EQ(class_of_terms({{kInfinity, 1}, {1, 1}, {-kInfinity, 1}}), ValueClass::kNaN);
  EXPECT_EQ(class_of_terms({{kInfinity, 1}, {-kInfinity, 1}, {kInfinity, 1}}), ValueClass::kNaN);
}

TEST(RatioUp, IsAnUpperBoundAndTight) {
  AddressedRandom random(13, 0, 0, 0);
  for (int trial = 0; trial < 500; ++trial) {
    Exact numerator, denominator;
    const double x = wild(random), y = wild(random), u = wild(random), v = wild(random);
    if (x == 0 || y == 0 || u == 0 || v == 0) continue;
    numerator.add_product(x, y);
    denominator.add_product(std::abs(u), std::abs(v));
    Mpfr top(std::abs(x)), bottom(std::abs(u));
    top *= Mpfr(std::abs(y));
    bottom *= Mpfr(std::abs(v));
    Mpfr quotient;
    mpfr_set_prec(quotient.raw(), 300);
    mpfr_div(quotient.raw(), top.raw(), bottom.raw(), MPFR_RNDU);
    const double got = ratio_up(numerator, denominator);
    EXPECT_GE(got, quotient.to_double(MPFR_RNDU));
    // 2^-50 relative, or the smallest subnormal number.
    mpfr_mul_d(quotient.raw(), quotient.raw(), 1 + 0x1p-50, MPFR_RNDU);
    EXPECT_LE(got, std::max(quotient.to_double(MPFR_RNDU), kMinSubnormal));
  }
}

TEST(RatioUp, TreatsZeroAndRange) {
  EXPECT_EQ(ratio_up(Exact(0), Exact(0)), 0);
  EXPECT_EQ(ratio_up(Exact(0), Exact(1)), 0);
  EXPECT_EQ(ratio_up(Exact(kMinSubnormal), Exact(0)), kInfinity);
  EXPECT_EQ(ratio_up(Exact(-kMax), Exact(kMinSubnormal)), kInfinity);
  EXPECT_EQ(ratio_up(Exact(kMinSubnormal), Exact(kMax)), kMinSubnormal);
}

TEST(SqrtBound, BracketsTheRoot) {
  EXPECT_EQ(to_double(sqrt_bound(Exact(25), Rounding::kDown), Rounding::kDown), 5);
  EXPECT_EQ(to_double(sqrt_bound(Exact(25), Rounding::kUp), Rounding::kUp), 5);
  AddressedRandom random(14, 0, 0, 0);
  for (int trial = 0; trial < 500; ++trial) {
    Exact x;
    Mpfr want;
    for (int t = 0; t < 3; ++t) {
      const double term = wild(random);
      x.add_product(term, term);
      Mpfr square(term);
      square *= square;
      want += square;
    }
    Mpfr root;
    mpfr_sqrt(root.raw(), want.raw(), MPFR_RNDD);
    EXPECT_EQ(to_double(sqrt_bound(x, Rounding::kDown), Rounding::kDown), root.to_double(MPFR_RNDD));
    mpfr_sqrt(root.raw(), want.raw(), MPFR_RNDU);
    EXPECT_EQ(to_double(sqrt_bound(x, Rounding::kUp), Rounding::kUp), root.to_double(MPFR_RNDU));
  }
}

}  // namespace
}  // namespace kizami::check
