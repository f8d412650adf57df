// SPDX-License-Identifier: MIT
// Planes of complex products -> C: random complex integers become planes by definition, products of planes, and come
// back exactly; both parts are rounded once. Every number of moduli, thread counts and instruction sets.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/int_math.hpp"
#include "num/crt_table.hpp"
#include "schemes/ozaki2/crt.hpp"
#include "tests/certify/simd_targets.hpp"
#include "tests/num/complex_integers.hpp"

namespace kizami::ozaki2 {
namespace {

using num::Ring;
using tests::ComplexInteger;
using tests::Integer;
using tests::integer;
using tests::Rational;
using tests::Rng;

Integer half_of(int num_moduli) { return integer(num::crt_table(Ring::kComplex, num_moduli).half_wide); }

/// A part with |X| <= half where something turns: the ends, zero, small numbers, ties of the rounding to 53 bits.
Integer random_part(Rng& rng, const Integer& half) {
  Integer x = tests::random_below(rng, half + 1);
  switch (rng() % 6) {
    case 0:
      x = half;
      break;
    case 1:
      x = tests::random_int(rng, 0, 3);
      break;
    case 2:
      x >>= static_cast<unsigned>(rng() % 150);
      break;
    case 3: {
      x = (integer(std::uint64_t{rng()}) | (integer(std::uint64_t{1}) << 63)) >> static_cast<unsigned>(rng() % 11);
      if (x > half) x %= half + 1;
      break;
    }
    default:
      break;
  }
  return rng() % 2 == 0 ? x : Integer(-x);
}

/// Planes of a column of products.
std::vector<std::int8_t> planes_of(Rng& rng, const std::vector<ComplexInteger>& x, int num_moduli,
                                   std::int64_t plane_stride) {
  std::vector<std::int8_t> out(static_cast<std::size_t>(num::num_planes(Ring::kComplex, num_moduli) * plane_stride));
  for (auto& byte : out) byte = static_cast<std::int8_t>(rng());
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (int l = 0; l < num_moduli; ++l) {
      const auto planes = tests::product_planes(rng, x[i], l);
      for (int q = 0; q < num::planes_of_modulus(Ring::kComplex, l); ++q) {
        const std::int64_t plane = num::num_planes(Ring::kComplex, l) + q;
        out[static_cast<std::size_t>(plane * plane_stride) + i] =
            static_cast<std::int8_t>(planes[static_cast<std::size_t>(q)]);
      }
    }
  }
  return out;
}

template <class R>
void expect_exact(Rng& rng, int num_moduli, std::int64_t rows, int threads) {
  using T = std::complex<R>;
  std::vector<ComplexInteger> x;
  for (std::int64_t i = 0; i < rows; ++i) {
    Integer re = random_part(rng, half_of(num_moduli));
    x.push_back({re, random_part(rng, half_of(num_moduli))});
  }
  const std::int64_t stride = base::round_up(rows, 64);
  const std::vector<std::int8_t> planes = planes_of(rng, x, num_moduli, stride);
  const int middle = static_cast<int>(mpz_sizeinbase(half_of(num_moduli).get_mpz_t(), 2)) / 2;
  std::vector<std::int32_t> row_scale;
  for (std::int64_t i = 0; i < rows; ++i)
    row_scale.push_back(rng() % 9 == 0 ? num::kSkipLine : middle + tests::random_int(rng, -40, 40));
  const std::int32_t col_scale = middle;
  const R nan = std::numeric_limits<R>::quiet_NaN();
  const T untouched(-77, 78);
  std::vector<T> c(static_cast<std::size_t>(rows), untouched), rotated(c);
  reconstruct_crt<T>({planes.data(), num_moduli, stride, stride}, row_scale.data(), &col_scale, T{1}, T{0}, threads,
                     {c.data(), rows, 1, 1, rows});
  std::vector<T> old(static_cast<std::size_t>(rows), T(nan, nan));
  reconstruct_crt<T>({planes.data(), num_moduli, stride, stride}, row_scale.data(), &col_scale, T(0, 1), T{0}, threads,
                     {old.data(), rows, 1, 1, rows});
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (row_scale[i] == num::kSkipLine) {
      ASSERT_EQ(c[i], untouched);
      ASSERT_TRUE(std::isnan(old[i].real()));
      continue;
    }
    const auto part = [&](const Integer& value) {
      return tests::rounded<R>(tests::scaled(tests::rounded_to_bits(Rational(value), 53), -(row_scale[i] + col_scale)));
    };
    ASSERT_EQ(c[i], T(part(x[i].re), part(x[i].im)))
        << "N = " << num_moduli << ", " << x[i].re.get_str() << ", " << x[i].im.get_str();
    ASSERT_EQ(old[i], T(-c[i].imag(), c[i].real())) << "alpha = i does not read C: N = " << num_moduli;
  }
}

