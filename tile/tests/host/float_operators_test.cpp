// SPDX-License-Identifier: MIT
// Every operation on floating-point elements, for every type: results are the exact ones
// rounded once. References are made in double, which holds every value, sum and product of the 16-bit formats exactly
// and whose quotients round innocuously [Figueroa1995]; float's likewise, but for sums, which are compared with float's
// own.
#include <cmath>

#include "kizami/formats.hpp"
#include "tile/tests/host/elementwise_case.hpp"

namespace kizami::tile_test {
namespace {

/// x rounded once to E.
template <class E>
E rounded(double x) {
  if constexpr (std::is_same_v<E, __half>) {
    return __builtin_bit_cast(__half, Fp16::from(x));
  } else if constexpr (std::is_same_v<E, __nv_bfloat16>) {
    return __builtin_bit_cast(__nv_bfloat16, Bf16::from(x));
  } else {
    return static_cast<E>(x);
  }
}

template <class E>
class FloatOperators : public testing::Test {};
using Floats = testing::Types<__half, __nv_bfloat16, float, double>;
TYPED_TEST_SUITE(FloatOperators, Floats);

TYPED_TEST(FloatOperators, Arithmetic) {
  using E = TypeParam;
  expect_broadcast<E>(
      "+", [](auto a, auto b) { return a + b; }, [](E a, E b) { return rounded<E>(real(a) + real(b)); });
  expect_broadcast<E>(
      "-", [](auto a, auto b) { return a - b; }, [](E a, E b) { return rounded<E>(real(a) - real(b)); });
  expect_broadcast<E>(
      "*", [](auto a, auto b) { return a * b; }, [](E a, E b) { return rounded<E>(real(a) * real(b)); });
  expect_broadcast<E>(
      "/", [](auto a, auto b) { return a / b; }, [](E a, E b) { return rounded<E>(real(a) / real(b)); }, true);
  expect_broadcast<E>(
      "remainder", [](auto a, auto b) { return ct::remainder(a, b); },
      [](E a, E b) {
        return rounded<E>(
            std::copysign(std::fabs(real(a)) - std::floor(std::fabs(real(a) / real(b))) * std::fabs(real(b)), real(a)));
      },
      true);
}
TYPED_TEST(FloatOperators, NamedFunctionsAreTheOperators) {
  using E = TypeParam;
  using X = Tile<E, 2, 4>;
  const X a = test_operand<X>(1, false);
  const X b = test_operand<X>(2, true);
  const auto expect_same = [](const X& x, const X& y) {
    const auto xs = values_of(x);
    const auto ys = values_of(y);
    for (std::size_t i = 0; i < xs.size(); ++i) EXPECT_TRUE(same<E>(xs[i], ys[i]));
  };
  expect_same(ct::add(a, b), a + b);
  expect_same(ct::sub(a, b), a - b);
  expect_same(ct::mul(a, b), a * b);
  expect_same(ct::div(a, b), a / b);
  EXPECT_TRUE(same<E>(ct::add(E(1.5F), E(0.25F)), E(1.75F))) << "scalars are tiles of rank 0";
}
TYPED_TEST(FloatOperators, ComparisonsAndExtrema) {
  using E = TypeParam;
  expect_broadcast<E>(
      "<", [](auto a, auto b) { return a < b; }, [](E a, E b) { return real(a) < real(b); });
  expect_broadcast<E>(
      "<=", [](auto a, auto b) { return a <= b; }, [](E a, E b) { return real(a) <= real(b); });
  expect_broadcast<E>(
      ">", [](auto a, auto b) { return a > b; }, [](E a, E b) { return real(a) > real(b); });
  expect_broadcast<E>(
      ">=", [](auto a, auto b) { return a >= b; }, [](E a, E b) { return real(a) >= real(b); });
  expect_broadcast<E>(
      "==", [](auto a, auto b) { return a == b; }, [](E a, E b) { return real(a) == real(b); });
  expect_broadcast<E>(
      "!=", [](auto a, auto b) { return a != b; }, [](E a, E b) { return real(a) != real(b); });
  expect_broadcast<E>(
      "&&", [](auto a, auto b) { return a && b; }, [](E a, E b) { return real(a) != 0 && real(b) != 0; });
  expect_broadcast<E>(
      "||", [](auto a, auto b) { return a || b; }, [](E a, E b) { return real(a) != 0 || real(b) != 0; });
  expect_broadcast<E>(
      "min", [](auto a, auto b) { return ct::min(a, b); }, [](E a, E b) { return real(a) < real(b) ? a : b; });
  expect_broadcast<E>(
      "max", [](auto a, auto b) { return ct::max(a, b); }, [](E a, E b) { return real(a) < real(b) ? b : a; });
}
TYPED_TEST(FloatOperators, Unary) {
  using E = TypeParam;
  using X = Tile<E, 2, 4>;
  const X x = test_operand<X>(1, false);
  const auto xs = values_of(x);
  const auto negated = values_of(-x);
  const auto absolute = values_of(ct::abs(x));
  const auto kept = values_of(+x);
  const auto falsity = values_of(!x);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    EXPECT_EQ(real(negated[i]), -real(xs[i]));
    EXPECT_EQ(std::signbit(real(negated[i])), !std::signbit(real(xs[i])));
    EXPECT_EQ(real(absolute[i]), std::fabs(real(xs[i])));
    EXPECT_EQ(real(kept[i]), real(xs[i]));
    EXPECT_EQ(falsity[i], real(xs[i]) == 0);
  }
}
TYPED_TEST(FloatOperators, FmaRoundsOnce) {
  using E = TypeParam;
  using X = Tile<E, 4>;
  // (1 + u)(1 - u) - 1 = -u^2 with u two units: lost by a product that is rounded.
  const double u = std::is_same_v<E, double>
                       ? 0x1p-51
                       : (std::is_same_v<E, float> ? 0x1p-22 : (std::is_same_v<E, __half> ? 0x1p-9 : 0x1p-6));
  const X a = ct::full<X>(rounded<E>(1 + u));
  const X b = ct::full<X>(rounded<E>(1 - u));
  const auto result = values_of(ct::fma(a, b, ct::full<X>(rounded<E>(-1))));
  for (const E x : result) EXPECT_EQ(real(x), -u * u);
}

TEST(NanAndZero, ExtremaAndComparisons) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(ct::max(nan, 1.0F), 1.0F);
  EXPECT_EQ(ct::min(1.0F, nan), 1.0F);
  EXPECT_TRUE(std::isnan(ct::max(nan, nan)));
  EXPECT_TRUE(std::isnan(ct::max(nan, 1.0F, ct::propagate_nan_t{})));
  EXPECT_TRUE(std::isnan(ct::min(1.0F, nan, ct::propagate_nan_t{})));
  EXPECT_FALSE(std::signbit(ct::max(-0.0F, 0.0F)));
  EXPECT_TRUE(std::signbit(ct::min(0.0F, -0.0F)));
  const auto x = ct::full<Tile<float, 2>>(nan);
  for (const bool equal : values_of(x == x)) EXPECT_FALSE(equal);
  for (const bool differs : values_of(x != x)) EXPECT_TRUE(differs);
  EXPECT_TRUE(ct::isnan(nan));
  EXPECT_FALSE(ct::isnan(1.0F));
  EXPECT_TRUE(ct::isinf(-std::numeric_limits<float>::infinity()));
}

TEST(Subnormals, AreFlushedByTheTagOnly) {
  const float tiny = 0x1p-140F;
  EXPECT_EQ(ct::add(tiny, tiny), 0x1p-139F);
  EXPECT_EQ(ct::add(tiny, tiny, ct::round_ties_to_even_t{}, ct::round_subnormals_to_zero_t{}), 0.0F);
  EXPECT_TRUE(
      std::signbit(ct::mul(-0x1p-100F, 0x1p-40F, ct::round_ties_to_even_t{}, ct::round_subnormals_to_zero_t{})));
  EXPECT_EQ(ct::mul(0x1p-100F, 0x1p-30F), 0x1p-130F);
  EXPECT_EQ(ct::max(tiny, 0.0F, ct::suppress_nan_t{}, ct::round_subnormals_to_zero_t{}), 0.0F);
  EXPECT_EQ(ct::exp2(-140.0F), tiny);
  EXPECT_EQ(ct::exp2(-140.0F, ct::round_subnormals_to_zero_t{}), 0.0F);
  EXPECT_TRUE(std::isinf(ct::rsqrt(tiny, ct::round_subnormals_to_zero_t{})));
}

}  // namespace
}  // namespace kizami::tile_test
