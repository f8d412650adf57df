// SPDX-License-Identifier: MIT
// The epilogue of scheme ec: scales taken back exactly, alpha and beta by the one expression, skipped lines untouched.
#include "schemes/ec/float_sums.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "num/line_stats.hpp"
#include "num/scaled.hpp"

namespace kizami::ec {
namespace {

TEST(FloatSums, ScalesComeBackExactlyAndSkippedLinesStay) {
  const std::vector<float> sums = {3.0F, -5.0F, 7.0F, 0.0F, 1.0F + 0x1p-23F, 11.0F};  // 3 x 2
  const std::vector<std::int32_t> rows = {10, num::kSkipLine, -120}, cols = {5, -20};
  std::vector<float> c(6, std::nanf(""));
  reconstruct_float<float>({sums.data(), 3, 6}, rows.data(), cols.data(), 1.0F, 0.0F, 2, {c.data(), 3, 2, 1, 3});
  EXPECT_EQ(c[0], 3 * 0x1p-15F);
  EXPECT_TRUE(std::isnan(c[1]));
  EXPECT_EQ(c[2], 7 * 0x1p115F);
  EXPECT_EQ(c[3], 0.0F);
  EXPECT_EQ(c[5], std::numeric_limits<float>::infinity());  // 11 * 2^140
  const std::vector<std::int32_t> far = {140, 149, 150}, zero = {0, num::kSkipLine};
  reconstruct_float<float>({sums.data(), 3, 6}, far.data(), zero.data(), 1.0F, 0.0F, 1, {c.data(), 3, 2, 1, 3});
  EXPECT_EQ(c[0], 3 * 0x1p-140F);  // gradual underflow
  EXPECT_EQ(c[1], -5 * 0x1p-149F);
  EXPECT_EQ(c[2], 4 * 0x1p-149F);  // 3.5 units: to even
}

TEST(FloatSums, AlphaAndBetaAreThoseOfFinish) {
  using C = std::complex<float>;
  const std::vector<float> sums = {1.5F, -2.25F, 0.375F, 8.0F};  // real parts, then imaginary parts, of 2 x 1
  const std::vector<std::int32_t> rows = {1, 0}, cols = {2};
  const C alpha{0.5F, -2.0F}, beta{1.0F, 3.0F};
  std::vector<C> c = {{1.0F, 2.0F}, {-3.0F, 0.25F}};
  std::vector<C> want(2);
  for (std::size_t i = 0; i < 2; ++i) {
    const int exponent = -(rows[i] + cols[0]);
    want[i] = num::finish(num::ScaledComplex{num::make_scaled(static_cast<double>(sums[i]), exponent),
                                             num::make_scaled(static_cast<double>(sums[2 + i]), exponent)},
                          alpha, beta, c[i]);
  }
  reconstruct_float<C>({sums.data(), 2, 2}, rows.data(), cols.data(), alpha, beta, 1, {c.data(), 2, 1, 1, 2});
  EXPECT_EQ(c, want);
}

TEST(FloatSums, KaratsubaTakesThePartsApart) {
  using C = std::complex<float>;
  const std::vector<float> sums = {10.0F, 4.0F, 19.5F};  // P1, P2, P3 of one element
  const std::vector<std::int32_t> one = {0};
  C c;
  reconstruct_float<C>({sums.data(), 1, 1}, one.data(), one.data(), C{1}, C{0}, 1, {&c, 1, 1, 1, 1},
                       ComplexSums::kKaratsuba);
  EXPECT_EQ(c, C(6.0F, 5.5F));
}

}  // namespace
}  // namespace kizami::ec
