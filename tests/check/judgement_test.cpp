// SPDX-License-Identifier: MIT
// The judgement of a computed product goes red for every kind of wrong element, and for nothing else.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "case_line.hpp"
#include "check/case.hpp"
#include "check/operands.hpp"
#include "check/reference.hpp"

namespace kizami::check {
namespace {

template <class T>
Reference<T> reference_of(const Case& c, const Operands<T>& x) {
  return {static_cast<T>(c.alpha), x.a.view(), x.b.view(), static_cast<T>(c.beta), x.c.view()};
}

/// Runs the correctly rounded product through every judgement after one element has been replaced by `wrong`.
template <class T>
void expect_red_after(const std::string& line, T wrong) {
  const Case c = case_of(line);
  const Operands<T> x(c);
  const Reference<T> reference = reference_of(c, x);
  std::vector<T> result = reference.rounded_all();
  const MatrixView<T> view = blas_view(result.data(), c.m, c.n, c.m);
  const Allowance allowed = promised_allowance(Accuracy::native(), Gauge::kEntry, c.scalar, c.k);
  EXPECT_TRUE(ratio_at_most_one(error_ratios<T>(reference, view, allowed))) << line;
  for (const auto& [i, j] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {0, 0}, {c.m - 1, 0}, {c.m - 1, c.n - 1}, {c.m / 2, c.n / 2}}) {
    const T right = view(i, j);
    view(i, j) = wrong;
    for (const int threads : {1, 3}) {
      const RatioStats stats = error_ratios<T>(reference, view, allowed, {}, threads);
      EXPECT_FALSE(ratio_at_most_one(stats)) << line << " " << wrong;
      EXPECT_EQ(stats.row, i);
      EXPECT_EQ(stats.col, j);
      EXPECT_EQ(stats.num_red, 1);
    }
    view(i, j) = right;
  }
}

TEST(ErrorRatios, SeeOneWrongElement) {
  for (const std::string line : {"d nt 7x5x40", "d nn 7x5x40 b=-0.5 layout=row A=exprand:phi=4"}) {
    for (const double wrong : {kQuietNaN, kInfinity, -kInfinity, 1e3, -1e3, 1e300})
      expect_red_after<double>(line, wrong);
  }
  for (const float wrong : {std::nanf(""), 1e3F, 1e30F}) expect_red_after<float>("s tn 7x5x40 a=3", wrong);
}

TEST(ErrorRatios, SeeSwappedSignsTransposesAndOneUlp) {
  const Case c = case_of("d nn 6x6x30 A=rand B=rand");
  const Operands<double> x(c);
  const Reference<double> reference = reference_of(c, x);
  std::vector<double> result = reference.rounded_all();
  const MatrixView<double> view = blas_view(result.data(), 6, 6, 6);
  // Correct rounding: at most half a unit of the value itself; one flipped ulp is beyond that.
  const Allowance rounding{Against::kValue, std::ldexp(1.0, -53), 0};
  EXPECT_TRUE(ratio_at_most_one(error_ratios<double>(reference, view, rounding)));
  const double right = view(2, 3);
  for (const double wrong : {std::nextafter(right, kInfinity), std::nextafter(right, 0.0), -right}) {
    view(2, 3) = wrong;
    EXPECT_FALSE(ratio_at_most_one(error_ratios<double>(reference, view, rounding))) << wrong;
  }
  view(2, 3) = right;
  const Allowance native = promised_allowance(Accuracy::native(), Gauge::kNorm, Scalar::kF64, c.k);
  EXPECT_TRUE(ratio_at_most_one(error_ratios<double>(reference, view, native)));
  EXPECT_FALSE(ratio_at_most_one(error_ratios<double>(reference, view.transposed(), native)));
  EXPECT_FALSE(ratio_at_most_one(error_ratios<double>(reference, view.block(0, 0, 6, 5), native)));  // another shape
}

TEST(ErrorRatios, JudgeKindsOfWhatIsNotFinite) {
  const Case c = case_of("d nn 3x3x4 A=rand,nan@0:1,inf@2:2 B=rand");
  const Operands<double> x(c);
  const Reference<double> reference = reference_of(c, x);
  std::vector<double> result = reference.rounded_all();
  const MatrixView<double> view = blas_view(result.data(), 3, 3, 3);
  const Allowance allowed = promised_allowance(Accuracy::native(), Gauge::kEntry, Scalar::kF64, c.k);
  EXPECT_TRUE(ratio_at_most_one(error_ratios<double>(reference, view, allowed)));
  for (const double wrong : {0.0, kInfinity, -kInfinity}) {
    const double right = std::exchange(view(0, 2), wrong);
    EXPECT_FALSE(ratio_at_most_one(error_ratios<double>(reference, view, allowed))) << wrong;
    view(0, 2) = right;
  }
  for (const double wrong : {0.0, kQuietNaN, -kInfinity}) {
    const double right = std::exchange(view(2, 0), wrong);
    EXPECT_FALSE(ratio_at_most_one(error_ratios<double>(reference, view, allowed))) << wrong;
    view(2, 0) = right;
  }
}

TEST(BoundRatios, RefuseBoundsThatAreNoNumbers) {
  const Case c = case_of("d nn 3x3x4");
  const Operands<double> x(c);
  const Reference<double> reference = reference_of(c, x);
  std::vector<double> result = reference.rounded_all();
  const MatrixView<double> view = blas_view(result.data(), 3, 3, 3);
  const auto judged = [&](double at_1_2) {
    return ratio_at_most_one(bound_ratios<double>(
        reference, view, [&](std::int64_t i, std::int64_t j) { return i == 1 && j == 2 ? at_1_2 : 1e-10; }));
  };
  EXPECT_TRUE(judged(1e-10));
  for (const double bad : {kQuietNaN, kInfinity, -1.0, -kInfinity}) EXPECT_FALSE(judged(bad)) << bad;
  view(1, 2) += 1e-9;
  EXPECT_FALSE(judged(1e-10));
  EXPECT_TRUE(judged(1e-8));
}

TEST(Sampling, TakesFirstLastAndTheWantedNumber) {
  const Case c = case_of("d nn 50x40x3 A=ones B=ones");
  const Operands<double> x(c);
  const Reference<double> reference = reference_of(c, x);
  std::vector<double> result = reference.rounded_all();
  const MatrixView<double> view = blas_view(result.data(), 50, 40, 50);
  view(49, 39) = 0;
  const RatioStats stats = error_ratios<double>(reference, view, {Against::kEntry, 0.5, 0}, {7, 1000});
  EXPECT_EQ(stats.count, 7 * 40);
  EXPECT_EQ(stats.row, 49);
  EXPECT_EQ(stats.col, 39);
  EXPECT_FALSE(ratio_at_most_one(stats));
}

TEST(PromisedAllowance, RestatesThePolicy) {
  const auto units = [](const Accuracy& accuracy, Scalar scalar, std::int64_t k) {
    return promised_allowance(accuracy, Gauge::kEntry, scalar, k).units;
  };
  EXPECT_EQ(units(Accuracy::native(), Scalar::kF64, 1), std::ldexp(8.0, -53));
  EXPECT_EQ(units(Accuracy::native(), Scalar::kF64, 100), std::ldexp(100.0, -53));
  EXPECT_EQ(units(Accuracy::native(), Scalar::kF32, 256), std::ldexp(256.0, -24));
  EXPECT_EQ(units(Accuracy::native(), Scalar::kF64, 1 << 20), std::ldexp(1.0, 14 - 53));
  EXPECT_EQ(units(Accuracy::at_bits(30), Scalar::kF64, 1000), std::ldexp(1.0, -30));
  EXPECT_EQ(promised_allowance(Accuracy::native(), Gauge::kNorm, Scalar::kF32, 1).gauge, Against::kNorm);
}

}  // namespace
}  // namespace kizami::check
