// SPDX-License-Identifier: MIT
// The comparators must go red: for NaN, Inf, a swapped sign, one flipped ulp, one wrong element, nothing to compare.
#include "check/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "case_line.hpp"

namespace kizami::check {
namespace {

/// A 3 x 4 matrix of 1, 2, ... 12 in columns, and a comparator's verdict on a copy with element (1, 2) = 8 changed.
template <class T>
struct Pair {
  std::vector<T> want_data, got_data;
  Pair() : want_data(12), got_data(12) {
    for (std::size_t t = 0; t < 12; ++t) want_data[t] = got_data[t] = static_cast<T>(t + 1);
  }
  MatrixView<T> want() { return blas_view(want_data.data(), 3, 4, 3); }
  MatrixView<T> got() { return blas_view(got_data.data(), 3, 4, 3); }
  Verdict bits() { return bits_equal<T>(got(), want()); }
  Verdict placement() { return same_placement<T>(got(), want()); }
};

TEST(BitsEqual, IsGreenOnEqualBitsOnly) {
  Pair<double> x;
  EXPECT_TRUE(x.bits()) << x.bits().message;
  for (const double wrong :
       {kQuietNaN, kInfinity, -kInfinity, -8.0, std::nextafter(8.0, 9.0), std::nextafter(8.0, 7.0), 0.0, 7.0}) {
    x.got()(1, 2) = wrong;
    const Verdict verdict = x.bits();
    EXPECT_FALSE(verdict) << wrong;
    EXPECT_NE(verdict.message.find("(1, 2)"), std::string::npos) << verdict.message;
    EXPECT_NE(verdict.message.find("want 8 (0x4020000000000000)"), std::string::npos) << verdict.message;
    EXPECT_NE(verdict.message.find("1 of 12 elements"), std::string::npos) << verdict.message;
  }
}

TEST(BitsEqual, TellsZerosAndNansApart) {
  Pair<float> x;
  x.want()(0, 0) = 0.0F;
  x.got()(0, 0) = -0.0F;
  EXPECT_FALSE(x.bits());
  x.want()(0, 0) = x.got()(0, 0) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(x.bits());
  x.got()(0, 0) = -x.got()(0, 0);
  EXPECT_FALSE(x.bits());
  x.got()(0, 0) = 1;
  EXPECT_FALSE(x.bits());
}

TEST(PromisedBitsEqual, TellsZerosApartAndNoNans) {
  Pair<float> x;
  const auto promised = [&] { return promised_bits_equal<float>(x.got(), x.want()); };
  EXPECT_TRUE(promised()) << promised().message;
  x.got()(1, 2) = std::nextafter(8.0F, 9.0F);
  EXPECT_FALSE(promised());
  x.got()(1, 2) = x.want()(1, 2) = -0.0F;
  x.want()(0, 0) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(promised()) << "a number for NaN";
  x.got()(0, 0) = std::copysign(x.want()(0, 0), -1.0F);
  EXPECT_TRUE(promised()) << promised().message;
  EXPECT_FALSE(x.bits());
  x.want()(0, 0) = 1;
  EXPECT_FALSE(promised()) << "NaN for a number";
  x.got()(0, 0) = 1;
  x.got()(1, 2) = 0.0F;
  EXPECT_FALSE(promised()) << "the other zero";
}

TEST(BitsEqual, ReportsTheFirstInRowOrderAndCountsAll) {
  Pair<double> x;
  x.got()(2, 0) = 0;
  x.got()(1, 3) = 0;
  EXPECT_NE(x.bits().message.find("(1, 3)"), std::string::npos);
  EXPECT_NE(x.bits().message.find("2 of 12 elements"), std::string::npos);
}

TEST(BitsEqual, IgnoresStridesButNotShapes) {
  Pair<double> x;
  std::vector<double> padded(4 * 5, kQuietNaN);
  const MatrixView<double> row_major = blas_view(padded.data(), 3, 4, 5, Layout::kRowMajor);
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 4; ++j) row_major(i, j) = x.want()(i, j);
  }
  EXPECT_TRUE(bits_equal<double>(row_major, x.want()));
  EXPECT_FALSE(bits_equal<double>(row_major.transposed(), x.want()));
  EXPECT_FALSE(bits_equal<double>(x.got().block(0, 0, 3, 3), x.want()));
  EXPECT_FALSE(bits_equal<double>(x.got().block(0, 0, 2, 4), x.want()));
}

