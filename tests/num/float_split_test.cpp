// SPDX-License-Identifier: MIT
// The split of scheme ec as exact identities: over every FP16 number, over every mantissa of one binade, and over
// sampled FP32 patterns; and the expected number of retained bits of [OY2021, table 1].
#include "num/float_split.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

#include "num/tensor_core.hpp"
#include "tests/sanitized.hpp"

namespace kizami::num {
namespace {

constexpr RoundingMode kNearestModes[] = {RoundingMode::kNearestEven, RoundingMode::kNearestAway};
constexpr RoundingMode kModes[] = {RoundingMode::kNearestEven, RoundingMode::kNearestAway, RoundingMode::kTowardZero};

template <class F>
double joined(const std::array<F, kMaxParts>& parts, const FloatSplit& split) {
  double sum = 0;
  for (int q = split.num_parts - 1; q >= 0; --q)
    sum = std::ldexp(sum, -split.remainder_shift) + parts[static_cast<std::size_t>(q)].to_double();
  return sum;
}

/// |x - joined| against split_remainder(), and every part against part_magnitude(). No part may be subnormal.
template <class F>
void expect_within_bounds(float x, const FloatSplit& split) {
  const auto parts = split_number<F>(static_cast<double>(x), split);
  const double magnitude = std::abs(static_cast<double>(x));
  const double error = std::abs(static_cast<double>(x) - joined(parts, split));
  ASSERT_LE(error, split_remainder(F::kSignificandBits, split.num_parts, split.rounding) * magnitude)
      << std::hexfloat << x;
  for (int q = 0; q < split.num_parts; ++q) {
    const double part = std::abs(parts[static_cast<std::size_t>(q)].to_double());
    ASSERT_LE(std::ldexp(part, -q * split.remainder_shift),
              part_magnitude(F::kSignificandBits, q, split.rounding) * magnitude)
        << std::hexfloat << x << " part " << q;
  }
}

TEST(FloatSplit, EveryFp16NumberIsItsOwnFirstPart) {
  for (const int shift : {0, 11}) {
    for (const RoundingMode rounding : kNearestModes) {
      for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const Fp16 x = Fp16::from_bits(static_cast<std::uint16_t>(bits));
        if (!x.is_finite()) continue;
        const auto parts = split_number<Fp16>(x.to_double(), {rounding, 2, shift});
        ASSERT_EQ(parts[0].bits(), x.bits());
        ASSERT_TRUE(parts[1].is_zero());
      }
    }
  }
}

// Sums of two FP16 numbers that do not overlap are split without loss, whatever the first one is: remainders at every
// distance, subnormal ones too.
TEST(FloatSplit, PairsOfEveryFp16NumberComeBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; bits += 3 * tests::stride(7)) {
    const Fp16 hi = Fp16::from_bits(static_cast<std::uint16_t>(bits));
    if (!hi.is_finite() || hi.is_zero()) continue;
    const int ulp = std::max(floor_log2(hi.to_double()), -14) - 10;
    for (int distance = 2; distance < 13; ++distance) {
      const double lo = std::ldexp(1.0, ulp - distance);
      if (ulp - distance < -24) continue;
      for (const double x : {hi.to_double() + lo, hi.to_double() - lo}) {
        const FloatSplit split{RoundingMode::kNearestEven, 2, 0};
        ASSERT_EQ(joined(split_number<Fp16>(x, split), split), x) << std::hexfloat << x;
      }
    }
  }
}

// [OY2021, table 1]: of 23 stored bits, two FP16 numbers keep all or all but the last; expected 22.75, RN and RNA
// alike.
TEST(FloatSplit, RetainedBitsOfEveryMantissa) {
  for (const RoundingMode rounding : kNearestModes) {
    for (const int shift : {0, 11}) {
      const FloatSplit split{rounding, 2, shift};
      std::int64_t whole = 0;
      for (std::uint32_t mantissa = 0; mantissa < (1U << 23); mantissa += tests::stride(61)) {
        // 2^0..2^1: FP16 holds the unshifted remainder down to 2^-24, so 2^-23 is never lost to its range.
        const float x = bit_cast<float>((127U << 23) | mantissa);
        const double error = std::abs(static_cast<double>(x) - joined(split_number<Fp16>(x, split), split));
        ASSERT_TRUE(error == 0.0 || error == 0x1p-23) << std::hexfloat << x;
        whole += error == 0.0 ? 1 : 0;
      }
      if (tests::kIsSanitized) continue;  // not all of them were counted
      const double expected_bits = 22.0 + static_cast<double>(whole) / static_cast<double>(1U << 23);
      EXPECT_EQ(expected_bits, 22.75) << "rounding " << static_cast<int>(rounding) << " shift " << shift;
    }
  }
}

