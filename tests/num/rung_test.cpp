// SPDX-License-Identifier: MIT
// Scaling, wrap-around, certification and the choice of a rung, against exact integers and rationals. The claims are
// inequalities that hold for any data, so adversaries look for the worst: constant lines, one huge element among tiny
// ones, elements that all round by half a quantum in one direction, sums just below the threshold of the next scale.
#include "num/rung.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "num/bounds.hpp"
#include "num/crt_table.hpp"
#include "schemes/ozaki2/ladder.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::num {
namespace {

using tests::exact;
using tests::Integer;
using tests::integer;
using tests::Rational;
using tests::Rng;
using tests::scaled;

using Line = std::vector<double>;

Integer half_of(int num_moduli) { return integer(crt_table(Ring::kReal, num_moduli).half_wide); }
/// T = U^2 as the rung holds it.
Rational limit_of(const Rung& rung) { return scaled(Rational(integer(rung.limit_mantissa)), rung.limit_exponent); }
/// 4^t sum 2^-28.
Rational scaled_square(std::uint64_t sum, int t) { return scaled(Rational(integer(sum)), 2 * t - 28); }

// ---- lines that try to break a bound --------------------------------------------------------------------------------

/// Moves every element to the nearest (m + 1/2) 2^-scale with m odd (up) or even (down): ties that all round away from
/// zero, or all towards it.
void snap_to_halves(Line& x, int scale, bool away) {
  for (double& v : x) {
    if (v == 0) continue;
    double m = std::floor(std::ldexp(std::fabs(v), scale));
    if (m >= 0x1p51) continue;
    if ((std::fmod(m, 2.0) == 1.0) != away) m += m > 0 ? -1 : 1;
    v = std::copysign(std::ldexp(m + 0.5, -scale), v);
  }
}

/// A line of k elements of one of several kinds; exponents around zero.
Line random_line(Rng& rng, std::int64_t k) {
  Line x(static_cast<std::size_t>(k));
  const int kind = tests::random_int(rng, 0, 9);
  const double constant = std::fabs(tests::random_double(rng, 0));
  const int spread = tests::random_int(rng, 0, 60);
  for (std::size_t h = 0; h < x.size(); ++h) {
    switch (kind) {
      case 0:
        x[h] = constant;
        break;
      case 1:
        x[h] = h == 0 ? constant : std::ldexp(constant, -spread);
        break;  // one huge
      case 2:
        x[h] = tests::random_double(rng, 0);
        break;
      case 3:
        x[h] = tests::random_double(rng, -tests::random_int(rng, 0, spread));
        break;
      case 4:
        x[h] = static_cast<double>(tests::random_int(rng, -9, 9));
        break;  // exact at many rungs
      case 5:
        x[h] = rng() % 3 == 0 ? tests::random_double(rng, -spread) : 0.0;
        break;
      case 6:
        x[h] = std::fabs(tests::random_double(rng, 0));
        break;
      case 7:
        x[h] = std::ldexp(1.0, -tests::random_int(rng, 0, spread));
        break;
      case 8:
        x[h] = 1.0 + std::ldexp(1.0, -tests::random_int(rng, 1, 52));
        break;
      default:
        x[h] = h % 2 == 0 ? constant : -constant;
        break;
    }
  }
  return x;
}

/// The same, pushed to where it hurts at this rung.
Line adversarial_line(Rng& rng, const Rung& rung, std::int64_t k) {
  Line x = random_line(rng, k);
  const LineStats stats = tests::stats_by_definition(x);
  if (stats.is_zero() || rng() % 4 == 0) return x;
  snap_to_halves(x, scale_bits(rung, stats.sum_squares) - stats.exponent, rng() % 4 != 0);
  return x;
}

/// A constant line whose element is the smallest whose scale is t or the largest whose scale is t + 1: where the
/// quantum is as coarse, or the integers as large, as they get.
Line threshold_line(Rng& rng, const Rung& rung, std::int64_t k) {
  const auto line_of = [&](std::uint64_t m) {
    return Line(static_cast<std::size_t>(k), std::ldexp(static_cast<double>(m), -52));
  };
  const auto bits_of = [&](std::uint64_t m) {
    return scale_bits(rung, tests::stats_by_definition(line_of(m)).sum_squares);
  };
  std::uint64_t low = std::uint64_t{1} << 52;
  std::uint64_t high = (std::uint64_t{1} << 53) - 1;
  if (bits_of(low) == bits_of(high)) return line_of(rng() % 2 == 0 ? low : high);
  const int wanted = bits_of(low);
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (bits_of(middle) == wanted ? low : high) = middle;
  }
  Line x = line_of(rng() % 2 == 0 ? low : high);
  if (rng() % 2 == 0) snap_to_halves(x, bits_of(rng() % 2 == 0 ? low : high), true);
  return x;
}

