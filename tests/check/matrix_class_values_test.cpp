// SPDX-License-Identifier: MIT
// Every class has the property that it claims.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "check/exact.hpp"
#include "filled_matrix.hpp"

namespace kizami::check {
namespace {

int exponent(double x) { return std::ilogb(x); }

TEST(MatrixClasses, UniformClassesKeepTheirRange) {
  double low = 1, high = -1;
  for_each(filled<double>("rands", 100, 100),
           [&](auto, auto, double x) { low = std::min(low, x), high = std::max(high, x); });
  EXPECT_GE(low, -1);
  EXPECT_LT(high, 1);
  EXPECT_LT(low, -0.99);
  EXPECT_GT(high, 0.99);
  for_each(filled<float>("rand", 100, 100), [&](auto, auto, float x) { EXPECT_TRUE(x >= 0 && x < 1); });
  int num_negative = 0;
  for_each(filled<double>("uniform:-8,8", 100, 100), [&](auto, auto, double x) {
    EXPECT_LE(std::abs(x), 8);
    num_negative += x < 0 ? 1 : 0;
  });
  EXPECT_NEAR(num_negative, 5000, 5 * 50);  // five standard deviations
}

// log|exprand| = log|u - 1/2| + phi z with |u - 1/2| below 1/2: its spread grows with phi, and phi = 0 is uniform.
TEST(MatrixClasses, ExprandSpreadsByPhi) {
  const auto deviation = [](std::string_view text) {
    double sum = 0, squares = 0;
    int count = 0;
    for_each(filled<double>(text, 100, 100), [&](auto, auto, double x) {
      if (x == 0) return;
      const double log = std::log(std::abs(x));
      sum += log, squares += log * log, ++count;
    });
    return std::sqrt(squares / count - (sum / count) * (sum / count));
  };
  // log of a uniform number has variance 1, so the variance is 1 + phi^2; its estimate has a relative error near 2 %.
  for (const int phi : {0, 1, 2, 4}) {
    EXPECT_NEAR(deviation("exprand:phi=" + std::to_string(phi)) / std::sqrt(1 + phi * phi), 1, 0.1);
  }
  for_each(filled<double>("exprand:phi=0", 20, 20), [](auto, auto, double x) { EXPECT_LE(std::abs(x), 0.5); });
}

TEST(MatrixClasses, ExpRandHasUniformExponents) {
  std::map<int, int> histogram;
  for_each(filled<float>("exp_rand:a=-3,b=5", 100, 100), [&](auto, auto, float x) { ++histogram[exponent(x)]; });
  EXPECT_EQ(histogram.begin()->first, -3);
  EXPECT_EQ(histogram.rbegin()->first, 4);
  for (const auto& [e, count] : histogram) EXPECT_NEAR(count, 1250, 5 * 35) << e;  // five standard deviations
}

TEST(MatrixClasses, GradedRowsAndColumnsAreRandsTimesARamp) {
  const auto plain = filled<double>("rands", 21, 11), rows = filled<double>("grade:rows,span=100", 21, 11),
             cols = filled<double>("grade:cols,span=100", 21, 11);
  for_each(plain, [&](std::int64_t i, std::int64_t j, double x) {
    EXPECT_EQ(rows(i, j), std::ldexp(x, static_cast<int>(5 * i) - 50));
    EXPECT_EQ(cols(i, j), std::ldexp(x, static_cast<int>(10 * j) - 50));
  });
}

// In grade:inner D cancels in every term a_il b_lj; in grade:shift only where the shifts of i and j agree.
TEST(MatrixClasses, GradedInnerIndexCancelsBetweenAAndB) {
  constexpr std::int64_t kM = 5, kN = 6, kK = 41;
  const auto plain_a = filled<double>("rands", kM, kK), a = filled<double>("grade:inner,span=200", kM, kK);
  const auto plain_b = filled<double>("rands", kK, kN, Which::kB),
             b = filled<double>("grade:inner,span=200", kK, kN, Which::kB);
  std::set<int> exponents;
  for (std::int64_t l = 0; l < kK; ++l) {
    const double d = a(0, l) / plain_a(0, l);
    exponents.insert(exponent(d));
    for (std::int64_t i = 0; i < kM; ++i) EXPECT_EQ(a(i, l), plain_a(i, l) * d);
    for (std::int64_t j = 0; j < kN; ++j) EXPECT_EQ(b(l, j), plain_b(l, j) / d);
  }
  EXPECT_EQ(exponents.size(), static_cast<std::size_t>(kK));
  EXPECT_EQ(*exponents.begin(), -100);
  EXPECT_EQ(*exponents.rbegin(), 100);
  const auto sa = filled<double>("grade:shift,span=200", kM, kK),
             sb = filled<double>("grade:shift,span=200", kK, kN, Which::kB);
  for (std::int64_t l = 0; l < kK; ++l) {
    for (std::int64_t i = 0; i < kM; ++i) {
      EXPECT_EQ(sa(i, l) * sb(l, i), plain_a(i, l) * plain_b(l, i));
      EXPECT_EQ(sa(i, l) / plain_a(i, l), std::ldexp(1.0, static_cast<int>(5 * ((l + i) % kK)) - 100));
    }
  }
}

TEST(MatrixClasses, EvilGivesEveryElementItsExponent) {
  const auto plain = filled<double>("rands", 100, 100), x = filled<double>("evil:span=60", 100, 100);
  std::map<int, int> histogram;
  for_each(plain, [&](std::int64_t i, std::int64_t j, double value) { ++histogram[exponent(x(i, j) / value)]; });
  EXPECT_EQ(histogram.size(), 61U);
  EXPECT_EQ(histogram.begin()->first, -30);
  EXPECT_EQ(histogram.rbegin()->first, 30);
}

TEST(MatrixClasses, HugePutsOneElementInEveryVector) {
  const auto a = filled<double>("huge:exp=60", 30, 20), b = filled<double>("huge:exp=60", 20, 30, Which::kB);
  for (std::int64_t v = 0; v < 30; ++v) {
    int in_a = 0, in_b = 0;
    for (std::int64_t l = 0; l < 20; ++l) {
      in_a += std::abs(a(v, l)) == std::ldexp(1.0, 60) ? 1 : 0;
      in_b += std::abs(b(l, v)) == std::ldexp(1.0, 60) ? 1 : 0;
    }
    EXPECT_EQ(in_a, 1);
    EXPECT_EQ(in_b, 1);
  }
}

TEST(MatrixClasses, CancelGivesExactlyZeroOrLittle) {
  for (const std::int64_t k : {1, 2, 7, 64, 65}) {
    for (const bool is_near : {false, true}) {
      const char* text = is_near ? "cancel:near" : "cancel";
      const auto a = filled<double>(text, 3, k), b = filled<double>(text, k, 4, Which::kB);
      for (std::int64_t i = 0; i < 3; ++i) {
        for (std::int64_t j = 0; j < 4; ++j) {
          ExactDot dot;
          for (std::int64_t l = 0; l < k; ++l) dot.add(a(i, l), b(l, j));
          EXPECT_EQ(dot.sum().sign() == 0, !is_near || k == 1);
          Exact units =
              dot.abs_sum().times(std::ldexp(1.0, -53));  // half an ulp of each partner at most an ulp of the pair
          EXPECT_LE(dot.sum().abs(), units);
          EXPECT_EQ(dot.abs_sum().sign(), k > 1 ? 1 : 0);
        }
      }
    }
  }
}

TEST(MatrixClasses, Test2HasNoTermOnTheDiagonal) {
  const auto a = filled<float>("test2", 8, 50), b = filled<float>("test2", 50, 8, Which::kB);
  int num_terms = 0;
  for (std::int64_t i = 0; i < 8; ++i) {
    for (std::int64_t j = 0; j < 8; ++j) {
      for (std::int64_t l = 0; l < 50; ++l) {
        const bool is_term = a(i, l) != 0 && b(l, j) != 0;
        EXPECT_FALSE(is_term && i == j);
        num_terms += is_term ? 1 : 0;
      }
    }
  }
  EXPECT_GT(num_terms, 56 * 50 / 8);
}

TEST(MatrixClasses, HalfulpAlwaysRoundsUpByHalf) {
  for (const int q : {2, 20, 52}) {
    const auto x = filled<double>("halfulp:q=" + std::to_string(q), 10, 40);
    for (std::int64_t i = 0; i < 10; ++i) {
      const int e = exponent(x(i, 0)) + 1;  // the row is 2^e times numbers in [1/2, 1)
      for (std::int64_t l = 0; l < 40; ++l) {
        const double units = std::ldexp(x(i, l), q - e);
        EXPECT_GE(units, std::ldexp(0.5, q));
        EXPECT_LT(units, std::ldexp(1.0, q));
        EXPECT_EQ(std::nearbyint(units) - units, 0.5);
        EXPECT_EQ(std::fmod(2 * units, 4), 3);
      }
    }
  }
}

TEST(MatrixClasses, IntegersReachTheEndsOfTheirRange) {
  int num_ends = 0;
  for_each(filled<float>("int:bits=24", 50, 50), [&](auto, auto, float x) {
    EXPECT_EQ(x, std::floor(x));
    EXPECT_LT(std::abs(x), std::ldexp(1.0F, 24));
    num_ends += std::abs(x) == std::ldexp(1.0F, 24) - 1 ? 1 : 0;
  });
  EXPECT_NEAR(num_ends, 1250, 5 * 25);
  for_each(filled<double>("pow2:span=6", 20, 20), [](auto, auto, double x) {
    EXPECT_EQ(std::abs(x), std::ldexp(1.0, exponent(x)));
    EXPECT_LE(std::abs(exponent(x)), 3);
  });
}

TEST(MatrixClasses, PatternsAreWhereTheyShouldBe) {
  const auto pattern_of = [](std::string_view text, std::int64_t rows, std::int64_t cols, auto&& expected) {
    for_each(filled<double>(text, rows, cols),
             [&](std::int64_t i, std::int64_t j, double x) { EXPECT_EQ(x != 0, expected(i, j)) << text; });
  };
  pattern_of("zeros", 4, 5, [](auto, auto) { return false; });
  pattern_of("zerorows:every=3", 7, 5, [](auto i, auto) { return i % 3 != 0; });
  pattern_of("zerocols:every=3", 7, 5, [](auto, auto j) { return j % 3 != 0; });
  pattern_of("identity", 4, 6, [](auto i, auto j) { return i == j; });
  pattern_of("diagonal", 6, 4, [](auto i, auto j) { return i == j; });
  pattern_of("lower", 5, 5, [](auto i, auto j) { return j <= i; });
  pattern_of("upper", 5, 5, [](auto i, auto j) { return j >= i; });
  pattern_of("banded:w=2", 9, 9, [](auto i, auto j) { return std::abs(i - j) <= 2; });
  for_each(filled<double>("identity", 4, 4), [](auto i, auto j, double x) { EXPECT_EQ(x, i == j ? 1 : 0); });
  for_each(filled<double>("hilbert", 4, 4),
           [](auto i, auto j, double x) { EXPECT_EQ(x, 1.0 / static_cast<double>(i + j + 1)); });
  for_each(filled<double>("vandermonde", 4, 4), [](auto i, auto j, double x) {
    EXPECT_EQ(x, std::ldexp(std::pow(static_cast<double>(i + 1), static_cast<double>(j)),
                            -2 * static_cast<int>(j)));  // exact
  });
  double sum = 0;
  for_each(filled<double>("onehot", 9, 5), [&](auto, auto, double x) { sum += x; });
  EXPECT_EQ(sum, 1);
}

TEST(MatrixClasses, PermutationHasOneInEveryRowAndColumn) {
  for (const std::int64_t n : {1, 2, 6, 30, 97}) {
    std::vector<int> in_row(static_cast<std::size_t>(n)), in_col(static_cast<std::size_t>(n));
    for_each(filled<double>("permutation", n, n), [&](std::int64_t i, std::int64_t j, double x) {
      EXPECT_TRUE(x == 0 || x == 1);
      if (x == 1) ++in_row[static_cast<std::size_t>(i)], ++in_col[static_cast<std::size_t>(j)];
    });
    for (const int count : in_row) EXPECT_EQ(count, 1);
    for (const int count : in_col) EXPECT_EQ(count, 1);
  }
}

template <class T>
void expect_range_ends() {
  using Limits = std::numeric_limits<T>;
  for_each(filled<T>("tiny", 20, 20),
           [](auto, auto, T x) { EXPECT_TRUE(std::isnormal(x) && std::abs(x) < Limits::min() * 256); });
  for_each(filled<T>("big", 20, 20), [](auto, auto, T x) { EXPECT_GE(std::abs(x), Limits::max() / 256); });
  for_each(filled<T>("subnormal", 20, 20), [](auto, auto, T x) { EXPECT_EQ(std::fpclassify(x), FP_SUBNORMAL); });
  const auto a = filled<T>("underflow", 20, 20), b = filled<T>("underflow", 20, 20, Which::kB);
  const auto c = filled<T>("overflow", 20, 20), d = filled<T>("overflow", 20, 20, Which::kB);
  int num_below = 0;
  for_each(a, [&](std::int64_t i, std::int64_t j, T x) {
    num_below += std::abs(x * b(i, j)) < Limits::min() ? 1 : 0;
    EXPECT_TRUE(std::isfinite(c(i, j) * d(i, j)));
    EXPECT_GE(std::abs(c(i, j) * d(i, j)), std::ldexp(Limits::max(), -17));
  });
  EXPECT_GT(num_below, 40);
  EXPECT_LT(num_below, 360);
}

TEST(MatrixClasses, RangeEndsAreAtTheEndsOfTheRange) {
  expect_range_ends<float>();
  expect_range_ends<double>();
}

TEST(MatrixClasses, NegzeroHasNegativeZeros) {
  for_each(filled<double>("negzero:every=2", 6, 6),
           [](std::int64_t i, std::int64_t j, double x) { EXPECT_EQ(x == 0 && std::signbit(x), (i + j) % 2 == 0); });
  for_each(filled<float>("negzero:every=1", 3, 3), [](auto, auto, float x) { EXPECT_TRUE(x == 0 && std::signbit(x)); });
}

}  // namespace
}  // namespace kizami::check
