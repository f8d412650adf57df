// SPDX-License-Identifier: MIT
// Digits of sums as the kernel for signs on a device makes them: products in any order, carried at any time, against
// rationals.
#include "num/long_accumulator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "num/exact_numbers.hpp"

namespace kizami::num {
namespace {

using tests::exact;
using tests::Rational;
using Products = std::vector<std::pair<double, double>>;

double any_number(std::mt19937_64& rng) {
  const std::uint64_t bits = rng() & ~(std::uint64_t{1} << 62 & rng());  // all exponents, subnormal numbers among them
  const double x = std::bit_cast<double>(bits);
  return std::isfinite(x) ? x : 1.5;
}

int sign_by_digits(const Products& products, std::mt19937_64& rng) {
  std::array<std::int64_t, LongAccumulator::kNumDigits> digits{};
  for (const auto& [x, y] : products) {
    const LongAccumulator::Addend addend = LongAccumulator::addend_of(x, y);
    for (int p = 0; p < LongAccumulator::Addend::kCount; ++p)
      digits[static_cast<std::size_t>(addend.first + p)] += addend.parts[p];
    if (rng() % 8 == 0) LongAccumulator::carry_digits(digits.data());
  }
  LongAccumulator::carry_digits(digits.data());
  return LongAccumulator::sign_of_digits(digits.data());
}

TEST(LongAccumulator, SignsOfSumsThatCancel) {
  std::mt19937_64 rng(1);
  int signs[3] = {};
  for (int round = 0; round < tests::cases(2000); ++round) {
    Products products;
    for (std::uint64_t count = rng() % 6; count > 0; --count) products.emplace_back(any_number(rng), any_number(rng));
    for (std::size_t i = products.size(); i > 0; --i)
      products.emplace_back(-products[i - 1].second, products[i - 1].first);
    if (rng() % 4 != 0) products.emplace_back(any_number(rng), std::ldexp(1.0, -static_cast<int>(rng() % 1075)));
    std::shuffle(products.begin(), products.end(), rng);
    Rational sum = 0;
    LongAccumulator whole;
    for (const auto& [x, y] : products) {
      sum += exact(x) * exact(y);
      whole.add_product(x, y);
    }
    EXPECT_EQ(sign_by_digits(products, rng), sgn(sum));
    EXPECT_EQ(whole.sign(), sgn(sum));
    ++signs[sgn(sum) + 1];
  }
  EXPECT_TRUE(signs[0] > 0 && signs[1] > 0 && signs[2] > 0);
}

}  // namespace
}  // namespace kizami::num
