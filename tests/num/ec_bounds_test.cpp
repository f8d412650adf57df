// SPDX-License-Identifier: MIT
// The bound of scheme ec: each step of the model against its gamma, whole chains against theirs, and the closed forms.
#include "num/ec_bounds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace kizami::num {
namespace {

TEST(TensorCoreStepBound, ClosedForms) {
  EXPECT_EQ(tensor_core_step_bound(hopper_tensor_core(FloatType::kFp16)), 21 * 0x1p-25);
  EXPECT_EQ(tensor_core_step_bound(hopper_tensor_core(FloatType::kTf32)), 13 * 0x1p-25);
  EXPECT_EQ(tensor_core_step_bound(ampere_tensor_core(FloatType::kFp16)), 11 * 0x1p-24);
  EXPECT_EQ(tensor_core_step_bound(mma_rn_tensor_core()), 16 * 0x1p-25 + 0x1p-23 + 0x1p-24);
  EXPECT_EQ(tensor_core_step_bound(mma_rz_tensor_core()), 16 * 0x1p-25 + 0x1p-22);
}

// Positive addends of many sizes lose the most; the observed error comes within a factor of the bound and never above.
TEST(TensorCoreStepBound, HoldsForRandomAndAdverseSteps) {
  std::mt19937 random(5);
  for (const TensorCore& core : {hopper_tensor_core(FloatType::kFp16), ampere_tensor_core(FloatType::kFp16),
                                 mma_rn_tensor_core(), mma_rz_tensor_core()}) {
    const double gamma = tensor_core_step_bound(core);
    double most = 0;
    for (int sample = 0; sample < 40000; ++sample) {
      double a[16];
      double b[16];
      const bool is_positive = sample % 2 == 0;
      const auto operand = [&] {
        const std::uint32_t bits = random();
        const double x =
            std::ldexp(1.0 + static_cast<double>(bits % 1024) / 1024, static_cast<int>(bits >> 28) / 2 - 4);
        return is_positive || (bits & 0x8000) != 0 ? x : -x;
      };
      double c = static_cast<float>(operand() * operand() * (1 + 0x1p-23 * (random() % 4096)));
      double exact = c;  // of 60 bits at most: c has 24, products 22 within 2^16 of it; long double holds 64
      double magnitude = std::abs(c);
      for (int h = 0; h < core.group; ++h) {
        a[h] = operand();
        b[h] = operand();
        exact += a[h] * b[h];
        magnitude += std::abs(a[h] * b[h]);
      }
      const float got = tensor_core_step(core, FloatType::kFp16, static_cast<float>(c), a, b, core.group);
      const double error = std::abs(static_cast<double>(got) - exact);
      ASSERT_LE(error, gamma * magnitude);
      most = std::max(most, error / (gamma * magnitude));
    }
    EXPECT_GT(most, 0.08);  // the bound is not idle
  }
}

EcErrorTerms one_sum(std::vector<double> magnitudes, bool promotes) {
  EcErrorTerms terms;
  terms.core = hopper_tensor_core(FloatType::kFp16);
  for (const double m : magnitudes) terms.sums[0].magnitudes[static_cast<std::size_t>(terms.sums[0].num_pairs++)] = m;
  terms.sums[0].promotes = promotes;
  return terms;
}

TEST(EcBound, ClosedForms) {
  const double gamma = 21 * 0x1p-25;
  // One pair, promoted every 64: 4 steps an interval, and 15 additions outside at k = 1024.
  const double promoted = 4 * gamma + 15 * 0x1p-24;
  EXPECT_NEAR(ec_bound(one_sum({1.0}, true), 1024), promoted / (1 - promoted), promoted * 0x1p-30);
  // Not promoted: all 64 steps.
  const double carried = 64 * gamma;
  EXPECT_NEAR(ec_bound(one_sum({1.0}, false), 1024), carried / (1 - carried), carried * 0x1p-30);
  // Small pairs first: they weigh in the accumulator only while they are in it.
  const double small_first = ec_bound(one_sum({0x1p-11, 0x1p-11, 1.0}, true), 64);
  const double small_last = ec_bound(one_sum({1.0, 0x1p-11, 0x1p-11}, true), 64);
  EXPECT_LT(small_first, 1.01 * 4 * gamma);
  EXPECT_GT(small_last, 2.9 * 4 * gamma);
}

TEST(EcBound, GrowsWithKAndStaysFinite) {
  double last = 0;
  for (std::int64_t k = 1; k < (std::int64_t{1} << 34); k *= 3) {
    const double bound = ec_bound(one_sum({1.0}, true), k);
    EXPECT_GE(bound, last);
    last = bound;
  }
  EXPECT_GT(ec_bound(one_sum({1.0}, false), std::int64_t{1} << 33), 1.0);  // no bound at all
  EXPECT_GT(ec_bound(one_sum({1.0}, true), 0), 0.0);
}

}  // namespace
}  // namespace kizami::num
