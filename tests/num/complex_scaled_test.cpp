// SPDX-License-Identifier: MIT
// The complex epilogue against its definition, decided by MPFR with unbounded exponents. Each part is
//   x1 p1 + (x2 p2 + (y1 c1 + y2 c2)),  the innermost product rounded to 53 bits, then one rounding for each fused term,
// which stays within num::epilogue_bound(); NaN and Inf by the formula of complex multiplication.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "num/bounds.hpp"
#include "num/scaled.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::num {
namespace {

using tests::exact;
using tests::Rational;
using tests::Rng;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Rational value_of(Scaled p) { return tests::scaled(exact(p.mantissa), p.exponent); }

/// The terms of one part.
template <class R>
struct Terms {
  R x1, x2, y1, y2, c1, c2;
  Scaled p1, p2;

  [[nodiscard]] Rational x_term() const { return exact(static_cast<double>(x1)) * value_of(p1); }
  [[nodiscard]] Rational x_other() const { return exact(static_cast<double>(x2)) * value_of(p2); }
  [[nodiscard]] Rational y_term() const { return exact(static_cast<double>(y1)) * exact(static_cast<double>(c1)); }
  [[nodiscard]] Rational y_other() const { return exact(static_cast<double>(y2)) * exact(static_cast<double>(c2)); }
  [[nodiscard]] R by_definition() const {
    Rational v = tests::rounded_to_bits(y_other(), 53);
    for (const Rational& term : {y_term(), x_other(), x_term()}) v = tests::rounded_to_bits(v + term, 53);
    return tests::rounded<R>(v);
  }
};

template <class R>
std::array<Terms<R>, 2> terms_of(ScaledComplex p, std::complex<R> alpha, std::complex<R> beta, std::complex<R> c) {
  return {Terms<R>{alpha.real(), -alpha.imag(), beta.real(), -beta.imag(), c.real(), c.imag(), p.re, p.im},
          Terms<R>{alpha.real(), alpha.imag(), beta.real(), beta.imag(), c.imag(), c.real(), p.im, p.re}};
}

template <class R>
void expect_definition(Rng& rng, int count, int exponent_range) {
  const auto number = [&] {
    if (rng() % 6 == 0) return static_cast<R>(tests::random_int(rng, -1, 1));
    const auto x = static_cast<R>(tests::random_double(rng, tests::random_int(rng, -exponent_range, exponent_range)));
    return std::isinf(x) ? R{1} : x;
  };
  const auto scaled_number = [&]() -> Scaled {
    if (rng() % 10 == 0) return {};
    const int range = exponent_range > 200 && sizeof(R) == 8 ? 2200 : exponent_range;
    return {std::rint(tests::random_double(rng, 52)), tests::random_int(rng, -range, range) - 52};
  };
  const Scalar scalar = kScalarOf<std::complex<R>>;
  int finite = 0;
  for (int t = 0; t < count; ++t) {
    const ScaledComplex p{scaled_number(), scaled_number()};
    const std::complex<R> alpha(number(), number()), beta(number(), number()), c(number(), number());
    const std::complex<R> got = finish(p, alpha, beta, c);
    const auto terms = terms_of(p, alpha, beta, beta == R{0} ? R{0} : c);
    for (int part = 0; part < 2; ++part) {
      const auto& term = terms[static_cast<std::size_t>(part)];
      const R value = part == 0 ? got.real() : got.imag();
      ASSERT_EQ(value, term.by_definition()) << part << ": " << alpha << beta << c << p.re.mantissa << p.re.exponent;
      if (std::isinf(value)) continue;
      ++finite;
      const Rational x = abs(term.x_term()) + abs(term.x_other()), y = abs(term.y_term()) + abs(term.y_other());
      const Rational error =
          abs(exact(static_cast<double>(value)) - term.x_term() - term.x_other() - term.y_term() - term.y_other());
      // epilogue_bound() is linear in the sum of the terms.
      const Rational bound = exact(epilogue_bound(scalar, 1, 0)) * (x + y) + exact(epilogue_bound(scalar, 0, 0));
      ASSERT_LE(error, bound) << alpha << beta << c;
    }
  }
  EXPECT_GT(finite, count / 2);
}

TEST(ComplexFinish, OrdinaryNumbersByDefinition64) {
  Rng rng(31);
  expect_definition<double>(rng, tests::cases(10000), 30);
}
TEST(ComplexFinish, EndsOfTheRangeByDefinition64) {
  Rng rng(32);
  expect_definition<double>(rng, tests::cases(10000), 1000);
}
// FP64 holds the products and sums of FP32 terms of this range without overflow or underflow.
TEST(ComplexFinish, OrdinaryNumbersByDefinition32) {
  Rng rng(33);
  expect_definition<float>(rng, tests::cases(10000), 30);
}

TEST(ComplexFinish, AlphaOneIsOneRoundingOfEachPart) {
  Rng rng(34);
  for (int t = 0; t < tests::cases(5000); ++t) {
    const ScaledComplex p{{tests::random_double(rng, 52), tests::random_int(rng, -1150, 1000)},
                          {tests::random_double(rng, 52), tests::random_int(rng, -1150, 1000)}};
    const std::complex<double> nan(kNaN, kNaN);
    const auto got = finish(p, std::complex<double>(1), std::complex<double>(0), nan);
    ASSERT_EQ(got.real(), tests::rounded<double>(value_of(p.re)));
    ASSERT_EQ(got.imag(), tests::rounded<double>(value_of(p.im)));
  }
}

/// a * b with the real rule: no product with an imaginary part 0 of a.
template <class R>
std::complex<R> product_by_rule(std::complex<R> a, std::complex<R> b) {
  if (a.imag() == 0) return {a.real() * b.real(), a.real() * b.imag()};
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <class R>
bool same_kind(R got, R want) {
  if (std::isnan(want)) return std::isnan(got);
  return std::isinf(want) ? got == want : std::isfinite(got);
}

/// Small factors and all kinds of NaN and Inf, with a product that is finite or not.
template <class R>
void expect_kinds() {
  const R inf = std::numeric_limits<R>::infinity(), nan = std::numeric_limits<R>::quiet_NaN();
  std::vector<std::complex<R>> numbers;
  for (const R re : {R{0}, R{1}, R{-2}, inf, -inf, nan}) {
    for (const R im : {R{0}, R{3}, R{-1}, inf, nan}) numbers.emplace_back(re, im);
  }
  const std::complex<R> zero(0);
  for (const std::complex<R>& alpha : numbers) {
    for (const std::complex<R>& beta : numbers) {
      for (const std::complex<R>& c : numbers) {
        const std::complex<R> beta_c = beta == zero ? zero : product_by_rule(beta, c);
        const auto expect = [&](std::complex<R> got, std::complex<R> p) {
          const std::complex<R> x = product_by_rule(alpha, p);
          const std::complex<R> want(x.real() + beta_c.real(), x.imag() + beta_c.imag());
          ASSERT_TRUE(same_kind(got.real(), want.real()) && same_kind(got.imag(), want.imag()))
              << "alpha = " << alpha << ", p = " << p << ", beta = " << beta << ", c = " << c << ": " << got
              << ", want " << want;
        };
        for (const std::complex<R>& p : {std::complex<R>(5, -3), std::complex<R>(0, 7), std::complex<R>(0, 0)}) {
          const ScaledComplex scaled{make_scaled(p.real(), 0), make_scaled(p.imag(), 0)};
          expect(finish(scaled, alpha, beta, c), p);
        }
        if (alpha == zero) continue;
        for (const std::complex<R>& p :
             {std::complex<R>(inf, nan), std::complex<R>(-inf, inf), std::complex<R>(nan, -inf)})
          expect(finish_nonfinite(std::complex<double>(p), alpha, beta, c), p);
      }
    }
  }
}

TEST(ComplexFinish, KindsByTheFormula64) { expect_kinds<double>(); }
TEST(ComplexFinish, KindsByTheFormula32) { expect_kinds<float>(); }

TEST(ComplexFinish, FiniteTermsDoNotOverflowBesideInf) {
  using Z = std::complex<double>;
  const Z big(1e300, -1e300);
  EXPECT_EQ(finish_nonfinite(Z(kInf, -kInf), Z(1), Z(-1e300), big), Z(kInf, -kInf));
  EXPECT_EQ(finish_nonfinite(Z(-kInf, kInf), Z(1e-300), Z(1e300), big), Z(-kInf, kInf));
  const ScaledComplex p{{0x1p52, 1500}, {-0x1p52, 1500}};  // beyond FP64, and finite
  EXPECT_EQ(finish(p, Z(-1e300), Z(1), Z(kInf, kInf)), Z(kInf, kInf));
  // A real beta keeps the Inf of one part of c out of the other.
  const Z got = finish(ScaledComplex{make_scaled(1, 0), make_scaled(2, 0)}, Z(1), Z(3), Z(kInf, 5));
  EXPECT_EQ(got, Z(kInf, 17));
  EXPECT_EQ(multiply(Z(2), Z(kInf, 5)), Z(kInf, 10));
  EXPECT_TRUE(std::isnan(multiply(Z(2, 1), Z(kInf, kInf)).real()));
}

}  // namespace
}  // namespace kizami::num
