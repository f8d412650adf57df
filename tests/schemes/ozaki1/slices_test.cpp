// SPDX-License-Identifier: MIT
// The digits of scheme ozaki1 against their definition in exact integers and against the floating-point split of the
// literature, slice after slice.
#include "schemes/ozaki1/split.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "base/int_math.hpp"
#include "certify/statistics.hpp"
#include "check/exact.hpp"
#include "kizami/formats.hpp"
#include "num/scaling.hpp"

namespace kizami::ozaki1 {
namespace {

using num::DigitKind;
using num::DigitRule;

const std::vector<DigitRule>& int8_rules() {
  static const std::vector<DigitRule> rules = {
      num::digit_rule(DigitKind::kTruncated, 7), num::digit_rule(DigitKind::kTruncated, 3),
      num::digit_rule(DigitKind::kNearest, 6), num::digit_rule(DigitKind::kNearest, 2),
      num::digit_rule(DigitKind::kBytes, 7)};
  return rules;
}

/// Numbers of one line: random ones of all sizes, and those at the ends of digits.
std::vector<double> line_of_numbers(int exponent, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> x;
  for (int i = 0; i < 400; ++i) {
    const double significand = std::ldexp(static_cast<double>(random() >> 11), -53);
    x.push_back(std::ldexp(random() % 2 == 0 ? significand : -significand,
                           exponent + 1 - static_cast<int>(random() % (i % 3 == 0 ? 90 : 9))));
  }
  for (int bits = 1; bits <= 53; ++bits) {
    const double ones = std::ldexp(1.0 - std::ldexp(1.0, -bits), exponent + 1);
    for (const double y : {ones, -ones, std::ldexp(1.0, exponent + 1 - bits), -std::ldexp(1.0, exponent + 1 - bits)})
      x.push_back(y);
  }
  // Ties of every digit, and fractions that repeat 0x80, where bytes carry.
  for (int s = 0; s < 6; ++s) {
    x.push_back(std::ldexp(1.5, exponent - 6 - 7 * s));
    x.push_back(std::ldexp(-2.5, exponent - 6 - 8 * s));
    x.push_back(std::ldexp(static_cast<double>(0x80808080808080), exponent - 56 - 8 * s));
    x.push_back(-std::ldexp(static_cast<double>(0x7f7f7f7f7f7f80), exponent - 56 - 8 * s));
  }
  x.push_back(0.0);
  x.push_back(-0.0);
  return x;
}

/// What is left of x after `count` digits.
check::Exact rest_of(double x, const DigitRule& rule, int exponent, const std::int8_t* digits, std::int64_t stride,
                     int count) {
  check::Exact rest;
  rest.add(x);
  for (int s = 0; s < count; ++s)
    rest.add(-std::ldexp(static_cast<double>(digits[s * stride]), exponent + num::digit_unit(rule, s)));
  return rest;
}

template <class T>
problem::Lines<T> one_line(const std::vector<T>& x) {
  return {x.data(), 1, static_cast<std::int64_t>(x.size()), static_cast<std::int64_t>(x.size()), 1};
}

TEST(Slices, DigitsAreInRangeAndLeaveNoMoreThanTheBound) {
  for (const int exponent : {0, 900, -700}) {
    const std::vector<double> x = line_of_numbers(exponent, 7);
    const std::int64_t stride = base::round_up(static_cast<std::int64_t>(x.size()), 64);
    for (const DigitRule& rule : int8_rules()) {
      constexpr int kSlices = 18;
      std::vector<std::int8_t> slices(static_cast<std::size_t>(kSlices * stride), 77);
      const std::int32_t e = exponent;
      make_slices(one_line(x), SliceTerms::kPlain, &e, 0, static_cast<std::int64_t>(x.size()), rule, kSlices, false, 1,
                  slices.data(), kSlices * stride, stride);
      for (std::size_t t = 0; t < x.size(); ++t) {
        for (int s = 0; s < kSlices; ++s) {
          const int digit = slices[static_cast<std::size_t>(s * stride) + t];
          ASSERT_LE(std::abs(digit), num::max_digit(rule)) << x[t];
          const double left = rest_of(x[t], rule, exponent, slices.data() + t, stride, s + 1).abs().rounded<double>();
          ASSERT_LE(left, std::ldexp(num::digit_residual(rule, s + 1), exponent)) << x[t] << " after " << s + 1;
        }
      }
      for (int s = 0; s < kSlices; ++s) {
        for (std::int64_t t = static_cast<std::int64_t>(x.size()); t < stride; ++t)
          ASSERT_EQ(slices[static_cast<std::size_t>(s * stride + t)], 0) << "padding";
      }
    }
  }
}

// What device code does: the same digits by FP64 operations.
TEST(Slices, AreTheDigitsOfFloatingPointOperations) {
  for (const int exponent : {0, 1023, -700, -1060}) {
    std::vector<double> numbers = line_of_numbers(exponent, 29);
    // Where bytes carry, of all bits: what is left has one more than a double holds.
    std::mt19937_64 random(31);
    for (int i = 0; i < 2000; ++i) {
      const double significand = 0.498 + 0.004 * std::ldexp(static_cast<double>(random() >> 11), -53);
      numbers.push_back(std::ldexp(i % 2 == 0 ? significand : -significand, exponent - 5 - 8 * (i % 5)));
    }
    for (const double x : numbers) {
      for (const DigitRule& rule : int8_rules()) {
        num::Decomposed d = num::decompose(x);
        const num::ScaleFactors scale = num::scale_factors(-(exponent + num::digit_unit(rule, 0)));
        num::FloatRest rest{x * scale.first * scale.second};
        for (int s = 0; s < 20; ++s) {
          const int want =
              d.mantissa == 0 ? 0 : num::next_digit(rule, d.mantissa, exponent + num::digit_unit(rule, s) - d.exponent);
          ASSERT_EQ(num::leading_digit(rule, rest), want)
              << x << ", digit " << s << " of " << rule.step << " bits, kind " << static_cast<int>(rule.kind);
        }
      }
    }
  }
}

// And all of them at once, packed in one word.
TEST(Slices, AreTheBytesOfOneInteger) {
  const DigitRule rule = num::digit_rule(DigitKind::kBytes, 7);
  std::mt19937_64 random(37);
  for (const int exponent : {0, 1023, -1060}) {
    std::vector<double> numbers = line_of_numbers(exponent, 41);
    for (int i = 0; i < 4000; ++i) {
      const double significand =
          (i % 2 == 0 ? 0.498 : 0.75) + 0.004 * std::ldexp(static_cast<double>(random() >> 11), -53);
      numbers.push_back(std::ldexp(i % 4 < 2 ? significand : -significand, exponent - 5 - i % 70));
    }
    for (const double x : numbers) {
      for (int count = 1; count <= num::kMostPackedBytes; ++count) {
        num::Decomposed d = num::decompose(x);
        const num::ScaleFactors scale = num::scale_factors(-(exponent + num::digit_unit(rule, count - 1)));
        const std::uint64_t packed = num::packed_bytes(x * scale.first * scale.second, count);
        for (int s = 0; s < count; ++s) {
          const int want =
              d.mantissa == 0 ? 0 : num::next_digit(rule, d.mantissa, exponent + num::digit_unit(rule, s) - d.exponent);
          ASSERT_EQ(static_cast<std::int8_t>(packed >> (8 * (count - 1 - s))), want)
              << x << ", digit " << s << " of " << count;
        }
      }
    }
  }
}

// The first l of more digits are the l digits: what a prepared operand rests on. Those of B in reverse order.
TEST(Slices, AreNestedAndReversed) {
  const std::vector<double> x = line_of_numbers(3, 11);
  const auto length = static_cast<std::int64_t>(x.size());
  const std::int64_t stride = base::round_up(length, 64);
  const std::int32_t e = 3;
  for (const DigitRule& rule : int8_rules()) {
    const auto made = [&](int count, bool is_reversed) {
      std::vector<std::int8_t> slices(static_cast<std::size_t>(count * stride));
      make_slices(one_line(x), SliceTerms::kPlain, &e, 0, length, rule, count, is_reversed, 2, slices.data(),
                  count * stride, stride);
      return slices;
    };
    const std::vector<std::int8_t> most = made(12, false);
    for (const int count : {1, 3, 7}) {
      const std::vector<std::int8_t> fewer = made(count, false);
      EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), most.begin()));
      const std::vector<std::int8_t> reversed = made(count, true);
      for (int s = 0; s < count; ++s) {
        EXPECT_TRUE(std::equal(fewer.begin() + s * stride, fewer.begin() + (s + 1) * stride,
                               reversed.begin() + (count - 1 - s) * stride));
      }
    }
  }
}

