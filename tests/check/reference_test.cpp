// SPDX-License-Identifier: MIT
// The exact product, its norms and its ratios against MPFR and closed forms.
#include "check/reference.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "case_line.hpp"
#include "check/case.hpp"
#include "check/matrix_classes.hpp"
#include "check/operands.hpp"
#include "mpfr_number.hpp"

namespace kizami::check {
namespace {

template <class T>
Reference<T> reference_of(const Case& c, const Operands<T>& x) {
  return {static_cast<T>(c.alpha), x.a.view(), x.b.view(), static_cast<T>(c.beta), x.c.view()};
}

/// alpha AB + beta C0 (or with magnitudes only) by MPFR.
template <class T>
Mpfr mpfr_element(const Case& c, const Operands<T>& x, std::int64_t i, std::int64_t j, bool magnitudes) {
  const auto number = [&](double value) { return Mpfr(magnitudes ? std::abs(value) : value); };
  Mpfr sum;
  for (std::int64_t l = 0; l < c.k; ++l) {
    Mpfr term = number(x.a.view()(i, l));
    term *= number(x.b.view()(l, j));
    sum += term;
  }
  sum *= number(c.alpha);
  Mpfr last = number(c.beta);
  last *= number(c.beta == 0 ? 0 : x.c.view()(i, j));
  sum += last;
  return sum;
}

template <class T>
void expect_agrees_with_mpfr(const std::string& line) {
  const Case c = case_of(line);
  const Operands<T> x(c);
  const Reference<T> reference = reference_of(c, x);
  for (std::int64_t i = 0; i < c.m; ++i) {
    for (std::int64_t j = 0; j < c.n; ++j) {
      const Mpfr value = mpfr_element(c, x, i, j, false), entry = mpfr_element(c, x, i, j, true);
      const auto element = reference.element(i, j);
      ASSERT_EQ(element.cls, ValueClass::kFinite) << line;
      EXPECT_EQ(element.value.template rounded<double>(), value.to_double()) << line;
      EXPECT_EQ(element.entry.template rounded<double>(Rounding::kUp), entry.to_double(MPFR_RNDU)) << line;
      if constexpr (std::is_same_v<T, float>) {
        EXPECT_EQ(reference.rounded(i, j), value.to_float()) << line;
      } else {
        EXPECT_EQ(reference.rounded(i, j), value.to_double()) << line;
      }
    }
  }
}

TEST(Reference, AgreesWithMpfrOnEveryClass) {
  for (const ClassInfo& info : class_inventory()) {
    const std::string name(info.name);
    expect_agrees_with_mpfr<double>("d tn 2x3x11 a=-0.3 b=1.7 ld+2 A=" + name + " B=" + name + " C=" + name);
    expect_agrees_with_mpfr<float>("s nt 3x2x12 a=0.7 b=0 layout=row A=" + name + " B=" + name);
  }
}

TEST(Reference, ClosedForms) {
  {  // A = ones: every element of AB is the sum of a column of B; B = ones too: k
    const Case c = case_of("d nn 3x2x1000 A=ones B=ones");
    const Operands<double> x(c);
    EXPECT_EQ(reference_of(c, x).rounded(2, 1), 1000);
  }
  {  // A I = A, alpha = -2
    const Case c = case_of("s nn 5x5x5 a=-2 B=identity");
    const Operands<float> x(c);
    for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(reference_of(c, x).rounded(i, 3), -2 * x.a.view()(i, 3));
  }
  {  // cancellation to 0 is +0, and the gauge is not 0
    const Case c = case_of("d nn 2x2x10 A=cancel B=cancel");
    const Operands<double> x(c);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(reference_of(c, x).rounded(1, 1)), 0U);
    EXPECT_EQ(reference_of(c, x).element(1, 1).entry.sign(), 1);
  }
  {  // sum_l 1 / ((i + l + 1) (l + j + 1)) rounded from exact terms of rounded inverses, k = 1: one rounding
    const Case c = case_of("d nn 1x1x1 A=hilbert B=hilbert");
    const Operands<double> x(c);
    EXPECT_EQ(reference_of(c, x).rounded(0, 0), 1);
  }
}

TEST(Reference, FollowsTheBlasRules) {
  const std::vector<double> nan(6, kQuietNaN), ones(6, 1.0), threes(4, 3.0);
  const auto view = [](const std::vector<double>& x, std::int64_t rows, std::int64_t cols) {
    return blas_view(x.data(), rows, cols, rows);
  };
  // alpha = 0 does not read A and B, beta = 0 does not read C.
  EXPECT_EQ(Reference<double>(0, view(nan, 2, 3), view(nan, 3, 2), 2, view(threes, 2, 2)).rounded(1, 1), 6);
  EXPECT_EQ(Reference<double>(1, view(ones, 2, 3), view(ones, 3, 2), 0, view(nan, 2, 2)).rounded(1, 1), 3);
  EXPECT_EQ(Reference<double>(0, view(nan, 2, 3), view(nan, 3, 2), 0, view(nan, 2, 2)).rounded(0, 0), 0);
  // k = 0: alpha does not matter.
  EXPECT_EQ(Reference<double>(kQuietNaN, view(ones, 2, 0), view(ones, 0, 2), 2, view(threes, 2, 2)).rounded(1, 0), 6);
  // Scalars that are not finite.
  EXPECT_TRUE(
      std::isnan(Reference<double>(kQuietNaN, view(ones, 2, 3), view(ones, 3, 2), 0, view(nan, 2, 2)).rounded(1, 1)));
  EXPECT_EQ(Reference<double>(-kInfinity, view(ones, 2, 3), view(ones, 3, 2), 0, view(nan, 2, 2)).rounded(1, 1),
            -kInfinity);
  EXPECT_TRUE(std::isnan(
      Reference<double>(kInfinity, view(ones, 2, 3), view(ones, 3, 2), -kInfinity, view(threes, 2, 2)).rounded(1, 1)));
  EXPECT_TRUE(std::isnan(Reference<double>(1, view(ones, 2, 3), view(ones, 3, 2), 1, view(nan, 2, 2)).rounded(1, 1)));
}

TEST(Reference, PlacesWhatIsNotFinite) {
  const Case c = case_of("d nn 4x5x6 A=ones,inf@1:2,nan@3:0 B=identity,-inf@2:4");
  const Operands<double> x(c);
  const Reference<double> reference = reference_of(c, x);
  EXPECT_EQ(reference.rounded(0, 0), 1);
  EXPECT_TRUE(std::isnan(reference.rounded(1, 0)));  // Inf * 0
  EXPECT_EQ(reference.rounded(0, 4), -kInfinity);
  EXPECT_EQ(reference.rounded(1, 4), -kInfinity);  // Inf * -Inf
  EXPECT_EQ(reference.rounded(1, 2), kInfinity);
  for (std::int64_t j = 0; j < 5; ++j) EXPECT_TRUE(std::isnan(reference.rounded(3, j)));
}

TEST(NormBounds, BracketTheNorm) {
  const std::vector<double> x = {3, -4};
  EXPECT_EQ(norm_bounds(x).lower, 5);
  EXPECT_EQ(norm_bounds(x).upper, 5);
  const std::vector<double> ones(2, 1.0);
  EXPECT_LT(norm_bounds(ones).lower, norm_bounds(ones).upper);
  EXPECT_EQ(std::nextafter(norm_bounds(ones).lower, 2), norm_bounds(ones).upper);
  const std::vector<double> big(5, std::numeric_limits<double>::max());
  EXPECT_EQ(norm_bounds(big).lower, std::numeric_limits<double>::max());
  EXPECT_EQ(norm_bounds(big).upper, kInfinity);
  const std::vector<double> tiny(4, std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(norm_bounds(tiny).lower, 2 * std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(norm_bounds({}).upper, 0);
}

/// The relative deviation of a ratio from numerator / denominator, in units of 2^-48.
double excess(double ratio, const Mpfr& numerator, const Mpfr& denominator) {
  Mpfr quotient;
  mpfr_div(quotient.raw(), numerator.raw(), denominator.raw(), MPFR_RNDN);
  mpfr_d_div(quotient.raw(), ratio, quotient.raw(), MPFR_RNDN);
  mpfr_sub_ui(quotient.raw(), quotient.raw(), 1, MPFR_RNDN);
  return std::ldexp(quotient.to_double(), 48);
}

TEST(Ratio, IsAnUpperBoundOfTheDefinition) {
  for (const char* line : {"d nn 4x3x20 a=-1.25 b=0.75 A=exprand:phi=4", "d nn 4x3x20 b=1 A=big B=big",
                           "d nn 4x3x20 A=tiny B=tiny,x2^500", "d nn 4x3x20 A=subnormal B=big C=tiny b=3"}) {
    const Case c = case_of(line);
    const Operands<double> x(c);
    const Reference<double> reference = reference_of(c, x);
    for (std::int64_t i = 0; i < c.m; ++i) {
      for (std::int64_t j = 0; j < c.n; ++j) {
        const Allowance allowed{Against::kEntry, std::ldexp(1.0, -53), 0};
        const auto element = reference.element(i, j);
        const double wrong = std::nextafter(reference.rounded(i, j) * (1 + 0x1p-30), kInfinity);
        if (!std::isfinite(wrong)) continue;
        Mpfr error = mpfr_element(c, x, i, j, false);
        error += Mpfr(-wrong);
        Mpfr bound = mpfr_element(c, x, i, j, true);
        bound *= Mpfr(allowed.units);
        const double entry_excess = excess(reference.ratio(element, wrong, allowed, i, j), error.abs(), bound);
        EXPECT_GE(entry_excess, 0) << line;
        EXPECT_LE(entry_excess, 1) << line;

        Mpfr squares_a, squares_b;
        for (std::int64_t l = 0; l < c.k; ++l) {
          Mpfr a(x.a.view()(i, l)), b(x.b.view()(l, j));
          a *= a;
          b *= b;
          squares_a += a;
          squares_b += b;
        }
        squares_a *= squares_b;
        Mpfr norm;
        mpfr_sqrt(norm.raw(), squares_a.raw(), MPFR_RNDN);
        norm *= Mpfr(std::abs(c.alpha));
        Mpfr last(std::abs(c.beta));
        last *= Mpfr(std::abs(x.c.view()(i, j)));
        norm += last;
        norm *= Mpfr(allowed.units);
        const double norm_excess =
            excess(reference.ratio(element, wrong, {Against::kNorm, allowed.units, 0}, i, j), error.abs(), norm);
        EXPECT_GE(norm_excess, 0) << line;
        EXPECT_LE(norm_excess, 1) << line;
      }
    }
  }
}

TEST(Ratio, TreatsInfinityAsEveryNumberThatRoundsToIt) {
  const double max = std::numeric_limits<double>::max();
  const std::vector<double> row = {max, max}, column = {1, 1}, half = {0.5, 0.25};
  const auto at = [&](const std::vector<double>& b, double got, double units) {
    const Reference<double> reference(1, blas_view(row.data(), 1, 2, 1), blas_view(b.data(), 2, 1, 2), 0,
                                      MatrixView<const double>{});
    return reference.ratio(reference.element(0, 0), got, {Against::kEntry, units, 0}, 0, 0);
  };
  EXPECT_EQ(at(column, kInfinity, 0x1p-53), 0);   // 2 max rounds to Inf
  EXPECT_GT(at(column, max, 0x1p-53), 1);         // and is far from max
  EXPECT_GT(at(column, -kInfinity, 0x1p-53), 1);  // opposite infinities are 2^1025 apart
  EXPECT_GT(at(half, kInfinity, 0x1p-53), 1);     // 3/4 max is a quarter of the range from Inf
  EXPECT_LE(at(half, kInfinity, 0.34), 1);        // which an allowance of 34 % covers
  EXPECT_EQ(at(half, kQuietNaN, 1), kInfinity);
  EXPECT_LE(at(half, 0.75 * max, 0x1p-53), 1);
  EXPECT_EQ(at(half, 0.75 * max, 0), kInfinity);  // 3/4 max has 55 bits
}

}  // namespace
}  // namespace kizami::check
