// SPDX-License-Identifier: MIT
// CRT tables of Z[i] against GMP: the weights of both parts rebuild every complex integer from its planes, for every
// number of moduli.
#include <gtest/gtest.h>

#include <cstdint>

#include "num/crt_table.hpp"
#include "tests/num/complex_integers.hpp"
#include "tests/num/crt_digits.hpp"

namespace kizami::num {
namespace {

using tests::ComplexInteger;
using tests::Integer;
using tests::integer;
using tests::Rational;
using tests::reassemble;
using tests::Rng;

constexpr Part kParts[] = {Part::kReal, Part::kImaginary};

TEST(ComplexModuli, HaveTheRootsAndPlanesTheyClaim) {
  int plane = 0;
  for (int l = 0; l < kMaxComplexModuli; ++l) {
    const int p = modulus(Ring::kComplex, l);
    EXPECT_EQ(p, kComplexModuli[static_cast<std::size_t>(l)]);
    EXPECT_EQ(sqrt_minus_one(p), tests::root_by_definition(p));
    EXPECT_TRUE(l >= kTwoProductModuli || sqrt_minus_one(p) != 0) << p;
    EXPECT_EQ(num_planes(Ring::kComplex, l), plane);
    for (int i = 0; i < planes_of_modulus(Ring::kComplex, l); ++i, ++plane)
      EXPECT_EQ(modulus_number(Ring::kComplex, plane), l) << plane;
  }
  EXPECT_EQ(plane, kMaxPlanes);
}

TEST(ComplexCrtTable, DigitsAndFractionsAreThoseOfTheWeights) {
  for (int n = kMinModuli; n <= kMaxComplexModuli; ++n) {
    for (const Part part : kParts) {
      SCOPED_TRACE(n);
      const CrtTable& table = crt_table(Ring::kComplex, n, part);
      ASSERT_EQ(table.num_moduli, n);
      ASSERT_EQ(table.num_planes, num_planes(Ring::kComplex, n));
      Integer product = 1;
      for (int l = 0; l < n; ++l) product *= kComplexModuli[static_cast<std::size_t>(l)];
      EXPECT_EQ(reassemble(table.product, table.num_digits), product);
      EXPECT_EQ(integer(table.product_wide), product);
      EXPECT_EQ(integer(table.half_wide), Integer((product - 1) / 2));
      EXPECT_LT(product * 2, tests::power_of_two(static_cast<unsigned>(kCrtDigitBits * table.num_digits + 1)));
      Integer largest_digit_sum = 0;
      for (int q = 0; q < table.num_planes; ++q) {
        const Integer weight = reassemble(table.weight[q], table.num_digits);
        const int own = modulus_number(Ring::kComplex, q);
        EXPECT_LT(weight, product);
        for (int l = 0; l < n; ++l) {
          if (l == own) continue;
          EXPECT_EQ(Integer(weight % kComplexModuli[static_cast<std::size_t>(l)]), 0) << q << ", " << l;
        }
        const Rational error = abs(tests::exact(table.fraction[q]) * product - weight);
        EXPECT_LE(tests::scaled(error, 50), Rational(weight)) << q;
        largest_digit_sum += (modulus(Ring::kComplex, own) / 2) * (tests::power_of_two(kCrtDigitBits) - 1);
      }
      EXPECT_LT(largest_digit_sum, tests::power_of_two(49));
    }
  }
}

/// A number with both parts up to (P - 1) / 2 in magnitude, the ends among them.
ComplexInteger random_number(Rng& rng, const Integer& half) {
  const auto part = [&]() -> Integer {
    switch (rng() % 6) {
      case 0:
        return half;
      case 1:
        return -half;
      case 2:
        return tests::random_int(rng, -3, 3);
      default:
        return tests::random_below(rng, 2 * half + 1) - half;
    }
  };
  Integer re = part();
  return {re, part()};
}

Integer rebuilt(const CrtTable& table, const std::vector<int>& planes) {
  Integer sum = 0;
  for (int q = 0; q < table.num_planes; ++q)
    sum += planes[static_cast<std::size_t>(q)] * reassemble(table.weight[q], table.num_digits);
  const Integer product = integer(table.product_wide);
  Integer rest;
  mpz_fdiv_r(rest.get_mpz_t(), sum.get_mpz_t(), product.get_mpz_t());
  return rest > integer(table.half_wide) ? Integer(rest - product) : rest;
}

TEST(ComplexCrtTable, WeightsRebuildBothParts) {
  Rng rng(21);
  for (int n = kMinModuli; n <= kMaxComplexModuli; ++n) {
    const CrtTable& real = crt_table(Ring::kComplex, n, Part::kReal);
    const CrtTable& imaginary = crt_table(Ring::kComplex, n, Part::kImaginary);
    for (int t = 0; t < tests::cases(100); ++t) {
      const ComplexInteger x = random_number(rng, integer(real.half_wide));
      std::vector<int> planes;
      for (int l = 0; l < n; ++l) {
        const auto of_modulus = tests::product_planes(rng, x, l);
        planes.insert(planes.end(), of_modulus.begin(), of_modulus.begin() + planes_of_modulus(Ring::kComplex, l));
      }
      ASSERT_EQ(rebuilt(real, planes), x.re) << n;
      ASSERT_EQ(rebuilt(imaginary, planes), x.im) << n;
    }
  }
}

/// Products plane by plane are the planes of the product.
TEST(ComplexCrtTable, ProductsOfPlanesRebuildTheProduct) {
  Rng rng(22);
  for (int n = kMinModuli; n <= kMaxComplexModuli; ++n) {
    const CrtTable& real = crt_table(Ring::kComplex, n, Part::kReal);
    const CrtTable& imaginary = crt_table(Ring::kComplex, n, Part::kImaginary);
    // |parts of AB| <= 2 k limit^2 <= (P - 1) / 2 for k terms.
    constexpr int kTerms = 5;
    const Integer limit = sqrt(Integer(integer(real.half_wide) / (2 * kTerms)));
    for (int t = 0; t < tests::cases(40); ++t) {
      ComplexInteger sum{0, 0};
      std::vector<Integer> planes(static_cast<std::size_t>(real.num_planes));
      for (int h = 0; h < kTerms; ++h) {
        const ComplexInteger a = random_number(rng, limit), b = random_number(rng, limit);
        sum += a * b;
        for (int l = 0; l < n; ++l) {
          const auto a_planes = tests::operand_planes(a, l), b_planes = tests::operand_planes(b, l);
          for (int i = 0; i < planes_of_modulus(Ring::kComplex, l); ++i) {
            const auto at = static_cast<std::size_t>(i);
            planes[static_cast<std::size_t>(num_planes(Ring::kComplex, l) + i)] += a_planes[at] * b_planes[at];
          }
        }
      }
      std::vector<int> residues;
      for (int q = 0; q < real.num_planes; ++q) {
        residues.push_back(tests::residue_by_definition(planes[static_cast<std::size_t>(q)],
                                                        modulus(Ring::kComplex, modulus_number(Ring::kComplex, q))));
      }
      ASSERT_EQ(rebuilt(real, residues), sum.re) << n;
      ASSERT_EQ(rebuilt(imaginary, residues), sum.im) << n;
      // One plane off by one is another number.
      residues[rng() % residues.size()] += 1;
      ASSERT_TRUE(rebuilt(real, residues) != sum.re || rebuilt(imaginary, residues) != sum.im) << n;
    }
  }
}

}  // namespace
}  // namespace kizami::num
