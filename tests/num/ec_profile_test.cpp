// SPDX-License-Identifier: MIT
// Profiles of lines: bins against every FP16 number, profiles against sorted lines, and what they promise on the worst
// pairs that they let through: the largest of one line meet the smallest of the other, and every rounding errs to the
// same side.
#include "num/ec_profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <variant>
#include <vector>

#include "base/int_math.hpp"
#include "engines/tc_model/tc_model.hpp"
#include "kizami/formats.hpp"
#include "num/bounds.hpp"
#include "num/ec_range.hpp"
#include "num/float_split.hpp"
#include "product/ec_planes.hpp"
#include "tests/sanitized.hpp"

namespace kizami::num {
namespace {

using Line = std::vector<float>;
using product::EcFormat;
using product::EcPromotion;

std::uint32_t hi_bits(float y) { return Fp16::from(y).bits(); }

EcProfile profile_of(const Line& y) {
  std::array<std::uint32_t, kEcBins> counts{};
  for (const float element : y) ++counts[static_cast<std::size_t>(ec_bin(hi_bits(element)))];
  return ec_profile(counts, static_cast<std::uint32_t>(y.size()));
}

/// The least budget with which two profiles hold.
double least_budget(const EcProfile& a, const EcProfile& b, std::int64_t k) {
  double sum = 0;
  for (int i = 0; i < kEcLevels; ++i) sum += 1.0 / (double{a.ratio[i]} * double{b.ratio[kEcLevels - 1 - i]});
  return (double{a.inverse_mean} + double{b.inverse_mean}) / sum / double{ec_profile_limit(1.0, k)} * (1.0 + 0x1p-18);
}

TEST(EcProfile, BinsHoldEveryNumberOfFp16) {
  for (std::uint32_t bits = 0; bits <= hi_bits(0x1p15F); ++bits) {
    const double scaled = std::ldexp(Fp16::from_bits(static_cast<std::uint16_t>(bits)).to_double(), 16);
    for (const std::uint32_t sign : {0U, 0x8000U}) {
      const int bin = ec_bin(bits | sign);
      ASSERT_LE(ec_bin_edge(bin), scaled);
      ASSERT_GT(ec_bin_edge(bin + 1), scaled);
    }
  }
}

// Levels and mean from the definition: sorted elements, a level of the line at each of its places.
TEST(EcProfile, IsThatOfTheSortedLine) {
  std::mt19937_64 rng(1);
  for (const std::size_t k : {std::size_t{1}, std::size_t{31}, std::size_t{32}, std::size_t{100}, std::size_t{4097}}) {
    for (const unsigned spread : {1U, 12U, 50U}) {
      Line y(k);
      for (float& x : y)
        x = std::ldexp(1.0F + static_cast<float>(rng() % 4096) / 4096, 14 - static_cast<int>(rng() % spread));
      y[k / 2] = 0x1p14F;
      if (k > 3) y[1] = 0;
      const EcProfile profile = profile_of(y);
      Line sorted = y;
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      double sum = 0;
      for (const float x : sorted) sum += ec_bin_edge(ec_bin(hi_bits(x)) + 1);
      const auto length = static_cast<double>(k);
      EXPECT_EQ(profile.inverse_mean, static_cast<float>(k) / static_cast<float>(sum));
      for (std::size_t i = 1; i <= kEcLevels; ++i) {
        const std::size_t place = (i * k + kEcLevels - 1) / kEcLevels;
        const std::uint32_t level = ec_bin_edge(ec_bin(hi_bits(sorted[place - 1])));
        const auto wanted = static_cast<float>(sum) / static_cast<float>(length) / static_cast<float>(level);
        EXPECT_EQ(profile.ratio[i - 1], wanted) << k << " " << spread << " " << i;
      }
    }
  }
}

TEST(EcProfile, OfZerosIsNone) {
  const EcProfile none = profile_of(Line(100, 0.0F));
  EXPECT_EQ(none.inverse_mean, 0);
  EXPECT_EQ(*std::max_element(std::begin(none.ratio), std::end(none.ratio)), 0);
  const EcProfile some = profile_of(Line(100, 0x1p14F));
  EXPECT_TRUE(ec_profiles_hold(none, some, ec_profile_limit(0x1p-15, 100)));
  Line half(100, 0.0F);
  std::fill_n(half.begin(), 40, 0x1p14F);
  EXPECT_FALSE(ec_profiles_hold(profile_of(half), profile_of(half), ec_profile_limit(1.0, 100))) << "they may not meet";
  EXPECT_FALSE(ec_profiles_hold(profile_of(half), none, ec_profile_limit(1.0, 100)));
  std::fill_n(half.begin(), 60, 0x1p14F);
  EXPECT_TRUE(ec_profiles_hold(profile_of(half), profile_of(half), ec_profile_limit(0x1p-15, 100)));
}

TEST(EcProfile, ALimitIsOfLengthsThatTheProofCovers) {
  EXPECT_EQ(ec_profile_limit(1.0, kEcLevels - 1), 0);
  EXPECT_EQ(ec_profile_limit(1.0, kEcProfileMostK + 1), 0);
  EXPECT_GT(ec_profile_limit(1.0, kEcLevels), 0);
  for (const EcPromotion promotion : product::kEcPromotions)
    EXPECT_LE(product::ec_relative_bound(EcFormat::kF16, promotion, kEcProfileMostK), 0x1p-8);
}

// ---- the worst pairs ----

/// A line whose largest element is in [2^14, 2^15), in descending order; small elements miss 2^-25, as much as they
/// can.
Line worst_line(std::size_t k, double spread, double depth, std::mt19937_64& rng) {
  std::normal_distribution<double> normal;
  std::vector<double> exponents(k);
  for (double& e : exponents) e = spread * normal(rng);
  std::sort(exponents.begin(), exponents.end(), std::greater<>());
  const double top = exponents[0];
  Line y(k);
  for (std::size_t h = 0; h < k; ++h) {
    double x = std::exp2(14.5 + exponents[h] - top - (h == 0 ? 0.0 : depth));
    if (x < 0x1p-3) x = (std::floor(x * 0x1p24) + 0.5) * 0x1p-24;
    y[h] = static_cast<float>(x);
  }
  return y;
}

struct Parts {
  Fp16 hi;
  Fp16 lo;
  [[nodiscard]] double value() const { return hi.to_double() + lo.to_double(); }
};
Parts parts_of(float y) {
  const auto parts = split_number<Fp16>(y, {});
  return {parts[0], parts[1]};
}

struct ProfilePair {
  Line a;
  Line b;
  double budget;
};
/// Both lines so that all errors of a b add up.
ProfilePair worst_pair(std::size_t k, double spread, double depth, std::mt19937_64& rng) {
  ProfilePair pair{worst_line(k, spread, depth, rng), worst_line(k, spread, depth, rng), 0};
  std::reverse(pair.b.begin(), pair.b.end());
  for (std::size_t h = 0; h < k; ++h) {
    const double exact = double{pair.a[h]} * double{pair.b[h]};
    if (exact < parts_of(pair.a[h]).value() * parts_of(pair.b[h]).value()) pair.a[h] = -pair.a[h];
  }
  pair.budget = least_budget(profile_of(pair.a), profile_of(pair.b), static_cast<std::int64_t>(k));
  return pair;
}

template <class Use>
void for_worst_pairs(const Use& use) {
  std::mt19937_64 rng(2);
  for (const std::size_t k : {std::size_t{64}, std::size_t{1000}, std::size_t{4096}}) {
    for (const double spread : {0.1, 1.0, 2.0, 3.0, 4.0}) {
      for (const double depth : {0.0, 4.0, 9.0, 13.0, 16.0}) {
        const ProfilePair pair = worst_pair(k, spread, depth, rng);
        if (pair.budget < 0x1p-6) use(pair);
      }
    }
  }
}

TEST(EcProfile, WhatTheSplitMissesIsWithinTheBudget) {
  double worst = 0;
  int num_cases = 0;
  for_worst_pairs([&](const ProfilePair& pair) {
    double error = 0;
    double gauge = 0;
    double counted = 0;  // by ec_bound()
    const double d = split_remainder(11, 2);
    for (std::size_t h = 0; h < pair.a.size(); ++h) {
      const double exact = double{pair.a[h]} * double{pair.b[h]};
      error += exact - parts_of(pair.a[h]).value() * parts_of(pair.b[h]).value();
      gauge += std::fabs(exact);
    }
    counted = d * (2 + d) * gauge;
    EXPECT_LE(error, (pair.budget * gauge + counted) * kSlackUp);
    worst = std::max(worst, error / (pair.budget * gauge));
    ++num_cases;
  });
  EXPECT_GE(num_cases, 20);
  EXPECT_GE(worst, 0.25) << "the limit is far from what is needed";
}

TEST(EcProfile, WhatTheTensorCoreMissesIsWithinBoundAndBudget) {
  for_worst_pairs([&](const ProfilePair& pair) {
    const auto k = static_cast<std::int64_t>(pair.a.size());
    for (const EcPromotion promotion : product::kEcPromotions) {
      product::FloatProductDesc desc = product::ec_arithmetic(EcFormat::kF16, promotion);
      desc.m = desc.n = 1;
      desc.k = k;
      const std::int64_t stride = base::round_up(k, product::kPadBytes / 2);
      desc.a_row_stride = desc.a_plane_stride = desc.b_row_stride = desc.b_plane_stride = stride;
      desc.c_col_stride = 1;
      const auto planes_of = [&](const Line& y) {
        std::vector<std::int8_t> planes(static_cast<std::size_t>(2 * 2 * stride));
        for (std::int64_t h = 0; h < k; ++h) {
          const Parts parts = parts_of(y[static_cast<std::size_t>(h)]);
          const std::uint16_t bits[2] = {parts.hi.bits(), parts.lo.bits()};
          for (std::int64_t p = 0; p < 2; ++p) std::memcpy(planes.data() + 2 * (p * stride + h), &bits[p], 2);
        }
        return planes;
      };
      const std::vector<std::int8_t> a = planes_of(pair.a);
      const std::vector<std::int8_t> b = planes_of(pair.b);
      float c = 0;
      product::DeviceFacts facts;
      facts.num_threads = 1;
      const auto answer = engines::tc_model_engine().query(desc, facts);
      ASSERT_TRUE(std::holds_alternative<product::Offer>(answer));
      const Status status =
          engines::tc_model_engine().run(desc, std::get<product::Offer>(answer), {a.data(), b.data(), &c}, nullptr);
      ASSERT_TRUE(status.ok()) << status.reason();
      double exact = 0;
      double gauge = 0;
      for (std::size_t h = 0; h < pair.a.size(); ++h) {
        exact += double{pair.a[h]} * double{pair.b[h]};
        gauge += std::fabs(double{pair.a[h]} * double{pair.b[h]});
      }
      const double bound = product::ec_relative_bound(EcFormat::kF16, promotion, k) + pair.budget;
      EXPECT_LE(std::fabs(double{c} - exact), bound * gauge * kSlackUp) << k << " budget " << pair.budget;
    }
  });
}

// ---- what passes ----

/// Lines of (uniform - 0.5) exp(phi normal).
struct Operand {
  EcProfile profile;
  std::uint32_t flags = 0;

