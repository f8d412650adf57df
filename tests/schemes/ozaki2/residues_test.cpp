// SPDX-License-Identifier: MIT
// Residue planes against their definition: a' = rint(x 2^(s + d)) by MPFR, its symmetric residue by GMP. Every number
// of moduli, every limb path, every instruction set gives these bytes and touches no others.
#include "schemes/ozaki2/residues.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/int_math.hpp"
#include "certify/statistics.hpp"
#include "num/crt_table.hpp"
#include "num/moduli.hpp"
#include "schemes/ozaki2/ladder.hpp"
#include "tests/certify/simd_targets.hpp"
#include "tests/certify/stored_lines.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::ozaki2 {
namespace {

using num::LineStats;
using tests::Integer;
using tests::Rng;
using tests::StoredLines;

constexpr std::int8_t kCanary = 99;

struct Planes {
  std::int64_t row_stride;
  std::int64_t plane_stride;
  std::vector<std::int8_t> bytes;
  friend bool operator==(const Planes&, const Planes&) = default;
};
Planes make_planes(std::int64_t num_lines, std::int64_t length, int num_moduli, std::int64_t gap) {
  Planes planes;
  planes.row_stride = base::round_up(length, 64) + 64 * gap;
  planes.plane_stride = num_lines * planes.row_stride + 64 * gap;
  planes.bytes.assign(static_cast<std::size_t>(num_moduli * planes.plane_stride + 1), kCanary);
  return planes;
}

template <class T>
Planes by_definition(const std::vector<std::vector<T>>& values, const std::vector<LineStats>& stats,
                     const std::vector<std::int32_t>& shift, std::int64_t first, std::int64_t length,
                     const num::Rung& rung, std::int64_t gap) {
  Planes planes = make_planes(static_cast<std::int64_t>(values.size()), length, rung.num_moduli, gap);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int scale = stats[i].is_zero() ? 0 : num::scale_bits(rung, stats[i].sum_squares) - stats[i].exponent;
    for (std::int64_t h = 0; h < base::round_up(length, 64); ++h) {
      Integer x = 0;
      if (h < length && !stats[i].is_zero()) {
        const auto at = static_cast<std::size_t>(first + h);
        x = tests::rint_scaled(static_cast<double>(values[i][at]), scale + tests::shift_at(shift, at));
      }
      for (int l = 0; l < rung.num_moduli; ++l) {
        const std::int64_t place = l * planes.plane_stride + static_cast<std::int64_t>(i) * planes.row_stride + h;
        planes.bytes[static_cast<std::size_t>(place)] =
            static_cast<std::int8_t>(tests::residue_by_definition(x, num::kRealModuli[static_cast<std::size_t>(l)]));
      }
    }
  }
  return planes;
}

template <class T>
Planes computed(const problem::Lines<T>& lines, const std::vector<LineStats>& stats,
                const std::vector<std::int32_t>& shift, std::int64_t first, std::int64_t length, const num::Rung& rung,
                std::int64_t gap, int threads) {
  Planes planes = make_planes(lines.num_lines, length, rung.num_moduli, gap);
  make_residue_planes(lines, stats.data(), shift.empty() ? nullptr : shift.data(), first, length, rung, threads,
                      planes.bytes.data(), planes.row_stride, planes.plane_stride);
  return planes;
}

template <class T>
std::vector<LineStats> stats_of(const std::vector<std::vector<T>>& values, const std::vector<std::int32_t>& shift) {
  std::vector<LineStats> stats;
  for (const auto& line : values) stats.push_back(tests::stats_by_definition(tests::as_double(line), shift));
  return stats;
}

