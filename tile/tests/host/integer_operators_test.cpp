// SPDX-License-Identifier: MIT
// Every operation on integers, for types of every width and signedness, against 128-bit arithmetic.
#include "tile/tests/host/elementwise_case.hpp"

namespace kizami::tile_test {
namespace {

__extension__ typedef __int128 Wide;

template <class E>
Wide wide(E x) {
  return static_cast<Wide>(x);
}
/// The residue of x in E, as two's complement has it.
template <class E>
E wrapped(Wide x) {
  if constexpr (std::is_same_v<E, bool>) return (x & 1) != 0;
  return static_cast<E>(static_cast<std::uint64_t>(x));
}
Wide floor_quotient(Wide a, Wide b) {
  const Wide q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

template <class E>
class IntegerOperators : public testing::Test {};
using Integers = testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint32_t, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(IntegerOperators, Integers);

TYPED_TEST(IntegerOperators, AddSubtractMultiply) {
  using E = TypeParam;
  expect_broadcast<E>(
      "+", [](auto a, auto b) { return a + b; }, [](E a, E b) { return wrapped<E>(wide(a) + wide(b)); });
  expect_broadcast<E>(
      "-", [](auto a, auto b) { return a - b; }, [](E a, E b) { return wrapped<E>(wide(a) - wide(b)); });
  expect_broadcast<E>(
      "*", [](auto a, auto b) { return a * b; }, [](E a, E b) { return wrapped<E>(wide(a) * wide(b)); });
}
TYPED_TEST(IntegerOperators, Divisions) {
  using E = TypeParam;
  expect_broadcast<E>(
      "/", [](auto a, auto b) { return a / b; }, [](E a, E b) { return wrapped<E>(wide(a) / wide(b)); }, true);
  expect_broadcast<E>(
      "%", [](auto a, auto b) { return a % b; }, [](E a, E b) { return wrapped<E>(wide(a) % wide(b)); }, true);
  expect_broadcast<E>(
      "remainder", [](auto a, auto b) { return ct::remainder(a, b); },
      [](E a, E b) { return wrapped<E>(wide(a) % wide(b)); }, true);
  expect_broadcast<E>(
      "floordiv", [](auto a, auto b) { return ct::floordiv(a, b); },
      [](E a, E b) { return wrapped<E>(floor_quotient(wide(a), wide(b))); }, true);
  expect_broadcast<E>(
      "ceildiv", [](auto a, auto b) { return ct::ceildiv(a, b); },
      [](E a, E b) { return wrapped<E>(-floor_quotient(-wide(a), wide(b))); }, true);
}
TYPED_TEST(IntegerOperators, Bits) {
  using E = TypeParam;
  expect_broadcast<E>(
      "&", [](auto a, auto b) { return a & b; }, [](E a, E b) { return wrapped<E>(wide(a) & wide(b)); });
  expect_broadcast<E>(
      "|", [](auto a, auto b) { return a | b; }, [](E a, E b) { return wrapped<E>(wide(a) | wide(b)); });
  expect_broadcast<E>(
      "^", [](auto a, auto b) { return a ^ b; }, [](E a, E b) { return wrapped<E>(wide(a) ^ wide(b)); });
  // Counts in [0, 8).
  expect_broadcast<E>(
      "<<", [](auto a, auto b) { return a << (b & E{7}); }, [](E a, E b) { return wrapped<E>(wide(a) << (b & 7)); });
  expect_broadcast<E>(
      ">>", [](auto a, auto b) { return a >> (b & E{7}); }, [](E a, E b) { return wrapped<E>(wide(a) >> (b & 7)); });
}
TYPED_TEST(IntegerOperators, ExtremaAndHighHalf) {
  using E = TypeParam;
  expect_broadcast<E>(
      "min", [](auto a, auto b) { return ct::min(a, b); }, [](E a, E b) { return a < b ? a : b; });
  expect_broadcast<E>(
      "max", [](auto a, auto b) { return ct::max(a, b); }, [](E a, E b) { return a < b ? b : a; });
  expect_broadcast<E>(
      "mulhi", [](auto a, auto b) { return ct::mulhi(a, b); },
      [](E a, E b) {
        using Bits = std::make_unsigned_t<E>;
        __extension__ typedef unsigned __int128 UnsignedWide;
        const auto product = static_cast<UnsignedWide>(static_cast<Bits>(a)) * static_cast<Bits>(b);
        return static_cast<E>(static_cast<Bits>(product >> (8 * sizeof(E))));
      });
}
TYPED_TEST(IntegerOperators, Comparisons) {
  using E = TypeParam;
  expect_broadcast<E>(
      "<", [](auto a, auto b) { return a < b; }, [](E a, E b) { return wide(a) < wide(b); });
  expect_broadcast<E>(
      "<=", [](auto a, auto b) { return a <= b; }, [](E a, E b) { return wide(a) <= wide(b); });
  expect_broadcast<E>(
      ">", [](auto a, auto b) { return a > b; }, [](E a, E b) { return wide(a) > wide(b); });
  expect_broadcast<E>(
      ">=", [](auto a, auto b) { return a >= b; }, [](E a, E b) { return wide(a) >= wide(b); });
  expect_broadcast<E>(
      "==", [](auto a, auto b) { return a == b; }, [](E a, E b) { return wide(a) == wide(b); });
  expect_broadcast<E>(
      "!=", [](auto a, auto b) { return a != b; }, [](E a, E b) { return wide(a) != wide(b); });
  expect_broadcast<E>(
      "&&", [](auto a, auto b) { return a && b; }, [](E a, E b) { return a != 0 && b != 0; });
  expect_broadcast<E>(
      "||", [](auto a, auto b) { return a || b; }, [](E a, E b) { return a != 0 || b != 0; });
}
TYPED_TEST(IntegerOperators, Unary) {
  using E = TypeParam;
  using X = Tile<E, 2, 4>;
  const X x = test_operand<X>(1, false);
  const auto xs = values_of(x);
  const auto negated = values_of(-x);
  const auto absolute = values_of(ct::abs(x));
  const auto complement = values_of(~x);
  const auto falsity = values_of(!x);
  const auto promoted = values_of(+x);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    EXPECT_EQ(negated[i], wrapped<E>(-wide(xs[i])));
    EXPECT_EQ(absolute[i], wide(xs[i]) < 0 ? wrapped<E>(-wide(xs[i])) : xs[i]);
    EXPECT_EQ(complement[i], wrapped<E>(~wide(xs[i])));
    EXPECT_EQ(falsity[i], xs[i] == 0);
    EXPECT_EQ(wide(promoted[i]), wide(xs[i]));
  }
}
TYPED_TEST(IntegerOperators, ExtremeValuesWrap) {
  using E = TypeParam;
  constexpr E kMin = std::numeric_limits<E>::min();
  constexpr E kMax = std::numeric_limits<E>::max();
  using X = Tile<E, 4>;
  const auto corner =
      tile_of<X>([&](std::size_t i) { return i == 0 ? kMin : (i == 1 ? kMax : (i == 2 ? E{0} : E{1})); });
  const auto xs = values_of(corner);
  const auto doubled = values_of(corner + corner);
  const auto squared = values_of(corner * corner);
  const auto over_minus_one = values_of(corner / ct::full<X>(static_cast<E>(-1)));
  for (std::size_t i = 0; i < xs.size(); ++i) {
    EXPECT_EQ(doubled[i], wrapped<E>(2 * wide(xs[i])));
    const auto bits = static_cast<std::uint64_t>(wide(xs[i]));
    EXPECT_EQ(squared[i], wrapped<E>(static_cast<Wide>(bits * bits)));
    EXPECT_EQ(over_minus_one[i], wrapped<E>(wide(xs[i]) / wide(static_cast<E>(-1))));
  }
}

TEST(BoolOperators, AreOneBitArithmetic) {
  using X = Tile<bool, 4>;
  const auto a = tile_of<X>([](std::size_t i) { return i % 2 != 0; });
  const auto b = tile_of<X>([](std::size_t i) { return i / 2 != 0; });
  using Bools = std::vector<unsigned char>;
  const auto bits = [](const auto& x) { return values_of(x); };
  EXPECT_EQ(bits(a & b), (Bools{false, false, false, true}));
  EXPECT_EQ(bits(a | b), (Bools{false, true, true, true}));
  EXPECT_EQ(bits(a ^ b), (Bools{false, true, true, false}));
  EXPECT_EQ(bits(a && b), (Bools{false, false, false, true}));
  EXPECT_EQ(bits(a || b), (Bools{false, true, true, true}));
  EXPECT_EQ(bits(!a), (Bools{true, false, true, false}));
  EXPECT_EQ(bits(~a), (Bools{true, false, true, false}));
  EXPECT_EQ(bits(a == b), (Bools{true, false, false, true}));
}

TEST(MixedTypes, FollowTheTile) {
  using namespace ct::literals;
  const auto a = tile_of<Tile<short, 4>>([](std::size_t i) { return static_cast<int>(i) - 2; });
  static_assert(std::is_same_v<decltype(a + a), Tile<short, 4>>, "no integral promotion");
  const auto b = tile_of<Tile<int, 4>>([](std::size_t i) { return 100 * static_cast<int>(i); });
  EXPECT_EQ(values_of(a + b), (std::vector<int>{-2, 99, 200, 301}));
  EXPECT_EQ(values_of(a * ct::full<Tile<float, 4>>(0.5F)), (std::vector<float>{-1, -0.5F, 0, 0.5F}));
  EXPECT_EQ(values_of(2 * ct::full<Tile<float, 2>>(0.25F)), (std::vector<float>{0.5F, 0.5F}));
}

}  // namespace
}  // namespace kizami::tile_test