  Operand(int num_lines, std::size_t k, double phi, double share_of_zeros, const EcRangeLimits& limits,
          std::uint64_t seed) {
    std::mt19937_64 rng(seed);
    std::uniform_real_distribution<double> uniform;
    std::normal_distribution<double> normal;
    for (int i = 0; i < num_lines; ++i) {
      Line y(k);
      float largest = 0;
      for (float& x : y) {
        x = uniform(rng) < share_of_zeros
                ? 0.0F
                : static_cast<float>(std::fabs(uniform(rng) - 0.5) * std::exp(phi * normal(rng)));
        largest = std::max(largest, x);
      }
      EcLineSight sight;
      sight.smallest = 0x1p120F;
      for (float& x : y) {
        x = std::ldexp(x, 14 - std::ilogb(largest));
        if (x > 0) sight.smallest = std::min(sight.smallest, x);
        if (Fp16::from(x).to_float() >= limits.dense) ++sight.num_dense;
      }
      ec_merge(profile_of(y), profile);
      flags |= ec_line_flags(limits, sight, static_cast<std::int64_t>(k));
    }
  }
};

TEST(EcProfile, LetsPassWhatFlagsRefuse) {
  constexpr std::size_t kLength = 4096;
  const double budget = target_bound(Accuracy::native(), Scalar::kF32, kLength) -
                        product::ec_relative_bound(EcFormat::kF16, EcPromotion::kLong, kLength) - 0x1p-26;
  const EcRangeLimits limits = ec_range_limits(14, budget);
  const float limit = ec_profile_limit(budget, kLength);
  const auto outcome = [&](double phi, double share_of_zeros) {
    const Operand a(200, kLength, phi, share_of_zeros, limits, 3);
    const Operand b(200, kLength, phi, share_of_zeros, limits, 4);
    return std::pair(ec_f16_holds(a.flags, b.flags), ec_profiles_hold(a.profile, b.profile, limit));
  };
  EXPECT_EQ(outcome(0.5, 0), std::pair(true, true));
  EXPECT_EQ(outcome(2, 0), std::pair(false, true));
  if (tests::kIsSanitized) return;
  EXPECT_EQ(outcome(1.5, 0), std::pair(false, true));
  EXPECT_EQ(outcome(4, 0), std::pair(false, false));
  EXPECT_EQ(outcome(0.5, 0.95), std::pair(true, false)) << "few elements, none of them small";
  EXPECT_EQ(outcome(2, 0.95), std::pair(false, false));
}

}  // namespace
}  // namespace kizami::num