template <class T>
void expect_definition(std::uint64_t seed, int num_moduli, std::int64_t num_lines, std::int64_t total,
                       std::int64_t first, std::int64_t length, bool is_shifted) {
  Rng rng(seed);
  auto values = tests::random_lines<T>(rng, num_lines, total);
  if (num_lines > 2) values[1][static_cast<std::size_t>(total / 2)] = std::numeric_limits<T>::quiet_NaN();
  std::vector<std::int32_t> shift;
  if (is_shifted) {
    for (std::int64_t h = 0; h < total; ++h) shift.push_back(tests::random_int(rng, -1100, 1100));
  }
  const auto stats = stats_of(values, shift);
  const num::Rung rung = make_rung(num::Ring::kReal, num_moduli, std::max<std::int64_t>(total, 1), 0.0);
  const std::int64_t gap = static_cast<std::int64_t>(rng() % 3);
  const Planes want = by_definition(values, stats, shift, first, length, rung, gap);
  for (const tests::Storage storage : tests::kStorages) {
    if (tests::kIsSanitized && storage != tests::Storage::kLinePadded) continue;
    const StoredLines<T> stored(values, storage);
    for (const int threads : {1, 4}) {
      ASSERT_EQ(computed(stored.lines(), stats, shift, first, length, rung, gap, threads), want)
          << "N = " << num_moduli << ", " << num_lines << " x " << total << " from " << first << " on " << length;
    }
  }
}

TEST(ResiduePlanes, EveryNumberOfModuli64) {
  for (int n = num::kMinModuli; n <= num::kMaxRealModuli; ++n) {
    for (const bool is_shifted : {false, true})
      expect_definition<double>(static_cast<std::uint64_t>(n), n, 5, 70, 0, 70, is_shifted);
  }
}
TEST(ResiduePlanes, EveryNumberOfModuli32) {
  for (int n = num::kMinModuli; n <= num::kMaxRealModuli; ++n) {
    for (const bool is_shifted : {false, true})
      expect_definition<float>(static_cast<std::uint64_t>(n), n, 5, 70, 0, 70, is_shifted);
  }
}

TEST(ResiduePlanes, ShapesAroundEveryTileEdge) {
  std::uint64_t seed = 100;
  for (const std::int64_t num_lines : {1, 15, 16, 17, 33}) {
    for (const std::int64_t length : {1, 63, 64, 65, 511, 512, 513, 580}) {
      if (num_lines * length > (tests::kIsSanitized ? 2000 : 10000)) continue;
      ++seed;
      expect_definition<double>(seed, 7, num_lines, length, 0, length, seed % 2 == 0);
    }
  }
}

TEST(ResiduePlanes, PartsOfLines) {
  std::uint64_t seed = 200;
  for (const std::int64_t first : {0, 1, 64, 512, 700}) {
    for (const std::int64_t length : {1, 64, 200, 520}) {
      for (const bool is_shifted : {false, true}) {
        ++seed;
        expect_definition<double>(seed, 5, 3, first + length + static_cast<std::int64_t>(seed % 3), first, length,
                                  is_shifted);
      }
    }
  }
}

/// Lines of one element carry the largest integers: with 49 moduli 170 bits, four limbs.
TEST(ResiduePlanes, LargestIntegers) {
  Rng rng(300);
  std::set<int> bits;
  for (int n = num::kMinModuli; n <= num::kMaxRealModuli; ++n) {
    const num::Rung rung = make_rung(num::Ring::kReal, n, 1, 0.0);
    std::vector<std::vector<double>> values;
    for (int i = 0; i < 60; ++i) values.push_back({tests::random_double(rng, tests::random_int(rng, -1022, 1023))});
    values.push_back({0x1p-1074});
    values.push_back({std::numeric_limits<double>::max()});
    const auto stats = stats_of(values, {});
    for (const LineStats& s : stats) bits.insert(num::scale_bits(rung, s.sum_squares));
    const StoredLines<double> stored(values, tests::Storage::kLineContiguous);
    ASSERT_EQ(computed(stored.lines(), stats, {}, 0, 1, rung, 1, 2), by_definition(values, stats, {}, 0, 1, rung, 1))
        << n;
  }
  EXPECT_EQ(*bits.rbegin(), 170);
  EXPECT_LT(*bits.begin(), 8);
}

TEST(LineScale, IsScaleBitsMinusExponent) {
  const num::Rung rung = make_rung(num::Ring::kReal, 14, 100, 0.0);
  const LineStats stats = tests::stats_by_definition({3.0, -5.0, 0x1p-30});
  EXPECT_EQ(line_scale(rung, stats), num::scale_bits(rung, stats.sum_squares) - 2);
  EXPECT_EQ(line_scale(rung, LineStats{}), 0);
}

// ---- residue_row ----------------------------------------------------------------------------------------------------