TEST(FloatSplit, SampledFp32PatternsKeepTheBounds) {
  std::mt19937 random(1);
  for (int sample = 0; sample < tests::cases(400000); ++sample) {
    const std::uint32_t bits = random();
    const float any = bit_cast<float>(bits);
    if (std::isfinite(any) && std::abs(any) >= 0x1p-100F && std::abs(any) < 0x1p127F) {
      for (const RoundingMode rounding : kModes) {
        expect_within_bounds<Tf32>(any, {rounding, 1, 0});
        expect_within_bounds<Tf32>(any, {rounding, 2, 0});
        expect_within_bounds<Tf32>(any, {rounding, 2, 11});
        expect_within_bounds<Bf16>(any, {rounding, 1, 0});
        expect_within_bounds<Bf16>(any, {rounding, 2, 0});
        expect_within_bounds<Bf16>(any, {rounding, 3, 0});
      }
    }
    // Into the range of FP16: exponents -2..14 without a shift (lo down to 2^-24), -13..14 with one.
    const int exponent = static_cast<int>(bits % 17) - 2;
    const float x = bit_cast<float>((static_cast<std::uint32_t>(exponent + 127) << 23) | (bits & 0x807fffffU));
    expect_within_bounds<Fp16>(x, {RoundingMode::kNearestEven, 2, 0});
    expect_within_bounds<Fp16>(std::ldexp(x, -11), {RoundingMode::kNearestEven, 2, 11});
    expect_within_bounds<Fp16>(x, {RoundingMode::kNearestAway, 1, 0});
    expect_within_bounds<Fp16>(std::ldexp(x, -11), {RoundingMode::kTowardZero, 2, 11});
    expect_within_bounds<Fp16>(x, {RoundingMode::kTowardZero, 1, 0});
  }
}

// Below its range a form has an absolute error: half of FP16's smallest number, 2^-s of that with a remainder shift.
TEST(FloatSplit, SubnormalPartsRoundToTheirUnit) {
  std::mt19937 random(2);
  for (int sample = 0; sample < tests::cases(200000); ++sample) {
    const std::uint32_t bits = random();
    const int exponent = -45 + static_cast<int>(bits % 43);
    const float x = bit_cast<float>((static_cast<std::uint32_t>(exponent + 127) << 23) | (bits & 0x807fffffU));
    for (const int shift : {0, 11}) {
      const FloatSplit split{RoundingMode::kNearestEven, 2, shift};
      const double error = std::abs(static_cast<double>(x) - joined(split_number<Fp16>(x, split), split));
      const double unit = std::ldexp(1.0, Fp16::kMinUlpExponent - shift);
      ASSERT_LE(error, std::max(0.5 * unit, 0x1p-23 * std::abs(static_cast<double>(x)))) << std::hexfloat << x;
    }
  }
}

TEST(FloatSplit, ThreeBf16PartsAreExact) {
  const FloatSplit split{RoundingMode::kNearestEven, 3, 0};
  for (std::uint32_t mantissa = 0; mantissa < (1U << 23); mantissa += 5 * tests::stride(61)) {
    const float x = bit_cast<float>((127U << 23) | mantissa);
    ASSERT_EQ(joined(split_number<Bf16>(x, split), split), static_cast<double>(x)) << std::hexfloat << x;
  }
  EXPECT_EQ(split_remainder(8, 3), 0.0);
}

// The bounds are attained, so they cannot be lowered: by the mantissa in which each rounding is a tie.
TEST(FloatSplit, BoundsAreSharp) {
  if (tests::kIsSanitized)
    GTEST_SKIP() << "all mantissas, too slow under a sanitizer; the same code runs in RetainedBitsOfEveryMantissa";
  const auto worst = [](const FloatSplit& split, auto format) {
    double most = 0;
    for (std::uint32_t mantissa = 0; mantissa < (1U << 23); ++mantissa) {
      const float x = bit_cast<float>((127U << 23) | mantissa);
      const auto parts = split_number<decltype(format)>(x, split);
      most = std::max(most, std::abs(static_cast<double>(x) - joined(parts, split)));
    }
    return most;
  };
  EXPECT_EQ(worst({RoundingMode::kNearestEven, 2, 0}, Fp16{}), split_remainder(11, 2));
  EXPECT_GE(worst({RoundingMode::kNearestEven, 2, 0}, Bf16{}), 0.99 * split_remainder(8, 2));
  // Cut, the last two of 24 bits are lost at most; of BF16 nearly a unit of the second part.
  constexpr RoundingMode kCut = RoundingMode::kTowardZero;
  EXPECT_EQ(worst({kCut, 2, 0}, Fp16{}), 0.75 * split_remainder(11, 2, kCut));
  EXPECT_GE(worst({kCut, 2, 0}, Bf16{}), 0.99 * split_remainder(8, 2, kCut));
}

}  // namespace
}  // namespace kizami::num