/// A constant line whose element is half a quantum off and just large enough for the coarser of two quanta.
Line tie_line(const Rung& rung, std::int64_t k) {
  const auto line_of = [&](double x) { return Line(static_cast<std::size_t>(k), x); };
  const auto bits_of = [&](double x) { return scale_bits(rung, tests::stats_by_definition(line_of(x)).sum_squares); };
  const int coarse = bits_of(std::nextafter(2.0, 0.0));
  double low = 1.0;
  double high = std::nextafter(2.0, 0.0);
  if (coarse > 50 || bits_of(low) == coarse) return line_of(coarse > 50 ? 1.0 : 1.0 + std::ldexp(0.5, -coarse));
  while (std::nextafter(low, 2.0) < high) {
    const double middle = low + (high - low) / 2;
    (bits_of(middle) == coarse ? high : low) = middle;
  }
  return line_of(std::ldexp(std::ceil(std::ldexp(high, coarse)) + 0.5, -coarse));
}

std::vector<Integer> integers_of(const Line& x, int scale) {
  std::vector<Integer> integers;
  integers.reserve(x.size());
  for (const double v : x) integers.push_back(tests::rint_scaled(v, scale));
  return integers;
}
Integer dot(const std::vector<Integer>& a, const std::vector<Integer>& b) {
  Integer sum = 0;
  for (std::size_t h = 0; h < a.size(); ++h) sum += a[h] * b[h];
  return sum;
}

// ---- scale_bits -----------------------------------------------------------------------------------------------------

/// t is legal, 4^t sum 2^-28 <= T, and t + 1 is not: sums above 2^53 count as rounded up to 53 bits.
void expect_largest_legal(const Rung& rung, std::uint64_t sum) {
  const int t = scale_bits(rung, sum);
  ASSERT_LE(scaled_square(sum, t), limit_of(rung)) << sum;
  std::uint64_t counted = sum;
  const int surplus = std::max(0, static_cast<int>(std::bit_width(sum)) - 53);
  if (surplus > 0) counted = ((sum - 1) >> surplus) + 1;
  ASSERT_GT(scaled(Rational(integer(counted)), surplus + 2 * (t + 1) - 28), limit_of(rung)) << sum;
}

