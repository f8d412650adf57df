// SPDX-License-Identifier: MIT
// Which numbers of moduli a call may use: the smallest that serve, every further one, and nothing that cannot.
#include "schemes/ozaki2/ladder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "num/bounds.hpp"
#include "num/crt_table.hpp"

namespace kizami::ozaki2 {
namespace {

const std::vector<std::int64_t> kLengths = {1,
                                            2,
                                            8,
                                            63,
                                            64,
                                            128,
                                            255,
                                            256,
                                            257,
                                            1000,
                                            4096,
                                            16384,
                                            131072,
                                            131073,
                                            1 << 20,
                                            std::int64_t{1} << 27,
                                            (std::int64_t{1} << 34) - 1};

double native_budget(Scalar scalar, std::int64_t k) {
  return num::truncation_budget(num::target_bound(Accuracy::native(), scalar, k), scalar);
}
double bits_budget(Scalar scalar, int bits) {
  return num::truncation_budget(num::target_bound(Accuracy::at_bits(bits), scalar, 1), scalar);
}
double norm_limit(int n, std::int64_t k) {
  return num::scaled_norm_limit(num::resize<num::kCrtLimbs>(num::crt_table(num::Ring::kReal, n).half_wide), k);
}

/// The published starting points: 14 moduli for FP64 and 7 for FP32, from k = 256 to far beyond any real product.
TEST(CertifiedLadder, NativeStartsAt14And7) {
  for (std::int64_t k = 256; k <= (std::int64_t{1} << 26); k += 1 + k / 5) {
    ASSERT_EQ(certified_ladder(num::Ring::kReal, k, native_budget(Scalar::kF64, k)).rungs[0].num_moduli, 14) << k;
    ASSERT_EQ(certified_ladder(num::Ring::kReal, k, native_budget(Scalar::kF32, k)).rungs[0].num_moduli, 7) << k;
  }
}

void expect_well_formed(const num::Ladder& ladder, std::int64_t k, double budget) {
  ASSERT_LE(ladder.num_rungs, num::kMaxRungs);
  for (int r = 0; r < ladder.num_rungs; ++r) {
    const num::Rung& rung = ladder.rungs[static_cast<std::size_t>(r)];
    ASSERT_EQ(rung.num_moduli, ladder.rungs[0].num_moduli + r);
    ASSERT_EQ(rung, make_rung(num::Ring::kReal, rung.num_moduli, k, budget));
    ASSERT_TRUE(has_rung(num::Ring::kReal, rung.num_moduli, k));
    ASSERT_EQ(rung.norm_limit, norm_limit(rung.num_moduli, k));
    ASSERT_GE(rung.norm_limit, 1.0);
    // Room for the four roundings of is_certified() in FP32.
    ASSERT_LE(static_cast<double>(rung.allowance), num::pair_allowance(budget, rung.norm_limit, k) * (1 - 0x1p-20));
    if (r == 0) continue;
    const num::Rung& below = ladder.rungs[static_cast<std::size_t>(r - 1)];
    ASSERT_GT(rung.norm_limit, below.norm_limit);
    ASSERT_GT(rung.allowance, below.allowance);
    ASSERT_GT(std::ldexp(static_cast<double>(rung.limit_mantissa), rung.limit_exponent),
              std::ldexp(static_cast<double>(below.limit_mantissa), below.limit_exponent));
  }
  for (int r = ladder.num_rungs; r < num::kMaxRungs; ++r)
    ASSERT_EQ(ladder.rungs[static_cast<std::size_t>(r)], num::Rung{});
}

TEST(CertifiedLadder, SmallestCountForOrdinaryDataThenEveryOne) {
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64}) {
    for (const std::int64_t k : kLengths) {
      for (int bits = 0; bits <= num::significand_bits_guaranteed(scalar); ++bits) {
        const double budget = bits == 0 ? native_budget(scalar, k) : bits_budget(scalar, bits);
        const num::Ladder ladder = certified_ladder(num::Ring::kReal, k, budget);
        ASSERT_GT(ladder.num_rungs, 0) << k << ", " << bits;
        expect_well_formed(ladder, k, budget);
        if (HasFatalFailure()) return;
        ASSERT_TRUE(ladder.may_equilibrate);
        const double ordinary = 2.0 * std::sqrt(static_cast<double>(k)) * kOrdinarySpread;
        ASSERT_GE(static_cast<double>(ladder.rungs[0].allowance), ordinary);
        const int before = ladder.rungs[0].num_moduli - 1;
        if (before >= num::kMinModuli && has_rung(num::Ring::kReal, before, k)) {
          ASSERT_LT(static_cast<double>(make_rung(num::Ring::kReal, before, k, budget).allowance), ordinary);
        }
        const int last = ladder.rungs[static_cast<std::size_t>(ladder.num_rungs - 1)].num_moduli;
        ASSERT_TRUE(last == num::kMaxRealModuli || ladder.num_rungs == kRungsAboveBase + 1);
      }
    }
  }
}