// Equations 2 to 4 of the document in floating point, a pass over the line for each slice: v = (x + sigma) - sigma with
// sigma = 0.75 2^(rho + c), x <- x - v. The one pass over all slices gives the same numbers.
TEST(Slices, OnePassEqualsTheVeltkampSplitSliceAfterSlice) {
  const std::vector<double> x = line_of_numbers(5, 13);
  const auto length = static_cast<std::int64_t>(x.size());
  const std::int64_t stride = base::round_up(length, 64);
  const std::int32_t e = 5;
  for (const int bits : {3, 4, 7, 8, 9, 11}) {
    const DigitRule rule = num::digit_rule(DigitKind::kNearest, bits);
    constexpr int kSlices = 8;
    std::vector<Fp16> fused(static_cast<std::size_t>(kSlices * stride));
    make_slices(one_line(x), SliceTerms::kPlain, &e, 0, length, rule, kSlices, false, 1, fused.data(), kSlices * stride,
                stride);
    const int rho = 53 - bits;
    std::vector<double> rest = x;
    for (int s = 0; s < kSlices; ++s) {
      const int c = e + 1 - s * (54 - rho);
      const double sigma = std::ldexp(0.75, rho + c);
      for (std::size_t t = 0; t < x.size(); ++t) {
        const double v = (rest[t] + sigma) - sigma;
        rest[t] -= v;
        ASSERT_EQ(std::ldexp(fused[static_cast<std::size_t>(s * stride) + t].to_double(), c - bits), v)
            << bits << " bits, slice " << s << " of " << x[t];
      }
    }
  }
}