TEST(ScaleBits, LargestLegalShift) {
  Rng rng(21);
  for (const std::int64_t k :
       {std::int64_t{1}, std::int64_t{100}, std::int64_t{16384}, std::int64_t{1} << 24, (std::int64_t{1} << 34) - 1}) {
    for (int n = kMinModuli; n <= kMaxRealModuli; ++n) {
      if (!ozaki2::has_rung(num::Ring::kReal, n, k)) continue;
      const Rung rung = ozaki2::make_rung(num::Ring::kReal, n, k, 0.0);
      ASSERT_GE(rung.limit_mantissa, std::uint64_t{1} << 52);
      ASSERT_LT(rung.limit_mantissa, std::uint64_t{1} << 53);
      ASSERT_LE(limit_of(rung), Rational(exact(rung.norm_limit) * exact(rung.norm_limit)));
      for (int e = 0; e < 64; ++e) {
        const std::uint64_t power = std::uint64_t{1} << e;
        for (const std::uint64_t sum :
             {power, power + 1, power - 1, power + (power >> 1), power | (rng() & (power - 1))}) {
          if (sum == 0) continue;
          expect_largest_legal(rung, sum);
        }
      }
      expect_largest_legal(rung, ~std::uint64_t{0});
      // The thresholds themselves: T 4^-t 2^28, one below and one above.
      for (int t = scale_bits(rung, ~std::uint64_t{0}); t <= scale_bits(rung, 1); ++t) {
        const Rational threshold = scaled(limit_of(rung), 28 - 2 * t);
        const Integer floor = threshold.get_num() / threshold.get_den();
        for (int d = -1; d <= 1; ++d) {
          const Integer sum = floor + d;
          if (sum >= 1 && sum < tests::power_of_two(64)) expect_largest_legal(rung, tests::wide<1>(sum).limb[0]);
        }
      }
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ScaleBits, RandomLimits) {
  Rng rng(22);
  for (int i = 0; i < tests::cases(20000); ++i) {
    Rung rung;
    rung.limit_mantissa = (rng() >> 12) | std::uint64_t{1} << 52;
    rung.limit_exponent = tests::random_int(rng, -54, 160);
    expect_largest_legal(rung, (rng() >> (rng() % 64)) | 1);
    if (HasFatalFailure()) return;
  }
}

TEST(ScaleBits, MoreModuliNeverScaleLess) {
  Rng rng(23);
  for (const std::int64_t k : {1, 1000, 1 << 20}) {
    for (int i = 0; i < tests::cases(1000); ++i) {
      const std::uint64_t sum = (rng() >> (rng() % 64)) | 1;
      int last = -100000;
      for (int n = kMinModuli; n <= kMaxRealModuli; ++n) {
        if (!ozaki2::has_rung(num::Ring::kReal, n, k)) continue;
        const int t = scale_bits(ozaki2::make_rung(num::Ring::kReal, n, k, 0.0), sum);
        ASSERT_GE(t, last);
        last = t;
      }
    }
  }
}

// ---- no wrap-around -------------------------------------------------------------------------------------------------

/// For N = 2..6 the integers are small and the limit is near: no pair of lines leaves |sum a'b'| <= (P - 1) / 2, and
/// with one more bit of scale some do, so the adversaries are strong enough to tell.
TEST(NoWrap, AdversariesStayWithinHalfTheModulusProduct) {
  Rng rng(24);
  for (int n = 2; n <= 6; ++n) {
    const Integer half = half_of(n);
    bool one_more_bit_wraps = false;
    for (const std::int64_t k : {1, 2, 3, 7, 16, 64, 200, 1000, 4000}) {
      if (!ozaki2::has_rung(num::Ring::kReal, n, k)) continue;
      const Rung rung = ozaki2::make_rung(num::Ring::kReal, n, k, 0.0);
      const int pairs = tests::cases(static_cast<int>(std::max<std::int64_t>(20, 4000 / k)));
      for (int i = 0; i < pairs; ++i) {
        const Line a = i % 3 == 0 ? threshold_line(rng, rung, k) : adversarial_line(rng, rung, k);
        const Line b = i % 2 == 0 ? a : i % 3 == 0 ? threshold_line(rng, rung, k) : adversarial_line(rng, rung, k);
        const LineStats sa = tests::stats_by_definition(a);
        const LineStats sb = tests::stats_by_definition(b);
        if (sa.is_zero() || sb.is_zero()) continue;
        const int s = scale_bits(rung, sa.sum_squares) - sa.exponent;
        const int t = scale_bits(rung, sb.sum_squares) - sb.exponent;
        const std::vector<Integer> x = integers_of(a, s);
        ASSERT_LE(abs(dot(x, integers_of(b, t))), half) << "N = " << n << ", k = " << k;
        Integer largest = 0;
        for (const Integer& v : x) largest = std::max<Integer>(largest, abs(v));
        ASSERT_LE(largest, scaled(1, scale_bits(rung, sa.sum_squares) + 1).get_num()) << "|a'| <= 2^(scale_bits + 1)";
        one_more_bit_wraps = one_more_bit_wraps || abs(dot(integers_of(a, s + 1), integers_of(b, t + 1))) > half;
      }
    }
    EXPECT_TRUE(one_more_bit_wraps) << "N = " << n;
  }
}

// ---- lines as the certificate sees them -----------------------------------------------------------------------------

TEST(LineWeight, RoundsUpAndTells1NormFrom2Norm) {
  Rng rng(25);
  const Ladder ladder = ozaki2::certified_ladder(num::Ring::kReal, 1024, 0x1p-50);
  for (int i = 0; i < tests::cases(20000); ++i) {
    LineStats stats;
    stats.exponent = tests::random_int(rng, -1000, 1000);
    stats.lsb = stats.exponent - tests::random_int(rng, 0, 80);
    stats.sum_squares = std::max<std::uint64_t>(rng() >> (rng() % 37), std::uint64_t{1} << 28);  // k < 2^34: below 2^64
    stats.sum_abs = std::max<std::uint64_t>(rng() >> (9 + rng() % 34), std::uint64_t{1} << 20);  //           below 2^55
    const LineWeight w = line_weight(ladder, stats);
    ASSERT_GE(Rational(exact(w.norm2) * exact(w.norm2)), scaled(Rational(integer(stats.sum_squares)), -28));
    ASSERT_GE(exact(w.norm1), scaled(Rational(integer(stats.sum_abs)), -20));
    // No looser than two units in the last place of FP32.
    const double below = std::nextafter(std::nextafter(w.norm2, 0.0F), 0.0F);
    ASSERT_LT(Rational(exact(below) * exact(below)), scaled(Rational(integer(stats.sum_squares)), -28));
    ASSERT_EQ(w.exact_rung, first_exact_rung(ladder, stats));
  }
  const LineWeight zero = line_weight(ladder, LineStats{});
  EXPECT_EQ(zero.norm1, 0);
  EXPECT_EQ(zero.norm2, 0);
  EXPECT_EQ(zero.exact_rung, 0);
}

/// is_certified() bounds k alpha beta / 4 by (||a||_2 ||b||_1 + ||b||_2 ||a||_1) k / (4 U^2): that needs ||x||_2 <=
/// ||x||_1 for the numbers it holds, each rounded up in its own way.
TEST(LineWeight, NormsKeepTheirOrder) {
  Rng rng(26);
  const Ladder ladder = ozaki2::certified_ladder(num::Ring::kReal, 64, 0x1p-10);
  for (int i = 0; i < tests::cases(20000); ++i) {
    Line x = random_line(rng, tests::random_int(rng, 1, 8));
    if (i % 2 == 0) x[0] = 1.0 + std::ldexp(1.0, -tests::random_int(rng, 1, 40));
    const LineWeight w = line_weight(ladder, tests::stats_by_definition(x));
    ASSERT_GE(w.norm1, w.norm2) << x[0];
  }
}

TEST(RoundUpToFloat, SmallestNotBelow) {
  Rng rng(27);
  for (int i = 0; i < tests::cases(100000); ++i) {
    const double x = std::fabs(tests::random_double(rng, tests::random_int(rng, -126, 126)));
    const float up = round_up_to_float(x);
    ASSERT_GE(static_cast<double>(up), x);
    ASSERT_LT(static_cast<double>(std::nextafter(up, 0.0F)), x);
  }
  EXPECT_EQ(round_up_to_float(0.0), 0.0F);
  EXPECT_EQ(round_up_to_float(0x1p-300), 0x1p-149F);
}

TEST(FirstExactRung, ExactMeansNoElementIsRounded) {
  Rng rng(28);
  for (const std::int64_t k : {1, 5, 40}) {
    const Ladder ladder = ozaki2::certified_ladder(num::Ring::kReal, k, 0x1p-30);
    ASSERT_GT(ladder.num_rungs, 0);
    for (int i = 0; i < tests::cases(3000); ++i) {
      Line x = random_line(rng, k);
      const LineStats stats = tests::stats_by_definition(x);
      const int first = first_exact_rung(ladder, stats);
      for (int r = 0; r < ladder.num_rungs; ++r) {
        bool is_exact = true;
        if (!stats.is_zero()) {
          const int s = scale_bits(ladder.rungs[static_cast<std::size_t>(r)], stats.sum_squares) - stats.exponent;
          for (const double v : x) is_exact = is_exact && Rational(tests::rint_scaled(v, s)) == scaled(exact(v), s);
        }
        if (r >= first)
          ASSERT_TRUE(is_exact) << r;
        else
          ASSERT_FALSE(is_exact) << r;
      }
    }
  }
}

// ---- is_certified ---------------------------------------------------------------------------------------------------

/// The largest float not above x. @range 0 <= x < 2^100
float float_below(const Rational& x) {
  tests::Mpfr r(24);
  mpfr_set_q(r.get(), x.get_mpq_t(), MPFR_RNDD);
  return mpfr_get_flt(r.get(), MPFR_RNDD);
}

struct Pair {
  Line a, b;
  LineStats sa, sb;
  Rational product;  ///< sum a b
  Rational gauge;    ///< sum |a||b|
};
Pair make_pair(Line a, Line b) {
  Pair p{std::move(a), std::move(b), {}, {}, 0, 0};
  p.sa = tests::stats_by_definition(p.a);
  p.sb = tests::stats_by_definition(p.b);
  for (std::size_t h = 0; h < p.a.size(); ++h) {
    const Rational term = exact(p.a[h]) * exact(p.b[h]);
    p.product += term;
    p.gauge += abs(term);
  }
  return p;
}
/// |2^-(s+t) sum a'b' - sum ab|
Rational truncation_error(const Pair& p, const Rung& rung) {
  if (p.sa.is_zero() || p.sb.is_zero()) return 0;
  const int s = scale_bits(rung, p.sa.sum_squares) - p.sa.exponent;
  const int t = scale_bits(rung, p.sb.sum_squares) - p.sb.exponent;
  return abs(Rational(scaled(Rational(dot(integers_of(p.a, s), integers_of(p.b, t))), -(s + t)) - p.product));
}

/// Thousands of pairs, each with the tightest lower bound there can be, the exact value itself: what is certified keeps
/// its budget, exactly; certified stays certified on higher rungs. And an allowance eight times as large would not do.
TEST(IsCertified, NeverCertifiesAViolation) {
  Rng rng(29);
  std::int64_t certified = 0, refused = 0, loose_violations = 0, one_sided = 0;
  for (const std::int64_t k : {1, 2, 3, 8, 17, 64, 150}) {
    for (const int bits : {1, 4, 10, 24, 40, 52}) {
      const double budget = truncation_budget(std::ldexp(1.0, -bits), Scalar::kF64);
      const Ladder ladder = ozaki2::certified_ladder(num::Ring::kReal, k, budget);
      ASSERT_GT(ladder.num_rungs, 0);
      Ladder loose = ladder;
      for (Rung& rung : loose.rungs) rung.allowance *= 8;
      const int pairs = tests::cases(static_cast<int>(std::min<std::int64_t>(250, 6000 / k)));
      for (int i = 0; i < pairs; ++i) {
        const Rung& target = ladder.rungs[rng() % static_cast<std::uint64_t>(std::min(ladder.num_rungs, 3))];
        // One after the other: compilers take arguments in different orders, and pairs would be others.
        const auto b = i % 3 == 0 ? threshold_line(rng, target, k) : adversarial_line(rng, target, k);
        const auto a = i % 4 == 0 ? threshold_line(rng, target, k) : adversarial_line(rng, target, k);
        const Pair p = make_pair(a, b);
        const LineWeight wa = line_weight(ladder, p.sa);
        const LineWeight wb = line_weight(ladder, p.sb);
        const bool has_zero = p.sa.is_zero() || p.sb.is_zero();
        // The tightest lower bound there can be; now and then a loose one, as digits give it.
        const int looseness = rng() % 8 == 0 ? tests::random_int(rng, 1, 60) : 0;
        const float floor =
            has_zero ? 0.0F : float_below(scaled(p.gauge, -(p.sa.exponent + p.sb.exponent) - looseness));
        const int first = first_certified_rung(ladder, wa, wb, floor);
        (first < ladder.num_rungs ? certified : refused)++;
        if (first < ladder.num_rungs && (wa.exact_rung <= first) != (wb.exact_rung <= first)) ++one_sided;
        for (int r = 0; r < ladder.num_rungs; ++r) {
          ASSERT_EQ(is_certified(ladder, r, wa, wb, floor), r >= first) << "monotone";
          if (r != first && r != first + 1) continue;
          const Rational error = truncation_error(p, ladder.rungs[static_cast<std::size_t>(r)]);
          ASSERT_LE(error, Rational(exact(budget) * p.gauge)) << "k = " << k << ", bits = " << bits << ", rung " << r;
        }
        const int too_early = first_certified_rung(loose, wa, wb, floor);
        if (too_early < first &&
            truncation_error(p, ladder.rungs[static_cast<std::size_t>(too_early)]) > exact(budget) * p.gauge) {
          ++loose_violations;
        }
      }
    }
  }
  EXPECT_GT(certified, 10 * loose_violations);
  EXPECT_GT(refused, 0);
  EXPECT_GT(one_sided, 0);
  RecordProperty("loose_violations", std::to_string(loose_violations));
  if (!tests::kIsSanitized) {
    EXPECT_GT(loose_violations, 0) << "the adversaries are too weak to mean anything";
  }
}

/// For each pair the smallest budget that certifies it, found by search: even that one is kept. The worst ratio shows
/// how near the adversaries come; below 1/2 the test would not see an allowance twice too large.
TEST(IsCertified, EvenTheSmallestCertifiedBudgetIsKept) {
  Rng rng(32);
  Rational worst = 0;
  for (const std::int64_t k : {1, 2, 3, 8, 17, 64, 256, 1000}) {
    for (const int n : {3, 5, 7, 9, 14, 15}) {
      if (!ozaki2::has_rung(num::Ring::kReal, n, k)) continue;
      Ladder ladder;
      ladder.num_rungs = 1;
      ladder.rungs[0] = ozaki2::make_rung(num::Ring::kReal, n, k, 0x1p-1);
      const int pairs = tests::cases(static_cast<int>(std::min<std::int64_t>(150, 2000 / k)));
      for (int i = 0; i < pairs; ++i) {
        const Line a = i % 3 == 0 ? adversarial_line(rng, ladder.rungs[0], k) : tie_line(ladder.rungs[0], k);
        const Pair p = make_pair(a, i % 3 == 1 ? a : adversarial_line(rng, ladder.rungs[0], k));
        if (p.sa.is_zero() || p.sb.is_zero() || p.gauge == 0) continue;
        const LineWeight wa = line_weight(ladder, p.sa);
        const LineWeight wb = line_weight(ladder, p.sb);
        const float floor = float_below(scaled(p.gauge, -(p.sa.exponent + p.sb.exponent)));
        const auto rung_at = [&](double budget) {
          Ladder l = ladder;
          l.rungs[0] = ozaki2::make_rung(num::Ring::kReal, n, k, budget);
          return l;
        };
        double budget = 0x1p-80;
        while (budget < 0x1p60 && !is_certified(rung_at(budget), 0, wa, wb, floor)) budget *= 2;
        double refused = budget / 2;
        for (int step = 0; step < 30; ++step) {
          const double middle = refused + (budget - refused) / 2;
          (is_certified(rung_at(middle), 0, wa, wb, floor) ? budget : refused) = middle;
        }
        ASSERT_TRUE(is_certified(rung_at(budget), 0, wa, wb, floor));
        const Rational ratio = truncation_error(p, ladder.rungs[0]) / (exact(budget) * p.gauge);
        ASSERT_LE(ratio, 1) << "k = " << k << ", N = " << n;
        worst = std::max(worst, ratio);
      }
    }
  }
  RecordProperty("worst_ratio", std::to_string(worst.get_d()));
  EXPECT_GT(worst, Rational(1, 2));
}

TEST(IsCertified, NotANumberIsNeverCertified) {
  const Ladder ladder = ozaki2::certified_ladder(num::Ring::kReal, 16, 0x1p-20);
  const LineWeight w = line_weight(ladder, tests::stats_by_definition({1.0, 1.0 / 3}));
  for (int r = 0; r < ladder.num_rungs; ++r) {
    EXPECT_FALSE(is_certified(ladder, r, w, w, std::numeric_limits<float>::quiet_NaN()));
    EXPECT_EQ(is_certified(ladder, r, w, w, 0.0F), r >= w.exact_rung);
    EXPECT_FALSE(is_certified(ladder, r, w, w, -1.0F));
  }
}

// ---- gauge norm -----------------------------------------------------------------------------------------------------

/// error^2 <= bound^2 ||a||^2 ||b||^2 for the a-priori bound, with constant lines at the worst quantum.
TEST(TruncationNormBound, HoldsForAnyLines) {
  Rng rng(30);
  for (const std::int64_t k : {1, 2, 3, 10, 64, 256, 1024, 4096}) {
    for (const int n : {2, 3, 4, 7, 9, 14, 20, 28}) {
      if (!ozaki2::has_rung(num::Ring::kReal, n, k)) continue;
      const Rung rung = ozaki2::make_rung(num::Ring::kReal, n, k, 0.0);
      const Rational bound = exact(truncation_norm_bound(rung.norm_limit, k));
      const int pairs = tests::cases(static_cast<int>(std::max<std::int64_t>(3, 1500 / k)));
      for (int i = 0; i < pairs; ++i) {
        // Every second pair is a line with itself: then both errors have one sign.
        const Line a = i % 3 == 0 ? adversarial_line(rng, rung, k) : threshold_line(rng, rung, k);
        const Pair p = make_pair(a, i % 2 == 0 ? a : adversarial_line(rng, rung, k));
        Rational norms_a = 0;
        Rational norms_b = 0;
        for (const double v : p.a) norms_a += exact(v) * exact(v);
        for (const double v : p.b) norms_b += exact(v) * exact(v);
        const Rational error = truncation_error(p, rung);
        ASSERT_LE(Rational(error * error), Rational(bound * bound * norms_a * norms_b)) << "k = " << k << ", N = " << n;
      }
    }
  }
}

/// The sum of squares is rounded up element by element, to 14 bits below the largest: many elements just above a
/// multiple of 2^-14 make the quantum coarser than ||x|| alone would. The line (1, c, ..., c) times itself, c half a
/// quantum above i 2^-14.
TEST(TruncationNormBound, HoldsWhereTheSumOfSquaresIsInflated) {
  for (const std::int64_t k : {2, 17, 100, 1024, 3000, 16384, 1 << 20, 1 << 24, (1 << 24) + 12345, 1 << 26, 1 << 30}) {
    for (int n = 6; n <= kMaxRealModuli; ++n) {
      if (!ozaki2::has_rung(num::Ring::kReal, n, k)) continue;
      const Rung rung = ozaki2::make_rung(num::Ring::kReal, n, k, 0.0);
      const Rational bound = exact(truncation_norm_bound(rung.norm_limit, k));
      for (std::int64_t i = 1; i < (1 << kSquareBits); i += 1 + i / 16) {
        const std::uint64_t sum = (std::uint64_t{1} << 28) + static_cast<std::uint64_t>((k - 1) * (i + 1) * (i + 1));
        const int t = scale_bits(rung, sum);
        if (t <= kSquareBits || t > 40) continue;
        const Rational quotient =
            scaled(Rational(integer(i)), t - kSquareBits);  // even, so c 2^t = quotient + 1/2 rounds down
        const Rational c = scaled(Rational(quotient + Rational(1, 2)), -t);
        const double element = tests::rounded<double>(c);
        ASSERT_EQ(exact(element), c);
        ASSERT_EQ(tests::ceil_scaled(element, kSquareBits), static_cast<std::uint64_t>(i + 1));
        ASSERT_EQ(Rational(tests::rint_scaled(element, t)), quotient);
        const Rational error = integer(k - 1) * (c * c - scaled(Rational(quotient * quotient), -2 * t));
        ASSERT_LE(error, Rational(bound * (1 + integer(k - 1) * c * c)))
            << "k = " << k << ", N = " << n << ", i = " << i;
      }
    }
  }
}

// ---- select ---------------------------------------------------------------------------------------------------------

Ladder ladder_of(int num_rungs, bool may_equilibrate = true) {
  Ladder ladder;
  ladder.num_rungs = num_rungs;
  ladder.may_equilibrate = may_equilibrate;
  return ladder;
}
RungHistogram histogram(std::initializer_list<std::int64_t> pairs) {
  RungHistogram h;
  std::copy(pairs.begin(), pairs.end(), h.pairs.begin());
  return h;
}

/// Equilibration is looked at where there is no rung, and at a rung above the first only where it gains.
TEST(Select, WhenEquilibrationIsLookedAt) {
  const Ladder ladder = ladder_of(4);
  EXPECT_TRUE(wants_equilibration(ladder, {-1, false, 0}, 0));
  EXPECT_TRUE(wants_equilibration(ladder, {2, false, 0}, kLeastEquilibrationGain));
  EXPECT_FALSE(wants_equilibration(ladder, {2, false, 0}, kLeastEquilibrationGain - 1));
  EXPECT_FALSE(wants_equilibration(ladder, {1, false, 0}, 1000));
  EXPECT_FALSE(wants_equilibration(ladder_of(4, false), {-1, false, 0}, 1000));
}

/// What a sampled sum certifies, block sums do whatever their roundings: both allowances are below the given one, in
/// this order, and positive up to the longest line.
TEST(Allowances, LeaveRoomForTheRoundingsOfASum) {
  for (const std::int64_t terms : {std::int64_t{1}, std::int64_t{64}, std::int64_t{4096}, std::int64_t{1} << 20,
                                   std::int64_t{1} << 27, kMaxLineLength}) {
    const double gamma = block_sum_error(terms);
    // A term's additions: the blocks of its segment, and the segments after it.
    ASSERT_GE(
        gamma,
        2.0 * (std::min(static_cast<double>(terms) / 64, 0x1p14) + static_cast<double>(terms) * 0x1p-20 - 1) * 0x1p-24);
    ASSERT_LE(gamma, 0x1.01p-8);
    for (const double allowance : {1.0, 100.0, 0x1.fffffep40, 1e30}) {
      const float block = certified_allowance(allowance, terms);
      ASSERT_LE(static_cast<double>(block), allowance * (1 - 0x1p-20) * (1 - gamma));
      ASSERT_GE(static_cast<double>(block), allowance * (1 - 0x1p-19) * (1 - gamma));
      const float sampled = sampled_allowance(block, terms);
      ASSERT_LE(static_cast<double>(sampled), static_cast<double>(block) * (1 - 2 * gamma - 0x1p-20));
      ASSERT_GT(sampled, 0.0F);
    }
  }
}

TEST(Select, Table) {
  const Ladder ladder = ladder_of(4);
  const RungHistogram none;
  struct Row {
    const char* what;
    std::int64_t num_pairs;
    RungHistogram plain;
    bool has_equilibrated;
    RungHistogram equilibrated;
    Selection want;
  };
  const std::vector<Row> rows = {
      {"all at the lowest rung", 100, histogram({100}), false, none, {0, false, 0}},
      {"one pair above it, too few pairs for a repair", 4095, histogram({4094, 1}), false, none, {1, false, 0}},
      {"one repair per 4096", 4096, histogram({4095, 1}), false, none, {0, false, 1}},
      {"two are too many", 4096, histogram({4094, 1, 1}), false, none, {1, false, 1}},
      {"at the limit", 8192, histogram({8190, 0, 0, 2}), false, none, {0, false, 2}},
      {"above the limit", 8192, histogram({8189, 0, 0, 3}), false, none, {3, false, 0}},
      {"uncertified pairs are repaired too", 8192, histogram({8190, 0, 0, 0, 2}), false, none, {0, false, 2}},
      {"a 512th where no rung does better", 8192, histogram({8189, 0, 0, 0, 3}), false, none, {0, false, 3}},
      {"that at the lowest rung too", 8192, histogram({8170, 6, 0, 0, 16}), false, none, {1, false, 16}},
      {"uncertified pairs beyond the limit", 8192, histogram({8175, 0, 0, 0, 17}), false, none, {-1, false, 8192}},
      {"nothing certified", 7, histogram({0, 0, 0, 0, 7}), false, none, {-1, false, 7}},
      {"no pairs at all", 0, none, false, none, {0, false, 0}},
      {"rung 1 is never equilibrated away", 10, histogram({0, 10}), true, histogram({10}), {1, false, 0}},
      {"rung 2 to rung 1 saves too little", 10, histogram({0, 0, 10}), true, histogram({0, 10}), {2, false, 0}},
      {"rung 2 to rung 0 is worth it", 10, histogram({0, 0, 10}), true, histogram({10}), {0, true, 0}},
      {"a tie stays as given", 10, histogram({0, 0, 0, 10}), true, histogram({0, 0, 0, 10}), {3, false, 0}},
      {"rung 3 to rung 2", 10, histogram({0, 0, 0, 10}), true, histogram({0, 0, 10}), {3, false, 0}},
      {"rung 3 to rung 1", 10, histogram({0, 0, 0, 10}), true, histogram({0, 10}), {1, true, 0}},
      {"worse equilibrated", 10, histogram({0, 0, 10}), true, histogram({0, 0, 0, 10}), {2, false, 0}},
      {"uncertified equilibrated", 10, histogram({0, 0, 10}), true, histogram({0, 0, 0, 0, 10}), {2, false, 0}},
      {"any rung beats FP64 arithmetic", 10, histogram({0, 0, 0, 0, 10}), true, histogram({0, 0, 0, 10}), {3, true, 0}},
      {"neither", 10, histogram({0, 0, 0, 0, 10}), true, histogram({0, 0, 0, 9, 1}), {-1, false, 10}},
      {"equilibrated with repairs", 8192, histogram({0, 0, 0, 0, 8192}), true, histogram({8190, 2}), {0, true, 2}},
  };
  for (const Row& row : rows) {
    const Statistics statistics{row.num_pairs, row.plain, row.has_equilibrated, row.equilibrated};
    EXPECT_EQ(select(ladder, statistics), row.want) << row.what;
    Statistics unseen = statistics;
    unseen.has_equilibrated = false;
    EXPECT_FALSE(select(ladder, unseen).equilibrated) << row.what;
    EXPECT_EQ(select(ladder_of(4, false), statistics), select(ladder, unseen)) << row.what;
  }
}

/// By definition, for random histograms: the lowest rung that leaves at most a 4096th, or else a 512th, repairs
/// counted; never equilibrated statistics asked for in vain.
TEST(Select, RandomHistograms) {
  Rng rng(31);
  for (int i = 0; i < tests::cases(50000); ++i) {
    Ladder ladder = ladder_of(tests::random_int(rng, 1, kMaxRungs), rng() % 4 != 0);
    if (rng() % 2 == 0) ladder.repair_shift = kNativeRepairShift;
    Statistics statistics;
    statistics.has_equilibrated = rng() % 2 == 0;
    const auto fill = [&](RungHistogram& h) {
      std::int64_t left = statistics.num_pairs;
      for (int r = ladder.num_rungs; r > 0; --r) {
        const auto part = static_cast<std::int64_t>(
            rng() % static_cast<std::uint64_t>((rng() % 2 == 0 ? left >> ladder.repair_shift : left) + 1));
        h.pairs[static_cast<std::size_t>(r)] = part;
        left -= part;
      }
      h.pairs[0] = left;
    };
    statistics.num_pairs = static_cast<std::int64_t>(rng() >> (20 + rng() % 44));
    fill(statistics.plain);
    fill(statistics.equilibrated);
    const auto lowest = [&](const RungHistogram& h) {
      for (const std::int64_t share : {std::int64_t{1} << ladder.repair_shift, std::int64_t{512}}) {
        for (int r = 0; r < ladder.num_rungs; ++r) {
          std::int64_t above = 0;
          for (int q = r + 1; q <= ladder.num_rungs; ++q) above += h.pairs[static_cast<std::size_t>(q)];
          if (above <= statistics.num_pairs / share) return Selection{r, false, above};
        }
      }
      return Selection{-1, false, statistics.num_pairs};
    };
    const Selection plain = lowest(statistics.plain);
    Selection equilibrated = lowest(statistics.equilibrated);
    equilibrated.equilibrated = true;
    const int fp64 = 1000;  // above every rung
    const auto cost = [&](const Selection& s) { return s.rung < 0 ? fp64 : s.rung; };
    const bool may = ladder.may_equilibrate && statistics.has_equilibrated && equilibrated.rung >= 0;
    const Selection want = may && cost(equilibrated) + 1 < cost(plain) ? equilibrated : plain;
    ASSERT_EQ(select(ladder, statistics), want);
    ASSERT_TRUE(!want.equilibrated || may_equilibrate(ladder, plain));
    ASSERT_LE(want.rung < 0 ? 0 : want.num_repaired, statistics.num_pairs >> kMostRepairShift);
  }
}

// What epilogues of sampled products look at first: it never says more than is_certified(), and nearly as much.
TEST(QuickLook, SaysWhatIsCertifiedButForThousandths) {
  Rng rng(9);
  const auto uniform = [&](double least, double most) {
    return static_cast<float>(least + (most - least) * static_cast<double>(rng() % 100001) / 100000.0);
  };
  int num_certified = 0;
  int num_left = 0;
  for (int c = 0; c < 200000; ++c) {
    const RungWeight a{rng() % 8 == 0 ? 0.0F : uniform(1, 30), uniform(1, 2000)};
    const RungWeight b{rng() % 8 == 0 ? 0.0F : uniform(1, 30), uniform(1, 2000)};
    const auto sum = static_cast<std::int32_t>(rng() % (std::uint64_t{1} << (1 + rng() % 31)));
    // Allowances about the one that the pair needs.
    const double needed =
        (static_cast<double>(a.error) * b.norm1 + static_cast<double>(b.error) * a.norm1) / std::max(sum, 1);
    const double by = std::exp2(-23.0 + static_cast<double>(rng() % 24));
    const auto allowance =
        static_cast<float>(rng() % 64 == 0 ? 0x1p100 : needed * (rng() % 2 == 0 ? 1.0 + by : 1.0 - by));
    const bool is_seen = QuickLook(allowance).margin(a, b, sum) >= 0;
    const bool is_certified_one_by_one = is_certified(allowance, a, b, static_cast<float>(sum));
    EXPECT_TRUE(!is_seen || is_certified_one_by_one) << sum << ", " << allowance << ", needed " << needed;
    if (is_certified_one_by_one && sum > 1 << 20) {
      ++num_certified;
      if (!is_seen) {
        ++num_left;
        EXPECT_LT(allowance, needed * (1 + 0x1p-10)) << sum;
      }
    }
  }
  EXPECT_GT(num_certified, 1000);
  EXPECT_LT(num_left, num_certified / 2);
  // Sums that lose nothing to the shift: what is left is the slack for roundings. The largest allowance that refuses the pair must be refused at once.
  for (int c = 0; c < 20000; ++c) {
    const RungWeight a{uniform(1, 30), uniform(1, 2000)};
    const RungWeight b{uniform(1, 30), uniform(1, 2000)};
    const auto sum = static_cast<std::int32_t>((std::uint64_t{1} << 30) + (rng() % (1 << 21)) * 512);
    const double needed = (static_cast<double>(a.error) * b.norm1 + static_cast<double>(b.error) * a.norm1) / sum;
    auto allowance = static_cast<float>(needed * (1 + 0x1p-20));
    ASSERT_TRUE(is_certified(allowance, a, b, static_cast<float>(sum)));
    while (is_certified(allowance, a, b, static_cast<float>(sum))) allowance = std::nextafter(allowance, 0.0F);
    EXPECT_LT(QuickLook(allowance).margin(a, b, sum), 0) << sum << ", " << allowance;
    EXPECT_GE(QuickLook(allowance * (1 + 0x1p-16F)).margin(a, b, sum), 0) << sum << ", " << allowance;
  }
  // What overflows is refused, or is certified one by one as well.
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  EXPECT_TRUE(std::signbit(QuickLook(0x1p100F).margin({1e30F, 1e30F}, {1e30F, 1e30F}, kMost)));
  EXPECT_TRUE(std::signbit(QuickLook(1.0F).margin({1e20F, 1e20F}, {1e20F, 1e20F}, kMost)));
  EXPECT_FALSE(std::signbit(QuickLook(0x1p100F).margin({1e9F, 1e9F}, {1e9F, 1e9F}, kMost)));
  // Signs are what is asked: pairs of lines that are not there have none.
  EXPECT_FALSE(std::signbit(QuickLook(1.0F).margin({}, {}, 0)));
  EXPECT_FALSE(std::signbit(QuickLook(0x1p100F).margin({}, {}, std::numeric_limits<std::int32_t>::max())));
  EXPECT_TRUE(std::signbit(QuickLook(1.0F).margin({1, 1}, {1, 1}, 0)));
}

}  // namespace
}  // namespace kizami::num