TEST(ComplexReconstructCrt, EveryNumberOfModuli) {
  Rng rng(51);
  for (int n = num::kMinModuli; n <= num::kMaxComplexModuli; ++n) {
    expect_exact<double>(rng, n, tests::cases(300), 1 + static_cast<int>(rng() % 3));
    expect_exact<float>(rng, n, tests::cases(300), 1 + static_cast<int>(rng() % 3));
    if (HasFatalFailure()) return;
  }
}

TEST(ComplexReconstructCrt, EveryTarget) {
  const int targets = tests::for_each_simd_target([&](const std::string&) {
    Rng rng(52);
    for (const int n : {2, 9, 16, 17, 18, 19, 23, 27}) expect_exact<double>(rng, n, tests::cases(600), 2);
  });
  EXPECT_GT(targets, 1);
}

/// From integers A and B over planes and their products, summed over k, to AB: as the engines do it.
TEST(ComplexReconstructCrt, ProductsOfPlanesComeBackExactly) {
  Rng rng(53);
  constexpr std::int64_t kRows = 64;
  constexpr int kTerms = 9;
  for (int n = num::kMinModuli; n <= num::kMaxComplexModuli; ++n) {
    const Integer limit = sqrt(Integer(half_of(n) / (2 * kTerms)));
    const int num_planes = num::num_planes(Ring::kComplex, n);
    std::vector<ComplexInteger> want(kRows, ComplexInteger{0, 0});
    std::vector<std::int8_t> planes(static_cast<std::size_t>(num_planes * kRows));
    for (std::int64_t i = 0; i < kRows; ++i) {
      std::vector<int> sums(static_cast<std::size_t>(num_planes));
      for (int h = 0; h < kTerms; ++h) {
        const ComplexInteger a{random_part(rng, limit), random_part(rng, limit)};
        const ComplexInteger b{random_part(rng, limit), random_part(rng, limit)};
        want[static_cast<std::size_t>(i)] += a * b;
        for (int l = 0; l < n; ++l) {
          const auto a_planes = tests::operand_planes(a, l), b_planes = tests::operand_planes(b, l);
          for (int q = 0; q < num::planes_of_modulus(Ring::kComplex, l); ++q) {
            const auto at = static_cast<std::size_t>(q);
            sums[static_cast<std::size_t>(num::num_planes(Ring::kComplex, l) + q)] += a_planes[at] * b_planes[at];
          }
        }
      }
      for (int q = 0; q < num_planes; ++q) {
        planes[static_cast<std::size_t>(q * kRows + i)] = static_cast<std::int8_t>(tests::residue_by_definition(
            sums[static_cast<std::size_t>(q)], num::modulus(Ring::kComplex, num::modulus_number(Ring::kComplex, q))));
      }
    }
    const std::vector<std::int32_t> zero(kRows, 0);
    std::vector<std::complex<double>> c(kRows);
    reconstruct_crt<std::complex<double>>({planes.data(), n, kRows, kRows}, zero.data(), zero.data(), 1.0, 0.0, 1,
                                          {c.data(), kRows, 1, 1, kRows});
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(c[i].real(), tests::rounded<double>(Rational(want[i].re))) << n;
      ASSERT_EQ(c[i].imag(), tests::rounded<double>(Rational(want[i].im))) << n;
    }
  }
}

}  // namespace
}  // namespace kizami::ozaki2
