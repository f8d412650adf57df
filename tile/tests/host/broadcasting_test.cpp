// SPDX-License-Identifier: MIT
// Broadcasting: every rank from 0 to 4 and every way in which two shapes can meet, for an operation that keeps the type
// and one that does not; and the shape of the result by NumPy's rule.
#include "tile/tests/host/elementwise_case.hpp"

namespace kizami::tile_test {
namespace {

template <class E>
class Broadcasting : public testing::Test {};
using Elements = testing::Types<float, std::int16_t, __half>;
TYPED_TEST_SUITE(Broadcasting, Elements);

TYPED_TEST(Broadcasting, PairsElementsAsNumPyDoes) {
  using E = TypeParam;
  const auto number = [](E x) { return static_cast<float>(x); };
  expect_all_patterns<E>(
      "-", [](auto a, auto b) { return a - b; }, [&](E a, E b) { return E(number(a) - number(b)); });
  expect_all_patterns<E>(
      "<", [](auto a, auto b) { return a < b; }, [&](E a, E b) { return number(a) < number(b); });
}

static_assert(std::is_same_v<decltype(Tile<int, 8, 2>{} + Tile<int, 4, 1, 2>{}), Tile<int, 4, 8, 2>>);
static_assert(std::is_same_v<decltype(Tile<int, 1, 4, 1, 2>{} + Tile<int, 2, 1, 4, 1>{}), Tile<int, 2, 4, 4, 2>>);
static_assert(std::is_same_v<decltype(Tile<int, 4>{} + Tile<int>{}), Tile<int, 4>>);
static_assert(std::is_same_v<decltype(Tile<int>{} + 1), Tile<int>>);

}  // namespace
}  // namespace kizami::tile_test