TEST(Slices, TermsOfComplexLines) {
  using C = std::complex<double>;
  const std::vector<double> parts = line_of_numbers(0, 17);
  std::vector<C> z;
  for (std::size_t t = 0; t + 1 < parts.size(); t += 2) z.emplace_back(parts[t], parts[t + 1]);
  const auto length = static_cast<std::int64_t>(z.size());
  const DigitRule rule = num::digit_rule(DigitKind::kBytes, 7);
  constexpr int kSlices = 9;
  const std::int64_t stride = base::round_up(2 * length, 64);
  const std::int32_t e = 0;
  std::vector<std::int8_t> slices(static_cast<std::size_t>(kSlices * stride));
  const auto make = [&](SliceTerms terms, bool is_conjugated) {
    problem::Lines<C> lines = one_line(z);
    lines.is_conjugated = is_conjugated;
    make_slices(lines, terms, &e, 0, length, rule, kSlices, false, 1, slices.data(), kSlices * stride, stride);
  };
  const auto expect_digits_of = [&](std::int64_t t, const check::Exact& value, int exponent) {
    check::Exact rest = value;
    for (int s = 0; s < kSlices; ++s) {
      rest.add(-std::ldexp(static_cast<double>(slices[static_cast<std::size_t>(s * stride + t)]),
                           exponent + num::digit_unit(rule, s)));
    }
    ASSERT_LE(rest.abs().rounded<double>(), std::ldexp(num::digit_residual(rule, kSlices), exponent)) << t;
  };
  const auto exact = [](double x, double y = 0.0) {
    check::Exact sum;
    sum.add(x);
    sum.add(y);
    return sum;
  };
  for (const bool is_conjugated : {false, true}) {
    const auto im = [&](std::int64_t h) {
      return is_conjugated ? -z[static_cast<std::size_t>(h)].imag() : z[static_cast<std::size_t>(h)].imag();
    };
    const auto re = [&](std::int64_t h) { return z[static_cast<std::size_t>(h)].real(); };
    make(SliceTerms::kPlain, is_conjugated);
    for (std::int64_t h = 0; h < length; ++h) expect_digits_of(2 * h + 1, exact(im(h)), 0);
    make(SliceTerms::kReal, is_conjugated);
    for (std::int64_t h = 0; h < length; ++h) expect_digits_of(h, exact(re(h)), 0);
    make(SliceTerms::kImaginary, is_conjugated);
    for (std::int64_t h = 0; h < length; ++h) expect_digits_of(h, exact(im(h)), 0);
    make(SliceTerms::kSum, is_conjugated);  // exactly: no rounding of re + im in between
    for (std::int64_t h = 0; h < length; ++h) expect_digits_of(h, exact(re(h), im(h)), 1);
    make(SliceTerms::kRealForm, is_conjugated);
    for (std::int64_t h = 0; h < length; ++h) expect_digits_of(2 * h + 1, exact(-im(h)), 0);
    make(SliceTerms::kImagForm, is_conjugated);
    for (std::int64_t h = 0; h < length; ++h) expect_digits_of(2 * h, exact(im(h)), 0);
  }
}