TEST(CertifiedLadder, MoreBitsNeedNoFewerModuli) {
  for (const std::int64_t k : kLengths) {
    int last = 0;
    int last_norm = 0;
    for (int bits = 1; bits <= 52; ++bits) {
      const int entry = certified_ladder(num::Ring::kReal, k, bits_budget(Scalar::kF64, bits)).rungs[0].num_moduli;
      const int norm = norm_ladder(num::Ring::kReal, k, bits_budget(Scalar::kF64, bits)).rungs[0].num_moduli;
      EXPECT_GE(entry, last);
      EXPECT_GE(norm, last_norm);
      EXPECT_LE(norm, entry) << "gauge norm is never dearer";
      last = entry;
      last_norm = norm;
    }
  }
}

TEST(CertifiedLadder, NothingForABudgetThatIsNotPositive) {
  EXPECT_EQ(certified_ladder(num::Ring::kReal, 100, 0.0).num_rungs, 0);
  EXPECT_EQ(certified_ladder(num::Ring::kReal, 100, -1.0).num_rungs, 0);
  EXPECT_FALSE(certified_ladder(num::Ring::kReal, 100, -1.0).may_equilibrate);
  EXPECT_EQ(norm_ladder(num::Ring::kReal, 100, 0.0).num_rungs, 0);
  EXPECT_EQ(certified_ladder(num::Ring::kReal, std::int64_t{1} << 30, 0x1p-200).num_rungs, 0) << "beyond 49 moduli";
  EXPECT_EQ(norm_ladder(num::Ring::kReal, std::int64_t{1} << 30, 0x1p-200).num_rungs, 0);
}

TEST(NormLadder, TheOneSmallestCountWithinTheBudget) {
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64}) {
    for (const std::int64_t k : kLengths) {
      for (int bits = 0; bits <= num::significand_bits_guaranteed(scalar); ++bits) {
        const double budget = bits == 0 ? native_budget(scalar, k) : bits_budget(scalar, bits);
        const num::Ladder ladder = norm_ladder(num::Ring::kReal, k, budget);
        ASSERT_EQ(ladder.num_rungs, 1);
        ASSERT_FALSE(ladder.may_equilibrate);
        const int n = ladder.rungs[0].num_moduli;
        ASSERT_EQ(ladder, forced_ladder(num::Ring::kReal, n, k));
        ASSERT_LE(num::truncation_norm_bound(norm_limit(n, k), k), budget);
        ASSERT_TRUE(n == num::kMinModuli || !has_rung(num::Ring::kReal, n - 1, k) ||
                    num::truncation_norm_bound(norm_limit(n - 1, k), k) > budget);
      }
    }
  }
}

TEST(HasRung, FewModuliCannotCarryLongLines) {
  for (int n = num::kMinModuli; n <= num::kMaxRealModuli; ++n) {
    bool last = true;
    for (const std::int64_t k : kLengths) {
      EXPECT_EQ(has_rung(num::Ring::kReal, n, k), norm_limit(n, k) >= 1.0);
      EXPECT_TRUE(last || !has_rung(num::Ring::kReal, n, k)) << "monotone in k";
      last = has_rung(num::Ring::kReal, n, k);
    }
    EXPECT_TRUE(has_rung(num::Ring::kReal, n, 1));
  }
  EXPECT_FALSE(has_rung(num::Ring::kReal, 2, 1 << 20));
}

TEST(ForcedLadder, OneRungWithoutAllowance) {
  for (int n = num::kMinModuli; n <= num::kMaxRealModuli; ++n) {
    const num::Ladder ladder = forced_ladder(num::Ring::kReal, n, 64);
    EXPECT_EQ(ladder.num_rungs, 1);
    EXPECT_EQ(ladder.rungs[0].num_moduli, n);
    EXPECT_EQ(ladder.rungs[0].allowance, 0.0F);
    EXPECT_FALSE(ladder.may_equilibrate);
  }
}

}  // namespace
}  // namespace kizami::ozaki2