/// Integers where limbs, quotients and residues turn: near 2^e, near (m + 1/2) 2^44 and 2^88, near multiples of p and
/// the halves between them; and fractions where rint ties.
std::vector<double> row_of(Rng& rng, int max_bits) {
  std::vector<double> x;
  const double limit = std::ldexp(1.0, max_bits);
  while (x.size() < 512) {
    double v = 0;
    switch (rng() % 7) {
      case 0:
        v = tests::random_double(rng, tests::random_int(rng, -3, max_bits - 1));
        break;
      case 1:
        v = std::nextafter(std::ldexp(1.0, tests::random_int(rng, 0, max_bits)), rng() % 2 == 0 ? 0.0 : limit);
        break;
      case 2:
        v = (static_cast<double>(rng() % 1024) + 0.5) * (max_bits > 100 ? 0x1p88 : 0x1p44) +
            static_cast<double>(tests::random_int(rng, -3, 3));
        break;
      case 3: {
        const double p = num::kRealModuli[rng() % 28];
        v = p * std::floor(std::ldexp(static_cast<double>(rng() >> 11), -tests::random_int(rng, 0, 52))) +
            (rng() % 2 == 0 ? 0 : std::floor(p / 2)) + tests::random_int(rng, -1, 1);
        break;
      }
      case 4:
        v = static_cast<double>(tests::random_int(rng, -2000, 2000)) / 2;
        break;  // ties
      case 5:
        v = std::nextafter(std::ldexp(1.0, max_bits), 0.0);
        break;  // the largest
      default:
        v = 0x1p52 + static_cast<double>(tests::random_int(rng, -8, 8)) / 2;
        break;  // where FP64 ends to have fractions
    }
    if (rng() % 2 == 0) v = -v;
    if (std::fabs(v) < limit) x.push_back(v);
  }
  return x;
}

TEST(ResidueRow, EveryTargetEveryLimbPath) {
  Rng rng(301);
  std::set<std::string> names;
  const int targets = tests::for_each_simd_target([&](const std::string& name) {
    EXPECT_EQ(residue_row_target(), name) << "the forced target runs";
    names.insert(residue_row_target());
    for (const int max_bits :
         {1, 8, 30, 52, 53, 55, 56, 57, 80, 99, 100, 101, 107, 120, 140, 141, 143, 144, 145, 172, 184}) {
      const std::vector<double> integers = row_of(rng, max_bits);
      const int up = tests::random_int(rng, -300, 300);  // stored as x 2^-up, multiplied by 2^up in two factors
      std::vector<double> x = integers;
      for (double& v : x) v = std::ldexp(v, -up);
      std::vector<std::int8_t> got(49 * 576, kCanary);
      residue_row(x.data(), 512, std::ldexp(1.0, up / 2), std::ldexp(1.0, up - up / 2), max_bits,
                  num::kRealModuli.data(), 49, got.data(), 576);
      for (int l = 0; l < 49; ++l) {
        for (std::size_t h = 0; h < 576; ++h) {
          const int want = h < 512 ? tests::residue_by_definition(tests::rint_scaled(integers[h], 0),
                                                                  num::kRealModuli[static_cast<std::size_t>(l)])
                                   : kCanary;
          ASSERT_EQ(got[static_cast<std::size_t>(l) * 576 + h], want)
              << name << ", max_bits = " << max_bits << ", p = " << num::kRealModuli[static_cast<std::size_t>(l)]
              << ", x = " << integers[h];
        }
      }
    }
  });
  EXPECT_EQ(static_cast<int>(names.size()), targets);
#if defined(__x86_64__)
  EXPECT_TRUE(names.contains("SSE2") || names.contains("SSE4") || names.contains("SSSE3")) << "a target without FMA";
#endif
}

/// Whole planes, statistics included, on every target.
TEST(ResiduePlanes, EveryTarget) {
  tests::for_each_simd_target([&](const std::string&) {
    expect_definition<double>(400, 28, 3, 100, 0, 100, false);
    expect_definition<double>(401, 20, 3, 513, 0, 513, true);
    expect_definition<float>(402, 9, 3, 100, 0, 100, true);
  });
}

}  // namespace
}  // namespace kizami::ozaki2
