// SPDX-License-Identifier: MIT
// The mathematical functions against MPFR. The C library's documentation gives at most 2 units in the last place for
// the functions used here (https://sourceware.org/glibc/manual: Errors in Math Functions); the 16-bit formats add half
// a unit for the one rounding from float.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <limits>

#include "kizami/formats.hpp"
#include "tile/tests/host/tile_values.hpp"

namespace kizami::tile_test {
namespace {

constexpr double kMaxUlps = 2;

template <class E>
constexpr int kBits = 53;
template <>
constexpr int kBits<float> = 24;
template <>
constexpr int kBits<__half> = 11;
template <>
constexpr int kBits<__nv_bfloat16> = 8;
template <class E>
constexpr int kLeastExponent = std::numeric_limits<double>::min_exponent - 1;
template <>
constexpr int kLeastExponent<float> = -126;
template <>
constexpr int kLeastExponent<__half> = -14;
template <>
constexpr int kLeastExponent<__nv_bfloat16> = -126;

/// Checks |actual - f(x, y)| <= kMaxUlps ulp of the result.
template <class E, class F>
void expect_close(const char* name, E actual, double x, double y, const F& f) {
  mpfr_t a;
  mpfr_t b;
  mpfr_t r;
  mpfr_init2(a, 53);
  mpfr_init2(b, 53);
  mpfr_init2(r, 200);
  mpfr_set_d(a, x, MPFR_RNDN);
  mpfr_set_d(b, y, MPFR_RNDN);
  f(r, a, b);
  const double reference = mpfr_get_d(r, MPFR_RNDN);
  if (std::isnan(reference)) {
    EXPECT_TRUE(std::isnan(real(actual))) << name << " of " << x << ", " << y;
  } else if (std::isinf(reference) || reference == 0) {
    EXPECT_EQ(real(actual), reference) << name << " of " << x << ", " << y;
  } else {
    const int exponent = std::max(std::ilogb(reference), kLeastExponent<E>);
    mpfr_sub_d(r, r, real(actual), MPFR_RNDN);
    const double error = std::fabs(mpfr_get_d(r, MPFR_RNDA));
    EXPECT_TRUE(error <= std::ldexp(kMaxUlps, exponent - kBits<E> + 1))
        << name << " of " << x << ", " << y << ": error " << error << ", got " << real(actual);
  }
  mpfr_clears(a, b, r, static_cast<mpfr_ptr>(nullptr));
}

template <class E>
class Math : public testing::Test {};
using Floats = testing::Types<__half, __nv_bfloat16, float, double>;
TYPED_TEST_SUITE(Math, Floats);

TYPED_TEST(Math, FunctionsOfOneNumber) {
  using E = TypeParam;
  using X = ct::tile<E, ct::shape<4, 8>>;
  const X x = tile_of<X>([](std::size_t i) { return static_cast<float>(static_cast<int>(i) - 12) * 0.3125F; });
  const auto xs = values_of(x);
  const auto check = [&](const char* name, const X& y, int (*f)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)) {
    const auto ys = values_of(y);
    for (std::size_t i = 0; i < xs.size(); ++i) {
      expect_close<E>(name, ys[i], real(xs[i]), 0, [f](mpfr_ptr r, mpfr_srcptr a, mpfr_srcptr) { f(r, a, MPFR_RNDN); });
    }
  };
  check("exp", ct::exp(x), mpfr_exp);
  check("exp2", ct::exp2(x), mpfr_exp2);
  check("log", ct::log(x), mpfr_log);
  check("log2", ct::log2(x), mpfr_log2);
  check("sin", ct::sin(x), mpfr_sin);
  check("cos", ct::cos(x), mpfr_cos);
  check("tan", ct::tan(x), mpfr_tan);
  check("sinh", ct::sinh(x), mpfr_sinh);
  check("cosh", ct::cosh(x), mpfr_cosh);
  check("tanh", ct::tanh(x), mpfr_tanh);
  check("sqrt", ct::sqrt(x), mpfr_sqrt);
  check("rsqrt", ct::rsqrt(x), mpfr_rec_sqrt);
  const auto ceilings = values_of(ct::ceil(x));
  const auto floors = values_of(ct::floor(x));
  for (std::size_t i = 0; i < xs.size(); ++i) {
    EXPECT_EQ(real(ceilings[i]), std::ceil(real(xs[i])));
    EXPECT_EQ(real(floors[i]), std::floor(real(xs[i])));
  }
}

TYPED_TEST(Math, FunctionsOfTwoNumbers) {
  using E = TypeParam;
  using X = ct::tile<E, ct::shape<8, 1>>;
  using Y = ct::tile<E, ct::shape<8>>;
  const X x = tile_of<X>([](std::size_t i) { return static_cast<float>(i) * 0.375F; });
  const Y y = tile_of<Y>([](std::size_t i) { return static_cast<float>(static_cast<int>(i) - 4) * 0.75F; });
  const auto xs = values_of(x);
  const auto ys = values_of(y);
  const auto powers = values_of(ct::pow(x, y));
  const auto angles = values_of(ct::atan2(x, y));
  for (std::size_t i = 0; i < powers.size(); ++i) {
    const double a = real(xs[i / 8]);
    const double b = real(ys[i % 8]);
    expect_close<E>("pow", powers[i], a, b,
                    [](mpfr_ptr r, mpfr_srcptr p, mpfr_srcptr q) { mpfr_pow(r, p, q, MPFR_RNDN); });
    expect_close<E>("atan2", angles[i], a, b,
                    [](mpfr_ptr r, mpfr_srcptr p, mpfr_srcptr q) { mpfr_atan2(r, p, q, MPFR_RNDN); });
  }
}

TEST(MathTags, AreAccepted) {
  EXPECT_EQ(ct::exp(0.0F, ct::round_approximate_t{}), 1.0F);
  EXPECT_EQ(ct::tanh(0.0, ct::round_full_t{}), 0.0);
  EXPECT_EQ(ct::sqrt(4.0F, ct::round_approximate_t{}), 2.0F);
  EXPECT_EQ(ct::div(1.0F, 4.0F, ct::round_full_t{}), 0.25F);
  EXPECT_EQ(ct::atan2(0, 1.0F), 0.0F) << "an integer meets a float";
}

}  // namespace
}  // namespace kizami::tile_test