// A line with NaN or Inf is zeros whatever is sliced of it, and of its exponent nothing is computed: UBSan sees an
// overflow.
TEST(Slices, ASkippedLineIsZeros) {
  using C = std::complex<double>;
  const std::vector<C> z = {
      {1.5, std::numeric_limits<double>::quiet_NaN()}, {-std::numeric_limits<double>::infinity(), 0.25}, {3.0, -7.0}};
  constexpr int kSlices = 5;
  constexpr std::int64_t kStride = 64;
  const std::int32_t e = num::kSkipLine;
  for (const DigitRule& rule : int8_rules()) {
    for (const SliceTerms terms : {SliceTerms::kPlain, SliceTerms::kReal, SliceTerms::kImaginary, SliceTerms::kSum,
                                   SliceTerms::kRealForm, SliceTerms::kImagForm}) {
      std::vector<std::int8_t> slices(static_cast<std::size_t>(kSlices * kStride), 77);
      make_slices(one_line(z), terms, &e, 0, 3, rule, kSlices, false, 1, slices.data(), kSlices * kStride, kStride);
      EXPECT_EQ(slices, std::vector<std::int8_t>(slices.size(), 0)) << static_cast<int>(terms);
    }
  }
}

TEST(Slices, CountUntilNothingIsLeft) {
  for (const DigitRule& rule : int8_rules()) {
    for (const double x : {1.0, 1.5, 0.75, 3.0, 1.0 + 0x1p-52, 0x1.fffffffffffffp0, 5e-324, 0x1p1023}) {
      const std::vector<double> line = {x, -x / 4, 0.0};
      num::LineStats stats;
      certify::gather_statistics(one_line(line), nullptr, 1, &stats);
      const std::int32_t e = stats.exponent;
      const int count = num::num_exact_digits(rule, stats, e);
      std::vector<std::int8_t> slices(static_cast<std::size_t>(64 * count));
      make_slices(one_line(line), SliceTerms::kPlain, &e, 0, 3, rule, count, false, 1, slices.data(), 64 * count, 64);
      for (std::size_t t = 0; t < 3; ++t)
        EXPECT_EQ(rest_of(line[t], rule, e, slices.data() + t, 64, count).sign(), 0) << x << ", " << count;
    }
  }
}

}  // namespace
}  // namespace kizami::ozaki1
