// SPDX-License-Identifier: MIT
// The integer arithmetic that product kernels do in their own words, against the definitions: residues without
// division, and division by the numbers that a launch brings.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "engines/modulus_constants.hpp"
#include "engines/product_case.hpp"
#include "engines/tile_order.hpp"
#include "num/modular.hpp"

namespace kizami::engines {
namespace {

constexpr std::int64_t kShortLimit = std::int64_t{1} << 30;

/// Sums in [-limit, limit] that are interesting for p: the ends, and around multiples and half multiples of p.
std::vector<std::int32_t> probes(int p, std::int64_t limit) {
  std::vector<std::int64_t> xs;
  for (std::int64_t d = 0; d <= 3 * p + 3; ++d) {
    for (const std::int64_t x : {-limit + d, limit - d, -d, d}) xs.push_back(x);
  }
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const auto x = static_cast<std::int64_t>(testing::hash(i) >> 32) - (std::int64_t{1} << 31);
    const std::int64_t multiple = x / p * p;
    for (const std::int64_t d : {-1, 0, 1}) {
      for (const std::int64_t half : {0, p / 2, (p + 1) / 2}) xs.push_back(multiple + half + d);
    }
  }
  // The last multiples and half multiples before the ends, where the error of the reciprocal is largest.
  for (std::int64_t i = 0; i < 2000; ++i) {
    for (const std::int64_t half : {0, p / 2, (p + 1) / 2}) {
      xs.push_back((limit / p - i) * p + half);
      xs.push_back(-(limit / p - i) * p - half);
    }
  }
  std::vector<std::int32_t> result;
  for (const std::int64_t x : xs) {
    if (x >= -limit && x <= std::min<std::int64_t>(limit, std::numeric_limits<std::int32_t>::max())) {
      result.push_back(static_cast<std::int32_t>(x));
    }
  }
  return result;
}

TEST(HopperResidue, LongWayEveryModulus) {
  for (int p = 2; p <= 256; ++p) {
    const ModulusConstants constants = modulus_constants(p);
    for (const std::int32_t x : probes(p, std::int64_t{1} << 31)) {
      ASSERT_EQ(symmetric_residue(x, constants), num::symmetric_residue(x, p)) << "x = " << x << " p = " << p;
    }
  }
}

TEST(HopperResidue, ShortWayWhereItIsOffered) {
  int num_short = 0;
  for (int p = 2; p <= 256; ++p) {
    const ModulusConstants constants = modulus_constants(p);
    EXPECT_EQ(constants.short_shift != 0, p == 256 || (p % 2 != 0 && p >= 5)) << p;
    if (constants.short_shift == 0) continue;
    ++num_short;
    for (const std::int32_t x : probes(p, kShortLimit)) {
      ASSERT_EQ(static_cast<std::int8_t>(short_residue(x, constants)), num::symmetric_residue(x, p))
          << "x = " << x << " p = " << p;
    }
  }
  EXPECT_EQ(num_short, 127);
}

TEST(HopperDivider, FloorsLikeDivision) {
  const auto divide = [](std::uint32_t x, const Divider& by) {
    return by.divisor == 1 ? x : static_cast<std::uint32_t>((std::uint64_t{x} * by.multiplier) >> 32) >> by.shift;
  };
  std::vector<std::uint32_t> divisors;
  for (std::uint32_t d = 1; d < 3000; ++d) divisors.push_back(d);
  for (std::uint32_t bit = 12; bit < 31; ++bit) {
    for (const std::uint32_t d : {(1U << bit) - 1, 1U << bit, (1U << bit) + 1}) divisors.push_back(d);
  }
  divisors.push_back(0x7FFFFFFF);
  for (const std::uint32_t d : divisors) {
    const Divider by = make_divider(d);
    ASSERT_EQ(by.divisor, d);
    std::vector<std::uint32_t> xs = {
        0, 1, d - 1, d, 0x7FFFFFFF, 0x7FFFFFFE, 0x7FFFFFFF / d * d, 0x7FFFFFFF / d * d - 1};
    for (std::uint64_t i = 0; i < 50; ++i) {
      const auto x = static_cast<std::uint32_t>(testing::hash(i * 4096 + d) >> 33);
      xs.push_back(x);
      xs.push_back(x / d * d);
      if (x >= d) xs.push_back(x / d * d - 1);
    }
    for (const std::uint32_t x : xs) ASSERT_EQ(divide(x, by), x / d) << x << " / " << d;
  }
}

}  // namespace
}  // namespace kizami::engines
