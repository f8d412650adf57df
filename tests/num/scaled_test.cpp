// SPDX-License-Identifier: MIT
// The shared epilogue against its definition, decided by MPFR with unbounded exponents:
//   y = round_53(beta c),  v = round_53(alpha p + y),  C = v rounded into the range of the type.
#include "num/scaled.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/num/exact_numbers.hpp"

namespace kizami::num {
namespace {

using tests::exact;
using tests::Integer;
using tests::integer;
using tests::Rational;
using tests::Rng;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kMax = std::numeric_limits<double>::max();

Rational value_of(Scaled p) { return tests::scaled(exact(p.mantissa), p.exponent); }
bool is_normalized(Scaled p) {
  const double m = std::fabs(p.mantissa);
  return m == 0 || (m >= 0x1p52 && m <= 0x1p53 && m == std::floor(m));
}

template <class T>
T by_definition(Scaled p, T alpha, T beta, T c) {
  Rational v = exact(static_cast<double>(alpha)) * value_of(p);
  if (alpha == T{1} && beta == T{0}) return tests::rounded<T>(v);
  if (beta != T{0}) v += tests::rounded_to_bits(exact(static_cast<double>(beta)) * exact(static_cast<double>(c)), 53);
  return tests::rounded<T>(tests::rounded_to_bits(v, 53));
}

/// Equal as numbers (the sign of an exact zero is tested by itself).
template <class T>
void expect_value(T got, T want, Scaled p, T alpha, T beta, T c) {
  if (got != want || (want != 0 && std::signbit(got) != std::signbit(want))) {
    FAIL() << std::hexfloat << "p = " << p.mantissa << " 2^" << p.exponent << ", alpha = " << alpha
           << ", beta = " << beta << ", c = " << c << ": " << got << ", want " << want;
  }
}

Scaled random_scaled(Rng& rng, int low, int high) {
  if (rng() % 16 == 0) return {};
  return {tests::random_double(rng, 52), tests::random_int(rng, low, high)};
}
double random_factor(Rng& rng, int low, int high) {
  switch (rng() % 8) {
    case 0:
      return rng() % 2 == 0 ? 1.0 : -1.0;
    case 1:
      return rng() % 2 == 0 ? 0.0 : 0.5;
    default:
      return tests::random_double(rng, tests::random_int(rng, low, high));
  }
}

// ---- round_to_scaled, make_scaled -----------------------------------------------------------------------------------

TEST(RoundToScaled, AgainstMpfr) {
  Rng rng(11);
  for (int i = 0; i < tests::cases(60000); ++i) {
    std::uint64_t hi = rng() >> (rng() % 64);
    std::uint64_t lo = rng() >> (rng() % 64);
    switch (rng() % 8) {
      case 0:
        hi = 0;
        break;
      case 1:
        lo = 0;
        break;
      case 2:
        lo = ~std::uint64_t{0};
        break;
      case 3:
        hi = ~std::uint64_t{0};
        break;
      case 4: {  // exactly half way, or one away
        const int shift = tests::random_int(rng, 1, 63);
        hi = (rng() | std::uint64_t{1} << 63) >> 11 << 1 | 1;
        lo = 0;
        hi = hi << 10 >> shift;
        if (rng() % 2 == 0) lo = std::uint64_t{1} << (rng() % 64);
        break;
      }
      default:
        break;
    }
    // With bits below the 128 given, at least 65 of those must count.
    const bool sticky = hi != 0 && rng() % 2 == 0;
    const bool negative = rng() % 2 == 0;
    const int exponent = tests::random_int(rng, -5000, 5000);
    Integer magnitude = (integer(hi) << 64) + integer(lo);
    Rational value = Rational(magnitude);
    if (sticky) value += Rational(3, 7);
    if (negative) value = -value;
    const Scaled got = round_to_scaled(negative, hi, lo, sticky, exponent);
    ASSERT_TRUE(is_normalized(got));
    ASSERT_EQ(value_of(got), tests::scaled(tests::rounded_to_bits(value, 53), exponent))
        << hi << ' ' << lo << ' ' << sticky;
  }
  EXPECT_EQ(round_to_scaled(true, 0, 0, false, 3).mantissa, 0);
}

TEST(MakeScaled, IsExact) {
  Rng rng(12);
  for (int i = 0; i < tests::cases(20000); ++i) {
    const double x = tests::random_double(rng, tests::random_int(rng, -1022, 1023)) * (rng() % 3 == 0 ? 0x1p-60 : 1.0);
    const int s = tests::random_int(rng, -4000, 4000);
    const Scaled got = make_scaled(x, s);
    ASSERT_TRUE(is_normalized(got));
    ASSERT_EQ(value_of(got), tests::scaled(exact(x), s));
  }
  for (const double x : {0x1p-1074, -0x1p-1074, 0x3p-1074, kMax, -kMax, 0x1p-1022}) {
    ASSERT_TRUE(is_normalized(make_scaled(x, 5)));
    ASSERT_EQ(value_of(make_scaled(x, 5)), tests::scaled(exact(x), 5));
  }
  EXPECT_EQ(make_scaled(0.0, 100).mantissa, 0);
}

// ---- finish, FP64 ---------------------------------------------------------------------------------------------------

/// Random exponents where everything is moderate: what finish() computes is bit for bit what the slow path computes,
/// signs of zeros included, and both are the definition.
TEST(Finish64, FastAndSlowPathGiveEqualBits) {
  Rng rng(13);
  int fast = 0;
  for (int i = 0; i < tests::cases(60000); ++i) {
    const bool wide = rng() % 2 == 0;
    const Scaled p = random_scaled(rng, wide ? -399 : -100, wide ? 399 : -20);
    const double alpha = random_factor(rng, wide ? -399 : -5, wide ? 399 : 5);
    const double beta = random_factor(rng, wide ? -399 : -5, wide ? 399 : 5);
    double c = random_factor(rng, wide ? -399 : -5, wide ? 399 : 5);
    if (beta != 0 && rng() % 3 == 0) {  // cancellation, to nothing or to the last bits
      const double product = alpha * std::ldexp(p.mantissa, p.exponent);
      if (detail::is_moderate(product / beta)) c = -product / beta;
    }
    if (!detail::is_moderate(alpha) || !detail::is_moderate(beta) || !detail::is_moderate(c)) continue;
    if (alpha == 1.0 && beta == 0.0) continue;  // a path of its own
    ++fast;
    const double used = beta == 0.0 ? 0.0 : c;
    const double quick = finish(p, alpha, beta, c);
    const double slow = detail::fused_wide(alpha, p, beta, used);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(quick), std::bit_cast<std::uint64_t>(slow))
        << std::hexfloat << p.mantissa << ' ' << p.exponent << ' ' << alpha << ' ' << beta << ' ' << c << ": " << quick
        << ", " << slow;
    if (i % 2 == 0) expect_value(quick, by_definition(p, alpha, beta, used), p, alpha, beta, used);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(fast, tests::cases(30000));
}

/// Any exponents at all: intermediate values far outside FP64, results at both ends of the range and in the middle.
TEST(Finish64, IsItsDefinitionForAllExponents) {
  Rng rng(14);
  int subnormal = 0, infinite = 0, zero = 0, normal = 0;
  for (int i = 0; i < tests::cases(60000); ++i) {
    Scaled p = random_scaled(rng, -3500, 3500);
    const double alpha = random_factor(rng, -1022, 1023) * (rng() % 8 == 0 ? 0x1p-40 : 1.0);
    const double beta = random_factor(rng, -1022, 1023);
    double c = random_factor(rng, -1022, 1023);
    if (alpha != 0 && rng() % 2 == 0) {  // aim at the ends of the range, or at the other term
      const int target = rng() % 3 == 0   ? 1023
                         : rng() % 2 == 0 ? tests::random_int(rng, -1080, -1015)
                                          : tests::random_int(rng, -200, 200);
      if (p.mantissa != 0) p.exponent = target - 52 - std::ilogb(alpha);
      if (beta != 0 && rng() % 2 == 0) {
        const int e = target - std::ilogb(beta) + tests::random_int(rng, -110, 110);
        if (e >= -1022 && e <= 1023) c = tests::random_double(rng, e);
      }
    }
    const double got = finish(p, alpha, beta, c);
    const double want = by_definition(p, alpha, beta, c);
    expect_value(got, want, p, alpha, beta, c);
    if (HasFatalFailure()) return;
    (want == 0 ? zero : std::isinf(want) ? infinite : std::fabs(want) < 0x1p-1022 ? subnormal : normal)++;
  }
  for (const int count : {subnormal, infinite, zero, normal}) EXPECT_GT(count, tests::cases(60000) / 100);
}

TEST(Finish64, NearCancellation) {
  Rng rng(15);
  for (int i = 0; i < tests::cases(20000); ++i) {
    const int e = tests::random_int(rng, -2500, 2500);
    const Scaled p{tests::random_double(rng, 52), e};
    const double alpha = tests::random_double(rng, tests::random_int(rng, -300, 300));
    // beta c = -(alpha p)(1 + a few units): beta carries the exponent that c cannot.
    const int total = e + 52 + std::ilogb(alpha);
    const int beta_exponent = std::min(1000, std::max(-1000, total / 2));
    const int c_exponent = total - beta_exponent;
    if (c_exponent < -1000 || c_exponent > 1000) continue;
    const double mantissas = std::ldexp(p.mantissa, -52) * std::ldexp(alpha, -std::ilogb(alpha));
    const double c = std::ldexp(-std::nextafter(mantissas, rng() % 2 == 0 ? 0.0 : 8.0), c_exponent);
    const double beta = std::ldexp(1.0, beta_exponent);
    expect_value(finish(p, alpha, beta, c), by_definition(p, alpha, beta, c), p, alpha, beta, c);
    if (HasFatalFailure()) return;
  }
}

/// Terms further apart than any shift: the small one decides only ties.
TEST(Finish64, GapsAroundEveryThreshold) {
  Rng rng(16);
  for (int gap = -330; gap <= 330; ++gap) {
    for (int i = 0; i < tests::cases(40); ++i) {
      // alpha p has 54 bits with the last set: half way between two doubles.
      const Scaled p{0x1.8p52, 600};
      const double alpha =
          i % 4 == 0 ? tests::random_double(rng, 0) : 1 + std::ldexp(static_cast<double>(rng() % 1024 * 2 + 1), -52);
      const double beta = rng() % 2 == 0 ? 1.0 : -1.0;
      const double c = tests::random_double(rng, 652 + gap);
      expect_value(finish(p, alpha, beta, c), by_definition(p, alpha, beta, c), p, alpha, beta, c);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Finish64, AlphaOneBetaZeroIsOneRoundingIntoTheRange) {
  Rng rng(17);
  for (int i = 0; i < tests::cases(20000); ++i) {
    const Scaled p = random_scaled(rng, -1140, 1000);
    const double want = tests::rounded<double>(value_of(p));
    expect_value(finish(p, 1.0, 0.0, kNaN), want, p, 1.0, 0.0, 0.0);
    expect_value(finish(p, -1.0, 0.0, kNaN), -want, p, -1.0, 0.0, 0.0);
    if (HasFatalFailure()) return;
  }
}

template <class T>
void expect_beta_zero_ignores_c() {
  Rng rng(18);
  for (int i = 0; i < tests::cases(5000); ++i) {
    const Scaled p = random_scaled(rng, -600, 500);
    for (const T alpha :
         {T{1}, T{-1}, T{0}, static_cast<T>(tests::random_double(rng, 3)), std::numeric_limits<T>::infinity()}) {
      const T want = finish(p, alpha, T{0}, T{0});
      for (const T c :
           {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(), std::numeric_limits<T>::max()}) {
        for (const T beta : {T{0}, -T{0}}) {
          const T got = finish(p, alpha, beta, c);
          ASSERT_TRUE(got == want || (std::isnan(got) && std::isnan(want))) << alpha << ", " << c;
          ASSERT_EQ(std::isnan(got), std::isinf(alpha) && p.mantissa == 0);
        }
      }
    }
  }
}
TEST(Finish64, BetaZeroNeverLooksAtC) { expect_beta_zero_ignores_c<double>(); }
TEST(Finish32, BetaZeroNeverLooksAtC) { expect_beta_zero_ignores_c<float>(); }

/// NaN and Inf in alpha, beta, c: as alpha * p + beta * c in IEEE arithmetic, with every sign, for p of moderate size.
template <class T>
void expect_ieee_specials() {
  using Limits = std::numeric_limits<T>;
  const std::vector<T> values = {T{0},
                                 -T{0},
                                 T{1},
                                 -T{1},
                                 T(0.75),
                                 T(-3),
                                 Limits::max(),
                                 Limits::denorm_min(),
                                 Limits::infinity(),
                                 -Limits::infinity(),
                                 Limits::quiet_NaN()};
  for (const double mantissa : {0.0, 0x1p52, -0x1p52, 0x1.8p52}) {
    const Scaled p{mantissa, mantissa == 0 ? 0 : -50};
    const T product = static_cast<T>(std::ldexp(mantissa, p.exponent));
    for (const T alpha : values) {
      for (const T beta : values) {
        for (const T c : values) {
          const bool reads_c = beta != T{0};
          if (std::isfinite(alpha) && std::isfinite(beta) && (!reads_c || std::isfinite(c))) continue;
          T want = alpha * product;
          if (std::isfinite(alpha) && std::isinf(want)) want = 0;  // no overflow of its own makes an Inf - Inf
          const bool c_decides = !std::isfinite(beta) || !std::isfinite(c);
          if (reads_c && (std::isfinite(want) || c_decides)) want += beta * c;
          const T got = finish(p, alpha, beta, c);
          ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : got == want)
              << mantissa << ' ' << alpha << ' ' << beta << ' ' << c << ": " << got;
        }
      }
    }
  }
}
TEST(Finish64, SpecialsAsIeee) { expect_ieee_specials<double>(); }

/// Finite alpha p beyond the range next to an infinite or NaN beta c: the latter alone decides.
TEST(Finish64, HugeProductsDoNotOpposeAnInfinity) {
  for (const int e : {2000, 5000}) {
    EXPECT_EQ(finish(Scaled{0x1p52, e}, 2.0, 1.0, -kInf), -kInf);
    EXPECT_EQ(finish(Scaled{-0x1p52, e}, 2.0, 1.0, kInf), kInf);
    EXPECT_EQ(finish(Scaled{-0x1p52, e}, kInf, 1.0, 1.0), -kInf);
    EXPECT_TRUE(std::isnan(finish(Scaled{-0x1p52, e}, kInf, 1.0, kInf)));
    EXPECT_TRUE(std::isnan(finish(Scaled{0x1p52, e}, kNaN, 0.0, 0.0)));
  }
}

/// Finite inputs never give NaN, whatever overflows on the way.
TEST(Finish64, FiniteInputsNeverGiveNaN) {
  const std::vector<double> ends = {0.0, 0x1p-1074, -0x1p-1074, 1.0, -1.0, kMax, -kMax};
  for (const double m : {0.0, 0x1p52, -0x1p52, 0x1.fffffffffffffp52, 0x1p53}) {
    for (const int e : {-6000, -1074, -400, 0, 399, 400, 970, 6000}) {
      for (const double alpha : ends) {
        for (const double beta : ends) {
          for (const double c : ends) {
            const Scaled p{m, m == 0 ? 0 : e};
            expect_value(finish(p, alpha, beta, c), by_definition(p, alpha, beta, c), p, alpha, beta, c);
            if (testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// ---- finish, FP32 ---------------------------------------------------------------------------------------------------

TEST(Finish32, IsItsDefinition) {
  Rng rng(19);
  const auto random_float = [&] { return static_cast<float>(random_factor(rng, -149, 127)); };
  int subnormal = 0, infinite = 0, zero = 0, normal = 0;
  for (int i = 0; i < tests::cases(60000); ++i) {
    // The products of FP32 lines: 2^-298 .. 2^(256 + 34).
    Scaled p = random_scaled(rng, -360, 235);
    const float alpha = random_float();
    const float beta = random_float();
    float c = random_float();
    if (alpha != 0 && p.mantissa != 0 && rng() % 2 == 0) {
      const int target = rng() % 3 == 0 ? 127 : tests::random_int(rng, -155, -120);
      p.exponent = target - 52 - std::ilogb(alpha);
      if (beta != 0 && rng() % 2 == 0)
        c = static_cast<float>(std::ldexp(1.0 + static_cast<double>(rng() % 8) / 8, target - std::ilogb(beta)));
    }
    if (std::isinf(alpha) || std::isinf(beta) || std::isinf(c)) continue;  // rounded up to it
    const float got = finish(p, alpha, beta, c);
    const float want = by_definition(p, alpha, beta, c);
    expect_value(got, want, p, alpha, beta, c);
    if (HasFatalFailure()) return;
    (want == 0 ? zero : std::isinf(want) ? infinite : std::fabs(want) < 0x1p-126F ? subnormal : normal)++;
  }
  for (const int count : {subnormal, infinite, zero, normal}) EXPECT_GT(count, tests::cases(60000) / 100);
}

/// In FP64 arithmetic, where finite FP32 terms do not overflow before the sum.
TEST(Finish32, SpecialsAsIeee) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {0.0F, 1.0F, -1.0F, 3.0F, std::numeric_limits<float>::max(), inf, -inf, nan};
  for (const double mantissa : {0.0, 0x1p52, -0x1p52}) {
    const Scaled p{mantissa, mantissa == 0 ? 0 : -50};
    for (const float alpha : values) {
      for (const float beta : values) {
        for (const float c : values) {
          if (std::isfinite(alpha) && std::isfinite(beta) && (beta == 0 || std::isfinite(c))) continue;
          double want = static_cast<double>(alpha) * std::ldexp(mantissa, p.exponent);
          if (beta != 0) want += static_cast<double>(beta) * static_cast<double>(c);
          const float got = finish(p, alpha, beta, c);
          ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : got == static_cast<float>(want))
              << mantissa << ' ' << alpha << ' ' << beta << ' ' << c;
        }
      }
    }
  }
}

// ---- finish_nonfinite -----------------------------------------------------------------------------------------------

template <class T>
void expect_nonfinite() {
  const T inf = std::numeric_limits<T>::infinity();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const double p : {kInf, -kInf, kNaN}) {
    for (const T alpha : {T{1}, T{-2}, T{0}, inf, -inf, nan}) {
      for (const T beta : {T{0}, T{1}, T{-1}, inf, nan}) {
        for (const T c : {T{0}, T{1}, T{-5}, inf, -inf, nan}) {
          T want = alpha * static_cast<T>(p);
          if (beta != 0) want += beta * c;
          const T got = finish_nonfinite(p, alpha, beta, c);
          ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : got == want) << p << ' ' << alpha << ' ' << beta << ' ' << c;
        }
      }
    }
  }
}
TEST(FinishNonfinite, AsIeee64) { expect_nonfinite<double>(); }
TEST(FinishNonfinite, AsIeee32) { expect_nonfinite<float>(); }

}  // namespace
}  // namespace kizami::num
