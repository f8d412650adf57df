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

TEST(HopperResidue, OfSumsWithAndWithoutSign) {
  int num_moduli = 0;
  for (int p = 2; p <= 256; ++p) {
    EXPECT_EQ(has_modulus_constants(p), p == 256 || p % 2 != 0) << p;
    if (!has_modulus_constants(p)) continue;
    ++num_moduli;
    for (const bool has_sign : {false, true}) {
      const ModulusConstants constants = modulus_constants(p, has_sign);
      const auto expect_right = [&](std::uint32_t word) {
        const std::int64_t x = has_sign ? std::int64_t{static_cast<std::int32_t>(word)} : std::int64_t{word};
        ASSERT_EQ(symmetric_residue(word, has_sign, constants), num::symmetric_residue(x, p))
            << "x = " << x << " p = " << p;
      };
      for (const std::int32_t x : probes(p, std::int64_t{1} << 31)) expect_right(static_cast<std::uint32_t>(x));
      // Where y is at its ends: the error of the quotient is largest there.
      for (const bool takes_most : {false, true}) {
        std::uint32_t ends = 0;
        for (int i = 1; i < 4; ++i) {
          if ((fold_weight(p, i) > 0) == takes_most) ends |= 0xFFU << (8 * i);
        }
        for (std::uint32_t low = 0; low < 256; ++low) expect_right((ends | low) ^ (has_sign ? 0x80000000U : 0U));
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_EQ(num_moduli, 128);
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
