// SPDX-License-Identifier: MIT
// Two exact factors of a power of two, for every exponent and element of FP64.
#include "num/scaling.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/num/exact_numbers.hpp"

namespace kizami::num {
namespace {

using tests::exact;
using tests::Rng;
using tests::scaled;

TEST(PowerOfTwo, EveryNormalExponent) {
  for (int e = -1022; e <= 1023; ++e) ASSERT_EQ(power_of_two(e), std::ldexp(1.0, e));
}

TEST(ScaleFactors, ExactWhereverTheResultIsNotTiny) {
  Rng rng(41);
  for (int i = 0; i < tests::cases(100000); ++i) {
    const double x = i % 5 == 0 ? std::ldexp(1.0, tests::random_int(rng, -1074, 1023))
                                : tests::random_double(rng, tests::random_int(rng, -1074, 1023));
    if (x == 0) continue;
    const int s = tests::random_int(rng, -200, 199) - std::ilogb(x);  // 2^-200 <= |x 2^s| < 2^200
    const ScaleFactors f = scale_factors(s);
    ASSERT_EQ(exact(x * f.first * f.second), scaled(exact(x), s)) << x << ", " << s;
  }
}

TEST(ScaleFactors, TinyResultsStayTinyAndZeroStaysZero) {
  Rng rng(42);
  for (int i = 0; i < tests::cases(100000); ++i) {
    const double x = tests::random_double(rng, tests::random_int(rng, -1074, 1023));
    const ScaleFactors f = scale_factors(-201 - std::ilogb(x == 0 ? 1.0 : x) - tests::random_int(rng, 0, 4000));
    ASSERT_LT(std::fabs(x * f.first * f.second), 0x1p-200);
    ASSERT_EQ(0.0 * f.first * f.second, 0.0);
  }
  for (const int s : {-100000, -1281, -1280, 1280, 1281, 100000})
    ASSERT_EQ(0.0 * scale_factors(s).first * scale_factors(s).second, 0.0);
}

}  // namespace
}  // namespace kizami::num
