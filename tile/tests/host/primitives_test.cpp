// SPDX-License-Identifier: MIT
// The worked examples of NVIDIA's guide to tile primitives, one test each: broadcasting, operators, products,
// reductions, scans, transposition, selection, mathematical functions. (What its table calls ill-formed is in
// language/ill_formed.txt.)
#include <gtest/gtest.h>

#include <cmath>

#include "tile/tests/host/tile_values.hpp"

namespace kizami::tile_test {

inline namespace KIZAMI_TILE_BACKEND {

/// z = 2 x + y.
__tile_global__ void scaled_sum(const float* x, const float* y, float* z, int n) {
  using Shape = ct::shape<8>;
  const auto bx = ct::bid().x;
  const ct::partition_view view_x{ct::tensor_span{x, ct::extents{n}}, Shape{}};
  const ct::partition_view view_y{ct::tensor_span{y, ct::extents{n}}, Shape{}};
  const ct::partition_view view_z{ct::tensor_span{z, ct::extents{n}}, Shape{}};
  view_z.store(2.0F * view_x.load(bx) + view_y.load(bx), bx);
}

}  // namespace KIZAMI_TILE_BACKEND

namespace {

using namespace ct::literals;

TEST(Primitives, RankPromotionAndStretching) {
  const auto x = ct::iota<ct::tile<int, ct::shape<8, 2>>>();
  const auto y = ct::iota<ct::tile<int, ct::shape<4, 1, 2>>>();
  const auto z = x + y;
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(z)>, ct::tile<int, ct::shape<4, 8, 2>>>);
  const auto values = values_of(z);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 8; ++j) {
      for (int k = 0; k < 2; ++k)
        EXPECT_EQ(values[static_cast<std::size_t>((i * 8 + j) * 2 + k)], 2 * j + k + 2 * i + k);
    }
  }
}
TEST(Primitives, TheWiderTypeWins) {
  using ShortTile = ct::tile<std::int16_t, ct::shape<4>>;
  using IntTile = ct::tile<std::int32_t, ct::shape<4>>;
  using FloatTile = ct::tile<float, ct::shape<4>>;
  static_assert(std::is_same_v<decltype(ShortTile{} + IntTile{}), IntTile>);
  static_assert(std::is_same_v<decltype(IntTile{} + FloatTile{}), FloatTile>);
  EXPECT_EQ(values_of(ct::full<IntTile>(3) + 2), (std::vector<int>{5, 5, 5, 5}));
}
TEST(Primitives, ScalarsInAKernel) {
  std::vector<float> x(16, 1.5F);
  std::vector<float> y(16, 0.25F);
  std::vector<float> z(16);
  ASSERT_TRUE(KIZAMI_TILE_LAUNCH(scaled_sum, 2, nullptr, x.data(), y.data(), z.data(), 16).ok());
  EXPECT_EQ(z, (std::vector<float>(16, 3.25F)));
}
TEST(Primitives, MatmulAndMma) {
  const auto a = ct::full<ct::tile<__half, ct::shape<4, 8>>>(2.0F);
  const auto b = ct::full<ct::tile<__half, ct::shape<8, 4>>>(0.5F);
  for (const float x : values_of(ct::element_cast<float>(ct::matmul(a, b)))) EXPECT_EQ(x, 8.0F);
  for (const float x : values_of(ct::mma(a, b, ct::full<ct::tile<float, ct::shape<4, 4>>>(1.0F)))) EXPECT_EQ(x, 9.0F);
}
TEST(Primitives, ReductionsKeepTheAxis) {
  const auto x = ct::iota<ct::tile<int, ct::shape<2, 4>>>();
  const auto sums = ct::sum(x, 1_ic);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(sums)>, ct::tile<int, ct::shape<2, 1>>>);
  EXPECT_EQ(values_of(sums), (std::vector<int>{6, 22}));
}
TEST(Primitives, ScansHaveTheShapeOfTheirArgument) {
  EXPECT_EQ(values_of(ct::partial_sum(ct::iota<ct::tile<int, ct::shape<2, 4>>>(), 1_ic)),
            (std::vector<int>{0, 1, 3, 6, 4, 9, 15, 22}));
}
TEST(Primitives, TransposeAndPermute) {
  const auto transposed = ct::transpose(ct::iota<ct::tile<int, ct::shape<2, 4>>>());
  EXPECT_EQ(values_of(transposed), (std::vector<int>{0, 4, 1, 5, 2, 6, 3, 7}));
  const auto permuted = ct::permute(ct::iota<ct::tile<int, ct::shape<2, 2, 2>>>(), ct::dimension_map{2_ic, 0_ic, 1_ic});
  EXPECT_EQ(values_of(permuted), (std::vector<int>{0, 2, 4, 6, 1, 3, 5, 7}));
}
TEST(Primitives, Selection) {
  using FloatTile = ct::tile<float, ct::shape<4>>;
  const auto condition = ct::iota<ct::tile<int, ct::shape<4>>>() < 2;
  EXPECT_EQ(values_of(ct::select(condition, ct::full<FloatTile>(1.0F), ct::full<FloatTile>(-1.0F))),
            (std::vector<float>{1, 1, -1, -1}));
}
TEST(Primitives, MathematicsOnScalars) {
  // A scalar is a tile of rank 0 to every function.
  using One = ct::tile<float, ct::shape<1>>;
  const auto first = [](const auto& tile) { return values_of(tile)[0]; };
  const float x = 0.75F;
  const auto t = ct::full<One>(x);
  EXPECT_EQ(ct::exp(x), first(ct::exp(t)));
  EXPECT_EQ(ct::exp2(x), first(ct::exp2(t)));
  EXPECT_EQ(ct::log(x), first(ct::log(t)));
  EXPECT_EQ(ct::log2(x), first(ct::log2(t)));
  EXPECT_EQ(ct::sqrt(x), first(ct::sqrt(t)));
  EXPECT_EQ(ct::rsqrt(x), first(ct::rsqrt(t)));
  EXPECT_EQ(ct::sin(x), first(ct::sin(t)));
  EXPECT_EQ(ct::cos(x), first(ct::cos(t)));
  EXPECT_EQ(ct::tan(x), first(ct::tan(t)));
  EXPECT_EQ(ct::sinh(x), first(ct::sinh(t)));
  EXPECT_EQ(ct::cosh(x), first(ct::cosh(t)));
  EXPECT_EQ(ct::tanh(x), first(ct::tanh(t)));
  EXPECT_EQ(ct::floor(x), 0.0F);
  EXPECT_EQ(ct::ceil(x), 1.0F);
  EXPECT_EQ(ct::pow(x, 2.0F), first(ct::pow(t, 2.0F)));
  EXPECT_EQ(ct::min(x, 2.0F) + ct::max(x, 2.0F), 2.75F);
  EXPECT_EQ(
      ct::add(1, 2) + ct::sub(5, 3) + ct::mul(2, 3) + ct::floordiv(-7, 2) + ct::ceildiv(7, 2) + ct::remainder(-7, 2),
      10);
}

}  // namespace
}  // namespace kizami::tile_test
