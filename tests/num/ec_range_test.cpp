// SPDX-License-Identifier: MIT
// The range of scheme ec by lines: flags at their thresholds, what follows from them, and the derivation of the limits
// checked on the worst lines that they let through, split and summed in exact arithmetic.
#include "num/ec_range.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kizami/formats.hpp"
#include "num/float_split.hpp"

namespace kizami::num {
namespace {

constexpr double kBudget = 0x1p-15;

TEST(EcRange, FlagsAtTheThresholds) {
  const EcRangeLimits limits{0x1p-8F, 16.0F, 0x1p-81F, 0x1p-110F};
  const EcLineSight good{0x1p-8F, 75, 100};
  EXPECT_EQ(ec_line_flags(limits, good, 100), 0U);
  EXPECT_EQ(ec_line_flags(limits, {0x1.fffffep-9F, 75, 100}, 100), kEcNotFine);
  EXPECT_EQ(ec_line_flags(limits, {0x1p-8F, 74, 100}, 100), kEcNotDense);
  EXPECT_EQ(ec_line_flags(limits, {0x1p-8F, 75, 99}, 100), kEcNotFull);
  EXPECT_EQ(ec_line_flags(limits, {0x1.fffffep-82F, 75, 100}, 100), kEcNotFine | kEcNotNarrow);
  EXPECT_EQ(ec_line_flags(limits, {0x1p-149F, 0, 3}, 100), kEcAllFlags);
  EXPECT_EQ(ec_line_flags(limits, {0.0F, 0, 0}, 100), 0U) << "a line of zeros has no error";
}

TEST(EcRange, HoldsIfAllLinesOfBothAreFineOrDense) {
  for (std::uint32_t a = 0; a <= kEcAllFlags; ++a) {
    for (std::uint32_t b = 0; b <= kEcAllFlags; ++b) {
      const bool all_fine = (a & kEcNotFine) == 0 && (b & kEcNotFine) == 0;
      const bool all_dense = (a & kEcNotDense) == 0 && (b & kEcNotDense) == 0;
      EXPECT_EQ(ec_f16_holds(a, b), all_fine || all_dense);
      const bool all_narrow = (a & kEcNotNarrow) == 0 && (b & kEcNotNarrow) == 0;
      const bool one_full = (a & kEcNotFull) == 0 || (b & kEcNotFull) == 0;
      EXPECT_EQ(ec_tf32_holds(a, b), all_narrow || one_full);
    }
  }
}

/// |y - hi - lo| of FP16, beyond what ec_bound() counts.
double lost(double y) {
  const auto parts = split_number<Fp16>(y, {});
  const double missed = std::fabs(y - parts[0].to_double() - parts[1].to_double());
  return std::max(0.0, missed - split_remainder(11, 2) * std::fabs(y));
}

// Every binade and mantissas that FP16 keeps worst: what a fine element loses is at most its half of the budget.
TEST(EcRange, FineElementsKeepTheBudget) {
  const EcRangeLimits limits = ec_range_limits(14, kBudget);
  double worst = 0;
  for (float y = limits.fine; y < 0x1p15F; y *= 1.0009765F) {
    for (int i = 0; i < 64; ++i) {
      const double x = std::nextafter(y, 2 * y) + i * 0x1p-26;
      worst = std::max(worst, lost(static_cast<float>(x)) / x);
    }
  }
  EXPECT_LE(2 * worst, kBudget);
  EXPECT_GE(2 * worst, kBudget / 4) << "the limit is far from what is needed";
}

// A quarter of each line is as small as can be, where the other line is large; the rest is at the limit of density.
TEST(EcRange, DenseLinesKeepTheBudget) {
  const EcRangeLimits limits = ec_range_limits(14, kBudget);
  constexpr int kLength = 64;
  std::vector<double> a(kLength, limits.dense);
  std::vector<double> b(kLength, limits.dense);
  for (int h = 0; h < kLength / 4; ++h) {
    a[static_cast<std::size_t>(h)] = 0x1.fffffep-26;  // rounds to 0 or 2^-24
    b[static_cast<std::size_t>(h)] = 0x1.fffffep14;
    a[static_cast<std::size_t>(kLength - 1 - h)] = 0x1.fffffep14;
    b[static_cast<std::size_t>(kLength - 1 - h)] = 0x1.fffffep-26;
  }
  double error = 0;
  double gauge = 0;
  for (std::size_t h = 0; h < kLength; ++h) {
    error += lost(a[h]) * b[h] + lost(b[h]) * a[h];
    gauge += a[h] * b[h];
  }
  EXPECT_LE(error, kBudget * gauge);
}

TEST(EcRange, LimitsFollowTheScale) {
  const EcRangeLimits f16 = ec_range_limits(14, kBudget);
  const EcRangeLimits tf32 = ec_range_limits(45, kBudget);
  EXPECT_EQ(static_cast<float>(Fp16::from(f16.dense).to_float()), f16.dense)
      << "a device compares it with FP16 numbers";
  EXPECT_EQ(std::ldexp(f16.fine, 31), tf32.fine);
  EXPECT_EQ(std::ldexp(f16.dense, 31), tf32.dense);
  EXPECT_EQ(std::ldexp(f16.narrow, 31), tf32.narrow);
  EXPECT_EQ(std::ldexp(f16.full, 31), tf32.full);
  EXPECT_EQ(tf32.narrow, 0x1p-50F);
  EXPECT_EQ(tf32.full, 0x1p-79F);
}

}  // namespace
}  // namespace kizami::num