TEST(SamePlacement, ComparesKindsOnly) {
  Pair<double> x;
  x.got()(1, 2) = -5;
  EXPECT_TRUE(x.placement());
  const double kinds[] = {1, kQuietNaN, kInfinity, -kInfinity};
  for (const double want : kinds) {
    for (const double got : kinds) {
      x.want()(1, 2) = want;
      x.got()(1, 2) = got;
      const bool is_same = (std::isnan(want) && std::isnan(got)) || want == got;
      EXPECT_EQ(x.placement().ok, is_same) << want << " " << got;
    }
  }
  x.want()(1, 2) = kQuietNaN;
  x.got()(1, 2) = -kQuietNaN;
  EXPECT_TRUE(x.placement());
  EXPECT_FALSE(same_placement<double>(x.got().block(0, 0, 3, 3), x.want()));
}

TEST(RatioAtMostOne, IsGreenOnlyUpToOne) {
  EXPECT_TRUE(ratio_at_most_one(0));
  EXPECT_TRUE(ratio_at_most_one(1));
  EXPECT_FALSE(ratio_at_most_one(std::nextafter(1.0, 2.0)));
  EXPECT_FALSE(ratio_at_most_one(kInfinity));
  EXPECT_FALSE(ratio_at_most_one(kQuietNaN));
}

RatioCollector collected(const std::vector<double>& ratios, std::int64_t col = 0) {
  RatioCollector out;
  for (std::size_t i = 0; i < ratios.size(); ++i) out.add(static_cast<std::int64_t>(i), col, ratios[i]);
  return out;
}

TEST(RatioStats, FindsMaximumMedianAndPlace) {
  const RatioStats stats = collected({0.25, 0.75, 0.5, 0.75, 0}, 9).stats();
  EXPECT_EQ(stats.max, 0.75);
  EXPECT_EQ(stats.row, 1);
  EXPECT_EQ(stats.col, 9);
  EXPECT_EQ(stats.median, 0.5);
  EXPECT_EQ(stats.count, 5);
  EXPECT_EQ(stats.num_red, 0);
  EXPECT_TRUE(ratio_at_most_one(stats));
}

TEST(RatioStats, OneBadElementIsSeenWhereverItStands) {
  for (const double bad : {kQuietNaN, -kQuietNaN, kInfinity, std::nextafter(1.0, 2.0)}) {
    for (std::size_t at = 0; at < 5; ++at) {
      std::vector<double> ratios = {0.5, 1, 0.25, 0, 1};
      ratios[at] = bad;
      const RatioStats stats = collected(ratios).stats();
      EXPECT_FALSE(ratio_at_most_one(stats)) << bad << " at " << at;
      EXPECT_EQ(stats.row, static_cast<std::int64_t>(at));
      EXPECT_EQ(stats.num_red, 1);
    }
  }
}

TEST(RatioStats, NanBeatsInfinityAndSurvivesMerging) {
  for (const bool nan_first : {false, true}) {
    RatioCollector x = collected({nan_first ? kQuietNaN : kInfinity, 0.5}, 1);
    x.merge(collected({0.25, nan_first ? kInfinity : kQuietNaN}, 2));
    x.merge(collected({0.5}, 3));
    const RatioStats stats = x.stats();
    EXPECT_TRUE(std::isnan(stats.max));
    EXPECT_EQ(stats.col, nan_first ? 1 : 2);
    EXPECT_EQ(stats.num_red, 2);
    EXPECT_EQ(stats.count, 5);
    EXPECT_EQ(stats.median, 0.5);
    EXPECT_FALSE(ratio_at_most_one(stats));
  }
  EXPECT_TRUE(std::isnan(collected({kQuietNaN, 0.5, kQuietNaN}).stats().median));
}

TEST(RatioStats, NothingJudgedIsRed) {
  EXPECT_FALSE(ratio_at_most_one(RatioCollector{}.stats()));
  RatioCollector x;
  x.merge(RatioCollector{});
  EXPECT_FALSE(ratio_at_most_one(x.stats()));
}

}  // namespace
}  // namespace kizami::check
