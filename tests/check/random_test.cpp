// SPDX-License-Identifier: MIT
// The random bits are Philox's, and the elementary functions have golden bits and the accuracy they state.
#include "check/random.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "mpfr_number.hpp"

namespace kizami::check {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Known answers distributed with Random123 (kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, AnswersTheKnownVectors) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}));
  constexpr std::uint32_t kOnes = 0xffffffffU;
  EXPECT_EQ(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU}));
  EXPECT_EQ(philox4x32({0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}, {0xa4093822U, 0x299f31d0U}),
            (Words{0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U}));
}

TEST(AddressedRandom, DependsOnEveryPartOfTheAddress) {
  const auto first = [](std::uint64_t seed, std::uint32_t stream, std::int64_t i, std::int64_t j) {
    return AddressedRandom(seed, stream, i, j).bits();
  };
  const std::uint64_t base = first(7, 1, 2, 3);
  EXPECT_EQ(base, first(7, 1, 2, 3));
  EXPECT_NE(base, first(8, 1, 2, 3));
  EXPECT_NE(base, first(7 + (std::uint64_t{1} << 32), 1, 2, 3));
  EXPECT_NE(base, first(7, 2, 2, 3));
  EXPECT_NE(base, first(7, 1, 3, 3));
  EXPECT_NE(base, first(7, 1, 2, 4));
  EXPECT_NE(base, first(7, 1, 3, 2));
}

TEST(AddressedRandom, BelowIsTheHighHalfOfTheProduct) {
  for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{1} << 52, ~std::uint64_t{0}}) {
    for (std::int64_t i = 0; i < 100; ++i) {
      const std::uint64_t bits = AddressedRandom(1, 0, i, 0).bits();
      __extension__ using Wide = unsigned __int128;
      EXPECT_EQ(AddressedRandom(1, 0, i, 0).below(n), static_cast<std::uint64_t>(Wide{bits} * n >> 64));
    }
  }
}

TEST(AddressedRandom, UniformIsAMultipleOfItsQuantum) {
  AddressedRandom random(1, 0, 0, 0);
  for (int t = 0; t < 1000; ++t) {
    const double x = random.uniform(24);
    EXPECT_GE(x, 0.0);
    EXPECT_LT(x, 1.0);
    EXPECT_EQ(std::ldexp(x, 24), std::floor(std::ldexp(x, 24)));
  }
}

/// |got / want - 1| in units of 2^-53, rounded up.
double units_of_error(double got, const Mpfr& want) {
  Mpfr error;
  mpfr_div(error.raw(), Mpfr(got).raw(), want.raw(), MPFR_RNDA);
  mpfr_sub_ui(error.raw(), error.raw(), 1, MPFR_RNDA);
  mpfr_abs(error.raw(), error.raw(), MPFR_RNDA);
  mpfr_mul_2ui(error.raw(), error.raw(), 53, MPFR_RNDA);
  return error.to_double(MPFR_RNDU);
}

TEST(PortableLog, KeepsItsErrorBound) {
  AddressedRandom random(3, 0, 0, 0);
  for (int t = 0; t < 200; ++t) {
    const double m = 0.5 + random.uniform(53);
    const double x = t % 2 == 0 ? m : std::ldexp(m, static_cast<int>(random.below(2000)) - 1000);
    if (x == 1) continue;
    Mpfr want;
    mpfr_set_prec(want.raw(), 200);
    mpfr_log(want.raw(), Mpfr(x).raw(), MPFR_RNDN);
    EXPECT_LT(units_of_error(portable_log(x), want), 8) << x;  // 2^-50
  }
}

TEST(PortableExp, KeepsItsErrorBound) {
  AddressedRandom random(4, 0, 0, 0);
  for (int t = 0; t < 200; ++t) {
    const double x = (random.uniform(53) - 0.5) * (t % 2 == 0 ? 2 : 1400);
    Mpfr want;
    mpfr_set_prec(want.raw(), 200);
    mpfr_exp(want.raw(), Mpfr(x).raw(), MPFR_RNDN);
    EXPECT_LT(units_of_error(portable_exp(x), want), 8) << x;  // 2^-50
  }
}

// If one of these changes, so do all matrices: the compiler contracted, reassociated or used another precision.
TEST(PortableFunctions, HaveGoldenBits) {
  std::uint64_t digest = 0;
  AddressedRandom random(5, 0, 0, 0);
  for (int t = 0; t < 10000; ++t) {
    const double x = 2 * random.uniform(53) + 0x1p-60;
    for (const double y : {portable_log(x), portable_exp(600 * (x - 1)), random.normal()}) {
      digest = (digest ^ std::bit_cast<std::uint64_t>(y)) * 0x100000001b3U;
      digest ^= digest >> 32;
    }
  }
  EXPECT_EQ(digest, 0xdb995fadad56ad9cU);
}

TEST(Normal, HasTheMomentsOfItsDistribution) {
  constexpr int kSamples = 100000;
  double sum = 0, squares = 0;
  int num_within_one = 0;
  for (int t = 0; t < kSamples; ++t) {
    const double x = AddressedRandom(6, 0, t, 0).normal();
    sum += x;
    squares += x * x;
    num_within_one += std::abs(x) < 1 ? 1 : 0;
  }
  // Five standard deviations of each estimate.
  const double root = std::sqrt(double{kSamples});
  EXPECT_LT(std::abs(sum / kSamples), 5 / root);
  EXPECT_LT(std::abs(squares / kSamples - 1), 5 * std::sqrt(2.0) / root);
  EXPECT_LT(std::abs(num_within_one / double{kSamples} - std::erf(std::sqrt(0.5))),
            5 * std::sqrt(0.6827 * 0.3173) / root);
}

}  // namespace
}  // namespace kizami::check
