// SPDX-License-Identifier: MIT
// Line statistics against their definition in integers, and what they must not depend on: threads, tiles, layout,
// units.
#include "certify/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/certify/stored_lines.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::num {
void PrintTo(const LineStats& s, std::ostream* out) {
  *out << "{exponent " << s.exponent << ", lsb " << s.lsb << ", sum_squares " << s.sum_squares << ", sum_abs "
       << s.sum_abs << (s.is_finite ? "}" : ", not finite}");
}
}  // namespace kizami::num

namespace kizami::certify {
namespace {

using num::LineStats;
using tests::kStorages;
using tests::Rng;
using tests::StoredLines;

template <class T>
std::vector<LineStats> gather(const problem::Lines<T>& lines, const std::vector<std::int32_t>& shift, int threads) {
  std::vector<LineStats> stats(static_cast<std::size_t>(lines.num_lines) + 1);
  stats.back().sum_abs = 12345;  // a canary
  gather_statistics(lines, shift.empty() ? nullptr : shift.data(), threads, stats.data());
  EXPECT_EQ(stats.back().sum_abs, 12345U);
  stats.pop_back();
  return stats;
}

template <class T>
std::vector<LineStats> by_definition(const std::vector<std::vector<T>>& values,
                                     const std::vector<std::int32_t>& shift = {}) {
  std::vector<LineStats> stats;
  for (const auto& line : values) stats.push_back(tests::stats_by_definition(tests::as_double(line), shift));
  return stats;
}

std::vector<std::int32_t> random_shift(Rng& rng, std::int64_t length, int range) {
  std::vector<std::int32_t> shift(static_cast<std::size_t>(length));
  for (auto& d : shift) d = tests::random_int(rng, -range, range);
  return shift;
}

const std::int64_t kLineCounts[] = {1, 2, 15, 16, 17, 33};
const std::int64_t kLengths[] = {1, 7, 63, 64, 65, 511, 512, 513, 1100};

template <class T>
void expect_definition(std::uint64_t seed) {
  Rng rng(seed);
  for (const std::int64_t num_lines : kLineCounts) {
    for (const std::int64_t length : kLengths) {
      if (tests::kIsSanitized && num_lines * length > 10000) continue;
      const auto values = tests::random_lines<T>(rng, num_lines, length);
      const auto want = by_definition(values);
      const auto shift = random_shift(rng, length, 1000);
      const auto want_shifted = by_definition(values, shift);
      for (const tests::Storage storage : kStorages) {
        const StoredLines<T> stored(values, storage);
        for (const int threads : {1, 2, 5}) {
          ASSERT_EQ(gather(stored.lines(), {}, threads), want)
              << num_lines << " x " << length << ", storage " << static_cast<int>(storage);
          ASSERT_EQ(gather(stored.lines(), shift, threads), want_shifted) << num_lines << " x " << length;
        }
      }
    }
  }
}

TEST(Statistics, AreTheirDefinition64) { expect_definition<double>(1); }
TEST(Statistics, AreTheirDefinition32) { expect_definition<float>(2); }

TEST(Statistics, KnownValues) {
  const std::vector<std::vector<double>> values = {
      {1.0, 0.0, 0.0}, {3.0, -4.0, 0x1p-60}, {0.0, -0.0, 0.0}, {0x1p-1074, 0.0, 0x3p-1074}};
  const auto stats = gather(StoredLines<double>(values, tests::Storage::kLinePadded).lines(), {}, 1);
  EXPECT_EQ(stats[0], (LineStats{0, 0, std::uint64_t{1} << 28, std::uint64_t{1} << 20, true}));
  // 3/4, 1 and a tiny one that counts one unit.
  EXPECT_EQ(stats[1], (LineStats{2, -60, (9U << 24) + (16U << 24) + 1U, (3U << 18) + (4U << 18) + 1U, true}));
  EXPECT_EQ(stats[2], LineStats{});
  EXPECT_TRUE(stats[2].is_zero());
  EXPECT_EQ(stats[3], (LineStats{-1073, -1074, (std::uint64_t{9} << 26) + (std::uint64_t{1} << 26),
                                 (3U << 19) + (1U << 19), true}));
  EXPECT_EQ(num::span_bits(stats[1]), 62);
  EXPECT_EQ(num::span_bits(stats[2]), 0);
}

TEST(Statistics, EmptyLinesAreZeroLines) {
  const problem::Lines<double> lines{nullptr, 20, 0, 1, 20};
  for (const LineStats& stats : gather(lines, {}, 3)) EXPECT_EQ(stats, LineStats{});
  const problem::Lines<double> none{nullptr, 0, 100, 1, 20};
  EXPECT_TRUE(gather(none, {}, 3).empty());
}

/// x 2^s has exponent and lsb moved by s and the same sums, wherever x 2^s is exact: down into the subnormal numbers
/// and up to 2^1023.
TEST(Statistics, ScaleInvariant) {
  Rng rng(3);
  int compared = 0;
  for (int i = 0; i < tests::cases(3000); ++i) {
    std::vector<double> x(static_cast<std::size_t>(tests::random_int(rng, 1, 40)));
    const int spread = tests::random_int(rng, 0, 200);
    for (double& v : x) v = rng() % 8 == 0 ? 0.0 : tests::random_double(rng, -tests::random_int(rng, 0, spread));
    const LineStats base = gather(StoredLines<double>({x}, tests::Storage::kLineContiguous).lines(), {}, 1)[0];
    if (base.is_zero()) continue;
    for (const int s : {-1000, -1074 - base.lsb, 1023 - base.exponent, 1000, tests::random_int(rng, -1000, 1000)}) {
      if (base.lsb + s < -1074 || base.exponent + s > 1023) continue;
      std::vector<double> y = x;
      for (double& v : y) v = std::ldexp(v, s);
      LineStats want = base;
      want.exponent += s;
      want.lsb += s;
      ASSERT_EQ(gather(StoredLines<double>({y}, tests::Storage::kLineContiguous).lines(), {}, 1)[0], want) << s;
      ++compared;
    }
  }
  EXPECT_GT(compared, tests::cases(6000));
}

template <class T>
void expect_nonfinite(std::uint64_t seed) {
  Rng rng(seed);
  LineStats nonfinite;
  nonfinite.is_finite = false;
  for (const T bad :
       {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity()}) {
    for (const std::int64_t length : {1, 64, 511, 513}) {
      for (const std::int64_t at : {std::int64_t{0}, length / 2, length - 1}) {
        auto values = tests::random_lines<T>(rng, 18, length);
        values[16][static_cast<std::size_t>(at)] = bad;
        const auto want = by_definition(values);
        ASSERT_EQ(want[16], nonfinite);
        for (const tests::Storage storage : kStorages)
          ASSERT_EQ(gather(StoredLines<T>(values, storage).lines(), {}, 2), want);
      }
    }
  }
}
TEST(Statistics, NonfiniteLinesAreMarkedAndAlone64) { expect_nonfinite<double>(4); }
TEST(Statistics, NonfiniteLinesAreMarkedAndAlone32) { expect_nonfinite<float>(5); }

/// The sums bound the norms, exactly.
TEST(Statistics, SumsAreUpperBoundsOfTheNorms) {
  Rng rng(6);
  for (int i = 0; i < tests::cases(400); ++i) {
    const auto values = tests::random_lines<double>(rng, 1, tests::random_int(rng, 1, 50));
    const LineStats s = gather(StoredLines<double>(values, tests::Storage::kLineContiguous).lines(), {}, 1)[0];
    tests::Rational norm1 = 0;
    tests::Rational norm2 = 0;
    for (const double v : values[0]) {
      norm1 += abs(tests::exact(v));
      norm2 += tests::exact(v) * tests::exact(v);
    }
    if (s.is_zero()) {
      ASSERT_EQ(norm1, 0);
      continue;
    }
    ASSERT_LE(tests::scaled(norm1, -s.exponent),
              tests::scaled(tests::Rational(tests::integer(s.sum_abs)), -num::kAbsBits));
    ASSERT_LE(tests::scaled(norm2, -2 * s.exponent),
              tests::scaled(tests::Rational(tests::integer(s.sum_squares)), -2 * num::kSquareBits));
  }
}

// ---- equilibration --------------------------------------------------------------------------------------------------

template <class T>
std::vector<std::int32_t> inner_exponents(const problem::Lines<T>& lines, int threads) {
  std::vector<std::int32_t> exponents(static_cast<std::size_t>(lines.length) + 1, 777);
  gather_inner_exponents(lines, threads, exponents.data());
  EXPECT_EQ(exponents.back(), 777);
  exponents.pop_back();
  return exponents;
}

template <class T>
void expect_inner_exponents(std::uint64_t seed) {
  Rng rng(seed);
  for (const std::int64_t num_lines : kLineCounts) {
    for (const std::int64_t length : kLengths) {
      auto values = tests::random_lines<T>(rng, num_lines, length);
      values[0][0] = std::numeric_limits<T>::quiet_NaN();
      values[0][static_cast<std::size_t>(length - 1)] = std::numeric_limits<T>::infinity();
      std::vector<std::int32_t> want(static_cast<std::size_t>(length), num::kNoExponent);
      for (const auto& line : values) {
        for (std::size_t h = 0; h < want.size(); ++h) {
          if (line[h] != 0 && std::isfinite(line[h])) want[h] = std::max(want[h], std::ilogb(line[h]));
        }
      }
      for (const tests::Storage storage : kStorages) {
        for (const int threads : {1, 3})
          ASSERT_EQ(inner_exponents(StoredLines<T>(values, storage).lines(), threads), want);
      }
    }
  }
}
TEST(InnerExponents, AreTheirDefinition64) { expect_inner_exponents<double>(7); }
TEST(InnerExponents, AreTheirDefinition32) { expect_inner_exponents<float>(8); }

TEST(InnerExponents, NoLinesMeanNoExponent) {
  const problem::Lines<double> none{nullptr, 0, 5, 1, 1};
  for (const std::int32_t e : inner_exponents(none, 2)) EXPECT_EQ(e, num::kNoExponent);
}

/// The definition, in real numbers.
std::vector<std::int32_t> expected_shifts(const std::vector<std::int32_t>& e, const std::vector<std::int32_t>& f) {
  const auto is_live = [&](std::size_t h) { return e[h] != num::kNoExponent && f[h] != num::kNoExponent; };
  double least = 1e9, most = -1e9;
  for (std::size_t h = 0; h < e.size(); ++h) {
    if (!is_live(h)) continue;
    least = std::min(least, static_cast<double>(e[h] - f[h]));
    most = std::max(most, static_cast<double>(e[h] - f[h]));
  }
  std::vector<std::int32_t> d;
  for (std::size_t h = 0; h < e.size(); ++h) {
    const double exact = is_live(h) ? (e[h] - f[h] - (most + least) / 2) / 2 : 0.0;
    const double nearest = std::ceil(std::fabs(exact) - 0.5);  // ties towards zero
    d.push_back(static_cast<std::int32_t>(std::copysign(nearest, exact)));
  }
  return d;
}

TEST(EquilibrationShifts, AreTheirDefinitionAndInvariant) {
  Rng rng(10);
  for (int i = 0; i < tests::cases(2000); ++i) {
    std::vector<std::int32_t> e, f;
    for (int length = tests::random_int(rng, 1, 9); length > 0; --length) {
      const int kind = tests::random_int(rng, 0, 9);
      e.push_back(kind == 0 ? num::kNoExponent : tests::random_int(rng, -1074, 1023));
      f.push_back(kind == 1 ? num::kNoExponent : tests::random_int(rng, -1074, 1023));
    }
    const auto length = static_cast<std::int64_t>(e.size());
    const std::vector<std::int32_t> want = expected_shifts(e, f);
    auto a = e, b = f;
    equilibration_shifts(length, a.data(), b.data());
    ASSERT_EQ(b, want);
    for (std::size_t h = 0; h < e.size(); ++h) ASSERT_EQ(a[h], -want[h]);
    // A times 2^s.
    auto scaled = e;
    const int s = tests::random_int(rng, -50, 50);
    for (auto& x : scaled) x = x == num::kNoExponent ? x : x + s;
    b = f;
    equilibration_shifts(length, scaled.data(), b.data());
    ASSERT_EQ(b, want);
    // Sides exchanged.
    a = e, b = f;
    equilibration_shifts(length, b.data(), a.data());
    ASSERT_EQ(b, want);
  }
}

TEST(EquilibrationShifts, ZeroColumnsAreLeftAlone) {
  std::int32_t a[5] = {num::kNoExponent, 100, num::kNoExponent, -101, 0};
  std::int32_t b[5] = {-900, num::kNoExponent, num::kNoExponent, 100, 0};
  equilibration_shifts(5, a, b);
  for (int h = 0; h < 3; ++h) EXPECT_TRUE(a[h] == 0 && b[h] == 0) << h;
  EXPECT_EQ(b[3], -50);  // (-201 + 100.5) / 2 = -50.25
  EXPECT_EQ(a[3], 50);
  EXPECT_EQ(b[4], 50);
}

/// A = X D and B = D^-1 Y with D = diag(2^d), whatever the d: after equilibration the exponents of a line differ by one
/// at most, so the spread is that of X and Y but for one bit.
TEST(EquilibrationShifts, GradedOperandsBecomeFlat) {
  Rng rng(9);
  for (int i = 0; i < tests::cases(200); ++i) {
    const std::int64_t length = tests::random_int(rng, 1, 90);
    std::vector<std::vector<double>> a(5), b(7);
    std::vector<int> grade(static_cast<std::size_t>(length));
    for (int& d : grade) d = tests::random_int(rng, -500, 500);
    const auto fill = [&](std::vector<std::vector<double>>& lines, int sign) {
      for (auto& line : lines) {
        for (const int d : grade) line.push_back(tests::random_double(rng, sign * d));
      }
    };
    fill(a, 1);
    fill(b, -1);
    const StoredLines<double> stored_a(a, tests::Storage::kLineContiguous);
    const StoredLines<double> stored_b(b, tests::Storage::kInnerContiguous);
    auto shift_a = inner_exponents(stored_a.lines(), 1);
    auto shift_b = inner_exponents(stored_b.lines(), 1);
    equilibration_shifts(length, shift_a.data(), shift_b.data());
    for (std::size_t h = 0; h < grade.size(); ++h) ASSERT_EQ(shift_a[h] + shift_b[h], 0);
    for (const LineStats& s : gather(stored_a.lines(), shift_a, 1)) ASSERT_LE(num::span_bits(s), 53);
    for (const LineStats& s : gather(stored_b.lines(), shift_b, 1)) ASSERT_LE(num::span_bits(s), 53);
  }
}

}  // namespace
}  // namespace kizami::certify
