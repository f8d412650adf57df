// SPDX-License-Identifier: MIT
// Where scheme native's bound is said to be certain it holds, for several orders of operations, decided by rationals on
// exponents at the edge; and where it is known not to hold nothing is said.
#include "num/native_range.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "num/bounds.hpp"
#include "tests/certify/stored_lines.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::num {
namespace {

using tests::Rational;
using tests::Rng;

ExponentRange at(int least, int most) { return {least, most}; }
constexpr ExponentRange kNone;

TEST(NativeRange, OrdinaryOperandsAreCertain) {
  EXPECT_TRUE(is_native_bound_certain<double>(at(-60, 3), at(-60, 3), 100000, at(0, 0), kNone, kNone));
  EXPECT_TRUE(is_native_bound_certain<float>(at(-30, 3), at(-30, 3), 100000, at(0, 0), kNone, kNone));
  EXPECT_TRUE(
      is_native_bound_certain<std::complex<double>>(at(-60, 3), at(-60, 3), 100000, at(-2, 1), at(-60, 3), at(0, 0)));
  EXPECT_TRUE(
      is_native_bound_certain<std::complex<float>>(at(-25, 3), at(-25, 3), 100000, at(-2, 1), at(-25, 3), at(0, 0)));
  EXPECT_TRUE(is_native_bound_certain<double>(kNone, at(-1074, 1023), 1, at(0, 0), kNone, kNone)) << "A is zero";
}

TEST(NativeRange, WhatIsKnownToFailIsNotCertain) {
  EXPECT_FALSE(is_native_bound_certain<double>(at(-538, -538), at(-538, -538), 1000, at(0, 0), kNone, kNone));
  EXPECT_FALSE(is_native_bound_certain<double>(at(0, 664), at(0, 664), 3, at(0, 0), kNone, kNone));
  EXPECT_FALSE(is_native_bound_certain<double>(at(664, 664), at(664, 664), 1, at(-997, -997), kNone, kNone));
  EXPECT_FALSE(is_native_bound_certain<double>(at(-665, -665), at(-665, -665), 1, at(996, 996), kNone, kNone));
  EXPECT_FALSE(is_native_bound_certain<double>(at(0, 0), at(0, 0), 1, at(0, 0), at(0, 1000), at(100, 100)));
  EXPECT_FALSE(is_native_bound_certain<float>(at(-80, -80), at(-70, -70), 9, at(0, 0), kNone, kNone));
  EXPECT_FALSE(is_native_bound_certain<float>(at(70, 70), at(60, 60), 9, at(0, 0), kNone, kNone));
}

/// alpha A B by one order of operations.
template <class R>
R multiply(const std::vector<R>& a, const std::vector<R>& b, R alpha, bool is_fused, bool is_alpha_first) {
  R sum = 0;
  for (std::size_t h = 0; h < a.size(); ++h) {
    const R y = is_alpha_first ? alpha * b[h] : b[h];
    sum = is_fused ? std::fma(a[h], y, sum) : sum + a[h] * y;
  }
  return is_alpha_first ? sum : alpha * sum;
}

/// Random operands whose exponents reach to the edge of what is certain, or a little beyond.
template <class R>
void expect_bound_holds() {
  constexpr int kMost = FloatTraits<R>::kMaxExponent;
  constexpr double u = sizeof(R) == 4 ? 0x1p-24 : 0x1p-53;
  const Scalar scalar = sizeof(R) == 4 ? Scalar::kF32 : Scalar::kF64;
  Rng rng(5);
  int num_certain = 0;
  int num_far = 0;  // of them, how many reach towards the ends of the range
  for (int repeat = 0; repeat < tests::cases(300); ++repeat) {
    const auto k = static_cast<std::size_t>(tests::random_int(rng, 1, 40));
    const int centre_a = tests::random_int(rng, -kMost, kMost), centre_b = tests::random_int(rng, -kMost, kMost);
    const int spread = tests::random_int(rng, 0, 40);
    const R alpha =
        rng() % 2 == 0 ? R{1} : static_cast<R>(std::ldexp(1.1, tests::random_int(rng, -kMost / 2, kMost / 2)));
    std::vector<R> a(k), b(k);
    ExponentRange range_a, range_b;
    for (std::size_t h = 0; h < k; ++h) {
      a[h] = static_cast<R>(
          std::ldexp(tests::random_value<R>(rng, 0), centre_a + tests::random_int(rng, -spread, spread)));
      b[h] = static_cast<R>(
          std::ldexp(tests::random_value<R>(rng, 0), centre_b + tests::random_int(rng, -spread, spread)));
      if (!std::isfinite(a[h])) a[h] = 1;
      if (!std::isfinite(b[h])) b[h] = 1;
      range_a.add(exponent_range_of(a[h]));
      range_b.add(exponent_range_of(b[h]));
    }
    if (!is_native_bound_certain<R>(range_a, range_b, static_cast<std::int64_t>(k), exponent_range_of(alpha), kNone,
                                    kNone))
      continue;
    ++num_certain;
    if (std::abs(centre_a + centre_b) > kMost / 2) ++num_far;
    Rational sum = 0, gauge = 0;
    for (std::size_t h = 0; h < k; ++h) {
      const Rational term = Rational(static_cast<double>(a[h])) * Rational(static_cast<double>(b[h]));
      sum += term;
      gauge += abs(term);
    }
    const Rational factor(static_cast<double>(alpha));
    Rational allowed = abs(factor) * gauge * Rational(dot_bound(static_cast<std::int64_t>(k), u));
    if (alpha != R{1}) {  // epilogue_bound(), linear in its argument
      allowed += abs(factor) * gauge * Rational(epilogue_bound(scalar, 1, 0)) * 2;
      allowed += Rational(epilogue_bound(scalar, 0, 0));
    }
    for (const bool is_fused : {false, true}) {
      for (const bool is_alpha_first : {false, true}) {
        const R got = multiply(a, b, alpha, is_fused, is_alpha_first);
        ASSERT_TRUE(std::isfinite(got));
        const Rational error = abs(Rational(static_cast<double>(got)) - factor * sum);
        // alpha first rounds every term once more.
        ASSERT_LE(error, is_alpha_first ? Rational(allowed * 2) : allowed) << "k = " << k << ", alpha = " << alpha;
      }
    }
  }
  EXPECT_GT(num_certain, tests::cases(300) / 10);
  EXPECT_GT(num_far, tests::cases(300) / 100);
}

TEST(NativeRange, BoundHoldsWhereItIsCertain64) { expect_bound_holds<double>(); }
TEST(NativeRange, BoundHoldsWhereItIsCertain32) { expect_bound_holds<float>(); }

}  // namespace
}  // namespace kizami::num
