// SPDX-License-Identifier: MIT
// Certificate digits: floors by definition, and what follows: no sum of products of digits exceeds (|a|.|b|), exactly.
#include "certify/digits.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include "base/int_math.hpp"
#include "certify/statistics.hpp"
#include "tests/certify/stored_lines.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::certify {
namespace {

using num::LineStats;
using tests::exact;
using tests::Integer;
using tests::integer;
using tests::Rational;
using tests::Rng;
using tests::scaled;
using tests::StoredLines;

constexpr std::int8_t kCanary = -77;

template <class T>
std::vector<LineStats> stats_of(const std::vector<std::vector<T>>& values,
                                const std::vector<std::int32_t>& shift = {}) {
  std::vector<LineStats> stats;
  for (const auto& line : values) stats.push_back(tests::stats_by_definition(tests::as_double(line), shift));
  return stats;
}
std::vector<std::int32_t> random_shift(Rng& rng, std::int64_t length) {
  std::vector<std::int32_t> shift(static_cast<std::size_t>(length));
  for (auto& d : shift) d = tests::random_int(rng, -1000, 1000);
  return shift;
}
/// One line holds NaN, another one Inf.
template <class T>
std::vector<std::vector<T>> lines_with_nonfinite(Rng& rng, std::int64_t num_lines, std::int64_t length) {
  auto values = tests::random_lines<T>(rng, num_lines, length);
  if (num_lines > 3) {
    values[1][0] = std::numeric_limits<T>::quiet_NaN();
    values[3][static_cast<std::size_t>(length - 1)] = -std::numeric_limits<T>::infinity();
  }
  return values;
}

TEST(SampleStride, Thresholds) {
  const auto stride_of = [](double spread, std::int64_t num_terms) {
    return sample_stride(static_cast<float>(2 * spread * std::sqrt(static_cast<double>(num_terms))), num_terms);
  };
  for (const double spread : {0.0, 16.0, 31.9, 32.1, 63.9, 64.1, 1e9}) {
    EXPECT_EQ(stride_of(spread, 1), 1);
    EXPECT_EQ(stride_of(spread, 127), 1);
    EXPECT_EQ(stride_of(spread, 128), 2);
    EXPECT_EQ(stride_of(spread, 1023), 2);
    EXPECT_EQ(stride_of(spread, 1024), 4);
    EXPECT_EQ(stride_of(spread, 4095), 4);
    EXPECT_EQ(stride_of(spread, 4096), spread < 32 ? 4 : 8);
    EXPECT_EQ(stride_of(spread, 8191), spread < 32 ? 4 : 8);
    for (const std::int64_t num_terms : {std::int64_t{8192}, std::int64_t{1} << 33})
      EXPECT_EQ(stride_of(spread, num_terms), spread < 32 ? 4 : spread < 64 ? 8 : 16) << spread;
  }
}

template <class T>
void expect_sampled(std::uint64_t seed) {
  Rng rng(seed);
  for (const std::int64_t num_lines : {1, 5, 16, 17}) {
    for (const std::int64_t length : {1, 2, 63, 64, 65, 511, 513, 1030, 2100}) {
      for (const std::int64_t stride : {1, 2, 4}) {
        const auto values = lines_with_nonfinite<T>(rng, num_lines, length);
        const auto stats = stats_of(values);
        const std::int64_t count = base::ceil_div(length, stride);
        const std::int64_t padded = base::round_up(count, 64);
        const std::int64_t row = padded + 64;
        std::vector<std::int8_t> want(static_cast<std::size_t>(num_lines * row), kCanary);
        for (std::int64_t i = 0; i < num_lines; ++i) {
          for (std::int64_t h = 0; h < padded; ++h) {
            const LineStats& s = stats[static_cast<std::size_t>(i)];
            want[static_cast<std::size_t>(i * row + h)] =
                h < count && !s.is_zero()
                    ? static_cast<std::int8_t>(tests::floor_scaled(
                          static_cast<double>(
                              values[static_cast<std::size_t>(i)][static_cast<std::size_t>(h * stride)]),
                          6 - s.exponent))
                    : std::int8_t{0};
          }
        }
        for (const tests::Storage storage : tests::kStorages) {
          std::vector<std::int8_t> got(want.size(), kCanary);
          make_sampled_digits(StoredLines<T>(values, storage).lines(), stats.data(), stride,
                              1 + static_cast<int>(rng() % 3), got.data(), row);
          ASSERT_EQ(got, want) << num_lines << " x " << length << ", stride " << stride;
        }
        for (const std::int8_t d : want) ASSERT_TRUE(d == kCanary || d >= 0);
      }
    }
  }
}
TEST(SampledDigits, AreFloors64) { expect_sampled<double>(1); }
TEST(SampledDigits, AreFloors32) { expect_sampled<float>(2); }

/// kTerms: 2 for complex lines, whose parts share the scale of a block.
template <class T>
void expect_block(std::uint64_t seed) {
  using R = RealOf<T>;
  constexpr std::int64_t kTerms = problem::kTerms<T>;
  constexpr std::int64_t kBlock = kBlockTerms<T>;
  Rng rng(seed);
  int zeroed = 0;
  for (const std::int64_t num_lines : {1, 5, 16, 17}) {
    for (const std::int64_t length : {1, 63, 64, 65, 127, 128, 129, 511, 513, 1030, 4095, 4096, 4100, 4200}) {
      for (const bool is_shifted : {false, true}) {
        const auto values = lines_with_nonfinite<R>(rng, num_lines, length * kTerms);
        const auto shift = is_shifted ? random_shift(rng, length) : std::vector<std::int32_t>{};
        std::vector<std::int32_t> shift_of_terms;
        for (const std::int32_t s : shift) shift_of_terms.insert(shift_of_terms.end(), kTerms, s);
        const auto stats = stats_of(values, shift_of_terms);
        const std::int64_t blocks = base::ceil_div(length, kDigitBlock);
        const std::int64_t row = blocks * kBlock + 64;
        const std::int64_t stride = num_lines + 2;
        std::vector<std::int8_t> want(static_cast<std::size_t>(num_lines * row), kCanary);
        std::vector<float> want_scales(static_cast<std::size_t>(stride * blocks), 200.0F);
        for (std::int64_t i = 0; i < num_lines; ++i) {
          const LineStats& s = stats[static_cast<std::size_t>(i)];
          const auto& line = values[static_cast<std::size_t>(i)];
          for (std::int64_t block = 0; block < blocks; ++block) {
            const std::int64_t begin = block * kBlock;
            const std::int64_t end = std::min(begin + kBlock, length * kTerms);
            // Two blocks of a long real line share a scale.
            const std::int64_t of_scale = kTerms == 1 && length >= 4096 ? 2 * kBlock : kBlock;
            const std::int64_t scale_begin = begin / of_scale * of_scale;
            const std::int64_t scale_end = std::min(scale_begin + of_scale, length * kTerms);
            int exponent = num::kNoExponent;
            for (std::int64_t h = scale_begin; h < scale_end && !s.is_zero(); ++h) {
              const auto at = static_cast<std::size_t>(h);
              if (line[at] != 0)
                exponent = std::max(exponent, std::ilogb(line[at]) + tests::shift_at(shift_of_terms, at));
            }
            const bool is_empty = exponent == num::kNoExponent || s.exponent - exponent > 52;
            zeroed += is_empty && exponent != num::kNoExponent ? 1 : 0;
            want_scales[static_cast<std::size_t>(block * stride + i)] =
                std::ldexp(1.0F, -6 - (is_empty ? 52 : s.exponent - exponent));
            for (std::int64_t h = begin; h < begin + kBlock; ++h) {
              const auto at = static_cast<std::size_t>(h);
              want[static_cast<std::size_t>(i * row + h)] =
                  h < end && !is_empty
                      ? static_cast<std::int8_t>(tests::floor_scaled(
                            static_cast<double>(line[at]), 6 - exponent + tests::shift_at(shift_of_terms, at)))
                      : std::int8_t{0};
            }
          }
        }
        for (const tests::Storage storage : tests::kStorages) {
          if (kTerms == 2 && storage != tests::Storage::kLineContiguous) continue;  // terms of a part are neighbours
          std::vector<std::int8_t> got(want.size(), kCanary);
          std::vector<float> scales(want_scales.size(), 200.0F);
          const StoredLines<R> stored(values, storage);
          problem::Lines<T> lines;
          if constexpr (kTerms == 2) {
            const problem::Lines<R> of_terms = stored.lines();
            lines = {reinterpret_cast<const T*>(of_terms.data), num_lines, length, of_terms.line_stride / 2, 1, false};
            if (of_terms.line_stride % 2 != 0) continue;
          } else {
            lines = stored.lines();
          }
          make_block_digits(lines, stats.data(), is_shifted ? shift.data() : nullptr, 1 + static_cast<int>(rng() % 3),
                            got.data(), row, scales.data(), stride);
          ASSERT_EQ(got, want) << num_lines << " x " << length;
          ASSERT_EQ(scales, want_scales) << num_lines << " x " << length;
        }
      }
    }
  }
  EXPECT_TRUE(zeroed > 0 || sizeof(R) < 8) << "no block far below its line";
}
TEST(BlockDigits, AreFloors64) { expect_block<double>(3); }
TEST(BlockDigits, AreFloors32) { expect_block<float>(4); }
TEST(BlockDigits, PartsShareAScale) { expect_block<std::complex<double>>(5); }

TEST(Indicators, CountNonzeroElementsOfFiniteLines) {
  Rng rng(5);
  for (const std::int64_t length : {1, 64, 65, 513}) {
    const auto values = lines_with_nonfinite<double>(rng, 18, length);
    const auto stats = stats_of(values);
    const std::int64_t row = base::round_up(length, 64) + 64;
    std::vector<std::int8_t> want(static_cast<std::size_t>(18 * row), kCanary);
    for (std::int64_t i = 0; i < 18; ++i) {
      for (std::int64_t h = 0; h < base::round_up(length, 64); ++h) {
        const bool is_one = h < length && stats[static_cast<std::size_t>(i)].is_finite &&
                            values[static_cast<std::size_t>(i)][static_cast<std::size_t>(h)] != 0;
        want[static_cast<std::size_t>(i * row + h)] = is_one ? 1 : 0;
      }
    }
    for (const tests::Storage storage : tests::kStorages) {
      std::vector<std::int8_t> got(want.size(), kCanary);
      make_indicators(StoredLines<double>(values, storage).lines(), stats.data(), 2, got.data(), row);
      ASSERT_EQ(got, want);
    }
  }
}

// ---- lower bounds ---------------------------------------------------------------------------------------------------

struct PairSums {
  Rational exact_sum;  ///< (|a|.|b|) 2^-(e + f)
  Rational sampled;
  Rational block;      ///< of block digits, without rounding
  float floating = 0;  ///< the same as added
};
/// Sums as certify adds them: products of digits; those of blocks in FP32, one after another.
PairSums sums_of(const std::vector<double>& a, const std::vector<double>& b, const std::vector<std::int32_t>& shift_a,
                 const std::vector<std::int32_t>& shift_b, std::int64_t stride) {
  const auto length = static_cast<std::int64_t>(a.size());
  const std::int64_t blocks = base::ceil_div(length, kDigitBlock);
  const std::int64_t row = blocks * kDigitBlock;
  struct Side {
    LineStats stats;
    std::vector<std::int8_t> sampled, block;
    std::vector<float> scales;
  };
  const auto prepare = [&](const std::vector<double>& x, const std::vector<std::int32_t>& shift) {
    const StoredLines<double> stored({x}, tests::Storage::kLineContiguous);
    Side side;
    gather_statistics(stored.lines(), shift.empty() ? nullptr : shift.data(), 1, &side.stats);
    side.sampled.resize(static_cast<std::size_t>(row));
    side.block.resize(static_cast<std::size_t>(row));
    side.scales.resize(static_cast<std::size_t>(blocks));
    if (shift.empty()) make_sampled_digits(stored.lines(), &side.stats, stride, 1, side.sampled.data(), row);
    make_block_digits(stored.lines(), &side.stats, shift.empty() ? nullptr : shift.data(), 1, side.block.data(), row,
                      side.scales.data(), 1);
    return side;
  };
  const Side x = prepare(a, shift_a);
  const Side y = prepare(b, shift_b);
  PairSums sums;
  if (x.stats.is_zero() || y.stats.is_zero()) return sums;
  std::uint64_t sampled = 0;
  for (std::size_t h = 0; h < x.sampled.size(); ++h) sampled += static_cast<std::uint64_t>(x.sampled[h] * y.sampled[h]);
  sums.sampled = scaled(Rational(integer(sampled)), -12);
  for (std::int64_t block = 0; block < blocks; ++block) {
    std::int32_t sum = 0;
    for (std::int64_t h = block * kDigitBlock; h < (block + 1) * kDigitBlock; ++h)
      sum += x.block[static_cast<std::size_t>(h)] * y.block[static_cast<std::size_t>(h)];
    EXPECT_LT(sum, 1 << 20);
    const float scale = x.scales[static_cast<std::size_t>(block)] * y.scales[static_cast<std::size_t>(block)];
    sums.floating += static_cast<float>(sum) * scale;
    sums.block += Rational(integer(static_cast<std::uint64_t>(sum))) * Rational(exact(static_cast<double>(scale)));
  }
  for (std::size_t h = 0; h < a.size(); ++h) {
    const int e = tests::shift_at(shift_a, h) + tests::shift_at(shift_b, h) - x.stats.exponent - y.stats.exponent;
    sums.exact_sum += scaled(abs(Rational(exact(a[h]) * exact(b[h]))), e);
  }
  return sums;
}

TEST(DigitSums, NeverExceedTheExactValue) {
  Rng rng(6);
  int positive = 0;
  for (int i = 0; i < tests::cases(1500); ++i) {
    const std::int64_t length = tests::random_int(rng, 1, 300);
    const auto a = tests::random_lines<double>(rng, 1, length)[0];
    const auto b = tests::random_lines<double>(rng, 1, length)[0];
    const bool is_shifted = rng() % 3 == 0;
    const auto shift_a = is_shifted ? random_shift(rng, length) : std::vector<std::int32_t>{};
    auto shift_b = shift_a;
    for (auto& d : shift_b) d = -d;
    const PairSums sums = sums_of(a, b, shift_a, shift_b, std::int64_t{1} << tests::random_int(rng, 0, 4));
    ASSERT_LE(sums.sampled, sums.exact_sum);
    ASSERT_LE(sums.block, sums.exact_sum);
    // Theorems 1 and 2 of docs/accuracy/certificate.md: what the roundings of the sum change, and that blocks see all
    // that a sample sees.
    const Rational gamma(exact(num::block_sum_error(length)));
    const Rational floating(exact(static_cast<double>(sums.floating)));
    ASSERT_LE(abs(Rational(floating - sums.block)), Rational(gamma * sums.block));
    ASSERT_LE(sums.sampled, sums.block);
    positive += sums.block > 0 ? 1 : 0;
  }
  EXPECT_GT(positive, tests::cases(1500) / 4) << "a bound that is always zero proves nothing";
}

/// Where every digit is exact, small integers, the sums are not merely bounds.
TEST(DigitSums, SmallIntegersAreExact) {
  Rng rng(7);
  for (int i = 0; i < tests::cases(200); ++i) {
    const std::int64_t length = tests::random_int(rng, 1, 127);
    std::vector<double> a(static_cast<std::size_t>(length)), b(a.size());
    for (double& v : a) v = tests::random_int(rng, -127, 127);
    for (double& v : b) v = tests::random_int(rng, -127, 127);
    a[0] = 127;
    b[0] = -127;
    const PairSums sums = sums_of(a, b, {}, {}, 1);
    ASSERT_EQ(sums.sampled, sums.exact_sum);
  }
}

}  // namespace
}  // namespace kizami::certify
