// SPDX-License-Identifier: MIT
// Symmetric residues against their definition: exhaustively near zero, at all range ends, and at random.
#include "num/modular.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "num/moduli.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::num {
namespace {

using tests::Integer;
using tests::Rng;

std::set<int> all_moduli() {
  std::set<int> moduli(kRealModuli.begin(), kRealModuli.end());
  moduli.insert(kComplexModuli.begin(), kComplexModuli.end());
  return moduli;
}

/// The definition, walked instead of divided: the residue of x + 1 follows that of x.
int next_residue(int r, int p) { return r == (p + 1) / 2 - 1 ? -(p / 2) : r + 1; }

TEST(SymmetricResidue, ExhaustiveNearZero) {
  constexpr std::int64_t kRange = 1 << 16;
  for (int p = 2; p <= 256; ++p) {
    int r = tests::residue_by_definition(Integer(-kRange), p);
    for (std::int64_t x = -kRange; x <= kRange; ++x, r = next_residue(r, p)) {
      if (symmetric_residue(x, p) != r)
        FAIL() << "x = " << x << ", p = " << p << ": " << symmetric_residue(x, p) << ", want " << r;
    }
  }
}

TEST(SymmetricResidue, RangeEnds) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  for (int p = 2; p <= 256; ++p) {
    EXPECT_EQ(residue_max(p) - residue_min(p) + 1, p);
    for (std::int64_t d = 0; d <= 2 * p; ++d) {
      ASSERT_EQ(symmetric_residue(kMin + d, p), tests::residue_by_definition(tests::integer(kMin + d), p)) << p;
      ASSERT_EQ(symmetric_residue(kMax - d, p), tests::residue_by_definition(tests::integer(kMax - d), p)) << p;
    }
  }
}

TEST(ReduceI32, RangeEndsAndAllHalvesNearThem) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  int checked = 0;
  for (const int p : all_moduli()) {
    if (p < 65) continue;
    ++checked;
    const std::int32_t multiplier = reduce_i32_multiplier(p);
    const auto check = [&](std::int64_t x) {
      if (x < kMin || x > kMax) return;
      ASSERT_EQ(reduce_i32(static_cast<std::int32_t>(x), p, multiplier), symmetric_residue(x, p))
          << "x = " << x << ", p = " << p;
    };
    for (std::int64_t d = 0; d <= 4 * p; ++d) check(kMin + d), check(kMax - d), check(d), check(-d);
    // Around the multiples and the halves between them: where the quotient and the sign of the residue turn.
    const std::int64_t quotients = kMax / p;
    for (std::int64_t near = 0; near < tests::cases(4000); ++near) {
      for (const std::int64_t q :
           {quotients - near, -quotients + near, near, -near, quotients / 2 + near, -quotients / 2 - near}) {
        for (const std::int64_t x : {q * p, q * p + p / 2, q * p - p / 2}) check(x - 1), check(x), check(x + 1);
      }
    }
  }
  EXPECT_EQ(checked, 44);  // 41 real ones, and 249, 221 and 205
}

TEST(ReduceI32, Random) {
  Rng rng(4);
  for (const int p : all_moduli()) {
    if (p < 65) continue;
    const std::int32_t multiplier = reduce_i32_multiplier(p);
    for (int i = 0; i < tests::cases(200000); ++i) {
      const auto x = static_cast<std::int32_t>(rng());
      if (reduce_i32(x, p, multiplier) != symmetric_residue(x, p)) FAIL() << "x = " << x << ", p = " << p;
    }
  }
}

/// Every p the header allows, not only the moduli of today.
TEST(ReduceI32, EveryModulusInRange) {
  Rng rng(5);
  for (int p = 65; p <= 256; ++p) {
    if (p == 128) continue;
    const std::int32_t multiplier = reduce_i32_multiplier(p);
    const std::int32_t last = std::numeric_limits<std::int32_t>::max() / p;
    for (int i = 0; i < tests::cases(20000); ++i) {
      const std::int64_t half = std::int64_t{p} * (last - static_cast<std::int64_t>(rng() % 10000)) - p / 2;
      for (const std::int64_t x : {half - 1, half, half + 1, -half - 1, -half, -half + 1}) {
        const auto x32 = static_cast<std::int32_t>(x);
        if (reduce_i32(x32, p, multiplier) != symmetric_residue(x32, p)) FAIL() << "x = " << x << ", p = " << p;
      }
    }
  }
}

TEST(ModularInverse, EveryUnitOfEveryModulus) {
  for (const int p : all_moduli()) {
    for (int a = -p; a <= 2 * p; ++a) {
      if (std::gcd(a, p) != 1) continue;
      const int inverse = modular_inverse(a, p);
      ASSERT_TRUE(inverse >= 1 && inverse < p);
      ASSERT_EQ(symmetric_residue(std::int64_t{a} * inverse, p), 1) << a << ", " << p;
    }
  }
}

TEST(PowerOfTwoResidue, AgainstIntegers) {
  for (const int p : all_moduli()) {
    for (int e = 0; e <= 300; ++e) {
      ASSERT_EQ(power_of_two_residue(e, p),
                tests::residue_by_definition(tests::power_of_two(static_cast<unsigned>(e)), p))
          << e << ", " << p;
    }
  }
}

TEST(Moduli, DescendingAndInRange) {
  for (std::size_t i = 1; i < kRealModuli.size(); ++i) EXPECT_LT(kRealModuli[i], kRealModuli[i - 1]);
  for (std::size_t i = 1; i < kComplexModuli.size(); ++i) {
    if (i == kTwoProductModuli) continue;
    EXPECT_LT(kComplexModuli[i], kComplexModuli[i - 1]);
  }
  // The residue planes reduce in FP64 with a bound for p >= 19.
  EXPECT_GE(kRealModuli.back(), 19);
}

TEST(Moduli, SquareRootsOfMinusOne) {
  for (std::size_t l = 0; l < kTwoProductModuli; ++l) {
    const int p = kComplexModuli[l];
    const int s = sqrt_minus_one(p);
    ASSERT_TRUE(s > 0 && s < p) << p;
    EXPECT_EQ(symmetric_residue(std::int64_t{s} * s + 1, p), 0) << p;
    for (int smaller = 1; smaller < s; ++smaller) EXPECT_NE((smaller * smaller + 1) % p, 0) << p;
  }
  EXPECT_EQ(sqrt_minus_one(7), 0);
  EXPECT_EQ(sqrt_minus_one(256), 0);
}

}  // namespace
}  // namespace kizami::num
