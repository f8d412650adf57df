// SPDX-License-Identifier: MIT
// CRT constants against GMP: products, weights, digits, and the sums that reconstruct an integer from its residues.
#include "num/crt.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <cstdint>
#include <utility>

#include "num/crt_table.hpp"
#include "tests/num/crt_digits.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::num {
namespace {

using tests::Integer;
using tests::integer;
using tests::Rational;
using tests::reassemble;
using tests::Rng;

template <std::size_t S>
Integer product_of(const std::array<std::int16_t, S>& moduli, int count) {
  Integer product = 1;
  for (int l = 0; l < count; ++l) product *= moduli[static_cast<std::size_t>(l)];
  return product;
}

template <int N, std::size_t S>
void expect_basis(const std::array<std::int16_t, S>& moduli) {
  SCOPED_TRACE(N);
  const CrtConstants<N> crt = make_crt<N>(moduli);
  EXPECT_TRUE(is_crt_basis(crt, moduli));
  const Integer product = product_of(moduli, N);
  EXPECT_EQ(integer(crt.product), product);
  EXPECT_EQ(integer(crt.half), Integer((product - 1) / 2));
  for (int l = 0; l < N; ++l) {
    const Integer weight = integer(crt.weights[static_cast<std::size_t>(l)]);
    EXPECT_GE(weight, 0);
    EXPECT_LT(weight, product);
    for (int j = 0; j < N; ++j)
      EXPECT_EQ(Integer(weight % Integer(moduli[static_cast<std::size_t>(j)])), l == j ? 1 : 0) << l << ", " << j;
  }
}

template <int... N>
void expect_real_bases(std::integer_sequence<int, N...>) {
  (expect_basis<N + 1>(kRealModuli), ...);
}
template <int... N>
void expect_complex_bases(std::integer_sequence<int, N...>) {
  (expect_basis<N + 1>(kComplexModuli), ...);
}

TEST(Crt, EveryNumberOfRealModuli) { expect_real_bases(std::make_integer_sequence<int, 49>{}); }
TEST(Crt, EveryNumberOfComplexModuli) { expect_complex_bases(std::make_integer_sequence<int, 27>{}); }

/// A basis with one weight off by one is refused: the proof at compile time can fail.
TEST(Crt, BasisTestSeesOneWrongBit) {
  CrtConstants<5> crt = make_crt<5>(kRealModuli);
  crt.weights[3].limb[0] ^= 1;
  EXPECT_FALSE(is_crt_basis(crt, kRealModuli));
}

TEST(CrtTable, DigitsReassembleToTheConstants) {
  for (int n = kMinModuli; n <= kMaxRealModuli; ++n) {
    SCOPED_TRACE(n);
    const CrtTable& table = crt_table(Ring::kReal, n);
    ASSERT_EQ(table.num_moduli, n);
    const Integer product = product_of(kRealModuli, n);
    EXPECT_EQ(reassemble(table.product, table.num_digits), product);
    EXPECT_EQ(integer(table.product_wide), product);
    EXPECT_EQ(integer(table.half_wide), Integer((product - 1) / 2));
    EXPECT_LE(table.num_digits, kMaxCrtDigits);
    // Room for a sign: the remainder of +-0.51 P lies within the digits, and the narrow path needs P < 2^126 up to 16.
    EXPECT_LT(product * 2, tests::power_of_two(static_cast<unsigned>(kCrtDigitBits * table.num_digits + 1)));
    EXPECT_LT(product, tests::power_of_two(n <= 16 ? 126 : 382));
    Integer largest_digit_sum = 0;
    for (int l = 0; l < n; ++l) {
      const Integer weight = reassemble(table.weight[l], table.num_digits);
      const int p = kRealModuli[static_cast<std::size_t>(l)];
      for (int j = 0; j < n; ++j) EXPECT_EQ(Integer(weight % kRealModuli[static_cast<std::size_t>(j)]), l == j ? 1 : 0);
      EXPECT_LT(weight, product);
      // |fraction - w/P| <= 2^-50 w/P: what the quotient of crt_digits builds on.
      const Rational error = abs(tests::exact(table.fraction[l]) * product - weight);
      EXPECT_LE(tests::scaled(error, 50), Rational(weight)) << l;
      largest_digit_sum += (p / 2) * (tests::power_of_two(kCrtDigitBits) - 1);
    }
    EXPECT_LT(largest_digit_sum, tests::power_of_two(48));
  }
}

/// The first caller makes a table, in whatever modes it runs.
TEST(CrtTable, IsMadeInTheModesOfTheLibrary) {
  constexpr int kCount = 23;
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const CrtTable& table = crt_table(Ring::kReal, kCount);
  ASSERT_EQ(std::fesetround(FE_TONEAREST), 0);
  const CrtConstants<kCount> crt = make_crt<kCount>(kRealModuli);
  for (int l = 0; l < kCount; ++l) {
    EXPECT_EQ(table.fraction[l],
              to_double_down(crt.weights[static_cast<std::size_t>(l)]) / to_double_down(crt.product));
  }
}

/// The definition x = sum w_l r_l (mod P) in big integers: the weights rebuild every integer from its symmetric
/// residues.
TEST(CrtTable, WeightsRebuildIntegers) {
  Rng rng(6);
  for (int n = kMinModuli; n <= kMaxRealModuli; ++n) {
    const CrtTable& table = crt_table(Ring::kReal, n);
    const Integer product = integer(table.product_wide);
    const Integer half = integer(table.half_wide);
    for (int i = 0; i < tests::cases(200); ++i) {
      Integer x = tests::random_below(rng, 2 * half + 1) - half;
      if (i == 0) x = half;
      if (i == 1) x = -half;
      Integer sum = 0;
      for (int l = 0; l < n; ++l) {
        sum += tests::residue_by_definition(x, kRealModuli[static_cast<std::size_t>(l)]) *
               reassemble(table.weight[l], table.num_digits);
      }
      Integer rest;
      mpz_fdiv_r(rest.get_mpz_t(), sum.get_mpz_t(), product.get_mpz_t());
      if (rest > half) rest -= product;
      ASSERT_EQ(rest, x) << n;
    }
  }
}

}  // namespace
}  // namespace kizami::num
