// SPDX-License-Identifier: MIT
// FP64 by pairs of FP32: conversions, and sums held to the bound of the header by exact sums.
#include "check/float_float.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "check/exact.hpp"

namespace kizami::check {
namespace {

static_assert(to_float_float(0.0) == FloatFloat{0, 0});
static_assert(to_float_float(1 + 0x1p-30) == FloatFloat{1, 0x1p-30F});
static_assert(to_float_float(-0x1.000001p0) == FloatFloat{-1, -0x1p-24F});  // tie to even
static_assert(to_double({1, 0x1p-30F}) == 1 + 0x1p-30);

TEST(FloatFloat, TakesZeroAndTheRangeThatLosesNothing) {
  for (const double x : {0.0, -0.0, 1.0, 0x1p50, -0x1p-50}) EXPECT_TRUE(is_float_float(x)) << x;
  const double inf = std::numeric_limits<double>::infinity();
  for (const double x : {std::nextafter(0x1p50, inf), std::nextafter(-0x1p-50, 0.0), inf, -inf,
                         std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::denorm_min()})
    EXPECT_FALSE(is_float_float(x)) << x;
}

TEST(FloatFloat, ConversionsKeepToTheirBound) {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<int> exponent(-kMostFloatFloatExponent, kMostFloatFloatExponent - 1);
  std::uniform_real_distribution<double> significand(1, 2);
  for (int i = 0; i < 10000; ++i) {
    const double x = std::ldexp(significand(random), exponent(random)) * (i % 2 == 0 ? 1 : -1);
    const FloatFloat pair = to_float_float(x);
    EXPECT_EQ(pair.hi, pair.hi + pair.lo) << x;  // normalized
    EXPECT_LE(std::abs(to_double(pair) - x), 0x1p-48 * std::abs(x)) << x;
  }
}

/// Largest |error| / (bound |a|.|b|) over many sums of k terms, whose elements have exponents within +-spread.
double worst_ratio(std::int64_t k, int spread, bool cancels, int sums, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int> exponent(-spread, spread);
  std::uniform_real_distribution<double> significand(-1, 1);
  double worst = 0;
  for (int s = 0; s < sums; ++s) {
    ExactDot exact;
    FloatFloat sum;
    double last = 0;
    for (std::int64_t h = 0; h < k; ++h) {
      const bool is_opposite = cancels && h % 2 == 1;  // but for the last bits
      double a = is_opposite ? -last * (1 + 0x1p-45) : std::ldexp(significand(random), exponent(random));
      double b = cancels ? 1 + 0x1p-40 : std::ldexp(significand(random), exponent(random));
      if (!is_float_float(a)) a = 0;
      if (!is_float_float(b)) b = 0;
      last = a;
      exact.add(a, b);
      sum = multiply_add(sum, to_float_float(a), to_float_float(b));
    }
    Exact error = exact.sum();
    error.add(-to_double(sum));
    const double gauge = exact.abs_sum().rounded<double>(Rounding::kDown);
    if (gauge == 0) continue;
    worst = std::max(worst, std::abs(error.rounded<double>()) / (float_float_bound(k) * gauge));
  }
  return worst;
}

TEST(FloatFloat, SumsKeepToTheirBound) {
  for (const int spread : {0, 8, kMostFloatFloatExponent - 1}) {
    for (const bool cancels : {false, true}) {
      for (const std::int64_t k : {1, 2, 3, 17, 256, 4000}) {
        const double ratio = worst_ratio(k, spread, cancels, k > 1000 ? 3 : 50, static_cast<unsigned>(k + spread));
        EXPECT_LE(ratio, 1) << "k = " << k << ", exponents within " << spread << (cancels ? ", cancelling" : "");
      }
    }
  }
  EXPECT_GT(worst_ratio(1, 0, false, 200, 7), 0.02);  // 48 bits, not 53
}

TEST(FloatFloat, SumsOfTheLeastElementsKeepToTheirBound) {
  for (const double tail : {0x1p-52, 0x1.8p-26, 0x1p-25}) {
    const double x = 0x1p-50 * (1 + tail);
    ExactDot exact;
    FloatFloat sum;
    for (int h = 0; h < 100; ++h) {
      exact.add(x, h % 3 == 0 ? -x : x);
      sum = multiply_add(sum, to_float_float(x), to_float_float(h % 3 == 0 ? -x : x));
    }
    Exact error = exact.sum();
    error.add(-to_double(sum));
    EXPECT_LE(std::abs(error.rounded<double>()), float_float_bound(100) * exact.abs_sum().rounded<double>()) << tail;
  }
}

}  // namespace
}  // namespace kizami::check
