// SPDX-License-Identifier: MIT
// mma and matmul for every pair of types, for shapes around every path of the kernels, single and batched. The values
// are small integers, so that every order of summation gives the same FP32, and INT32 at its ends.
#include <gtest/gtest.h>

#include <limits>

#include "tile/tests/host/tile_values.hpp"

namespace kizami::tile_test {
namespace {

using namespace ct::literals;

template <class E, std::size_t... kExtents>
using Tile = ct::tile<E, ct::shape<kExtents...>>;

template <class E>
E from_float(float x) {
  if constexpr (std::is_same_v<E, __nv_tf32>) {
    return ct::element_cast<__nv_tf32>(x);
  } else {
    return static_cast<E>(x);
  }
}
template <class E>
double number(E x) {
  if constexpr (std::is_same_v<E, __nv_tf32>) {
    return static_cast<double>(ct::element_cast<float>(x));
  } else {
    return static_cast<double>(static_cast<float>(x));
  }
}
/// -3 .. 4, or 0 .. 7 of unsigned types; every format holds them.
template <class E>
E small_integer(std::size_t i) {
  const int value = static_cast<int>(i * 5 % 8) - (std::is_unsigned_v<E> ? 0 : 3);
  return from_float<E>(static_cast<float>(value));
}

/// acc + a b, batch by batch.
template <class A, class B, class Acc>
void expect_mma() {
  const A a = tile_of<A>([](std::size_t i) { return small_integer<ct::tile_element_t<A>>(i); });
  const B b = tile_of<B>([](std::size_t i) { return small_integer<ct::tile_element_t<B>>(i + 3); });
  const Acc acc = tile_of<Acc>([](std::size_t i) { return static_cast<float>(static_cast<int>(i % 9) - 4); });
  const auto as = values_of(a);
  const auto bs = values_of(b);
  const auto accs = values_of(acc);
  const auto actual = values_of(ct::mma(a, b, acc));
  constexpr std::size_t kRank = ct::tile_rank_v<Acc>;
  const std::size_t rows = Acc::shape_type::static_extent(kRank - 2);
  const std::size_t cols = Acc::shape_type::static_extent(kRank - 1);
  const std::size_t depth = A::shape_type::static_extent(kRank - 1);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const std::size_t batch = i / (rows * cols);
    const std::size_t a_first = as.size() == rows * depth ? 0 : batch * rows * depth;
    const std::size_t b_first = bs.size() == depth * cols ? 0 : batch * depth * cols;
    double expected = number(accs[i]);
    for (std::size_t l = 0; l < depth; ++l) {
      expected += number(as[a_first + i / cols % rows * depth + l]) * number(bs[b_first + l * cols + i % cols]);
    }
    ASSERT_EQ(number(actual[i]), expected) << "element " << i << " of " << rows << " x " << cols << " x " << depth;
  }
}

TEST(Mma, ShapesAroundThePathsOfTheKernels) {
  expect_mma<Tile<float, 1, 1>, Tile<float, 1, 1>, Tile<float, 1, 1>>();
  expect_mma<Tile<float, 4, 8>, Tile<float, 8, 2>, Tile<float, 4, 2>>();
  expect_mma<Tile<float, 1, 32>, Tile<float, 32, 8>, Tile<float, 1, 8>>();
  expect_mma<Tile<float, 2, 2>, Tile<float, 2, 16>, Tile<float, 2, 16>>();
  expect_mma<Tile<float, 8, 16>, Tile<float, 16, 32>, Tile<float, 8, 32>>();
  expect_mma<Tile<float, 64, 64>, Tile<float, 64, 64>, Tile<float, 64, 64>>();
  expect_mma<Tile<float, 32, 16>, Tile<float, 16, 128>, Tile<float, 32, 128>>();
  expect_mma<Tile<double, 16, 8>, Tile<double, 8, 64>, Tile<double, 16, 64>>();
  expect_mma<Tile<double, 4, 4>, Tile<double, 4, 4>, Tile<double, 4, 4>>();
}

template <class Pair>
class MmaTypes : public testing::Test {};
template <class A, class B, class Acc>
struct Types {
  using First = A;
  using Second = B;
  using Sum = Acc;
};
using Pairs =
    testing::Types<Types<__nv_fp8_e4m3, __nv_fp8_e4m3, __half>, Types<__nv_fp8_e4m3, __nv_fp8_e4m3, float>,
                   Types<__nv_fp8_e5m2, __nv_fp8_e5m2, __half>, Types<__nv_fp8_e5m2, __nv_fp8_e5m2, float>,
                   Types<__half, __half, __half>, Types<__half, __half, float>,
                   Types<__nv_bfloat16, __nv_bfloat16, float>, Types<__nv_tf32, __nv_tf32, float>,
                   Types<float, float, float>, Types<double, double, double>, Types<std::int8_t, std::int8_t, int>,
                   Types<std::int8_t, std::uint8_t, int>, Types<std::uint8_t, std::int8_t, int>,
                   Types<std::uint8_t, std::uint8_t, int>, Types<bool, std::int8_t, int>>;
TYPED_TEST_SUITE(MmaTypes, Pairs);

TYPED_TEST(MmaTypes, MultiplyExactly) {
  using A = typename TypeParam::First;
  using B = typename TypeParam::Second;
  using Acc = typename TypeParam::Sum;
  expect_mma<Tile<A, 16, 32>, Tile<B, 32, 16>, Tile<Acc, 16, 16>>();
  expect_mma<Tile<A, 2, 4, 8>, Tile<B, 2, 8, 2>, Tile<Acc, 2, 4, 2>>();
  expect_mma<Tile<A, 1, 4, 8>, Tile<B, 2, 8, 2>, Tile<Acc, 2, 4, 2>>();
}

TEST(Matmul, StartsFromZeroAndHasItsOwnResultType) {
  const auto a = ct::full<Tile<__half, 4, 8>>(0.5F);
  const auto b = ct::full<Tile<__half, 8, 2>>(3.0F);
  const auto product = ct::matmul(a, b);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(product)>, Tile<__half, 4, 2>>);
  for (const __half x : values_of(product)) EXPECT_EQ(static_cast<float>(x), 12.0F);
  const auto wide = ct::matmul(ct::full<Tile<std::uint8_t, 2, 1, 4>>(255), ct::full<Tile<std::uint8_t, 1, 4, 1>>(255));
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(wide)>, Tile<int, 2, 1, 1>>);
  EXPECT_EQ(values_of(wide), (std::vector<int>{4 * 255 * 255, 4 * 255 * 255}));
}

TEST(Mma, Int8IsExactToTheEndsOfInt32) {
  // The largest products, through several blocks of k, to the last value of INT32 and back.
  constexpr std::size_t kDepth = 1024;
  const auto bytes = ct::full<Tile<std::uint8_t, 1, kDepth>>(255);
  const auto column = ct::full<Tile<std::uint8_t, kDepth, 1>>(255);
  constexpr int kSum = 1024 * 255 * 255;
  const auto start = ct::full<Tile<int, 1, 1>>(std::numeric_limits<int>::max() - kSum);
  EXPECT_EQ(values_of(ct::mma(bytes, column, start))[0], std::numeric_limits<int>::max());
  const auto low = ct::full<Tile<std::int8_t, 1, kDepth>>(-128);
  const auto high = ct::full<Tile<std::int8_t, kDepth, 1>>(127);
  EXPECT_EQ(values_of(ct::mma(low, high, ct::full<Tile<int, 1, 1>>(5)))[0], 5 - 1024 * 128 * 127);
}

TEST(Mma, NarrowProductsAreNotRoundedBeforeTheSum) {
  // (1 + 2^-10)^2 has 21 bits, which FP16 does not hold and FP32 does.
  const auto a = ct::full<Tile<__half, 1, 1>>(1.0F + 0x1p-10F);
  const auto b = ct::reshape(a, ct::shape<1, 1>{});
  const auto acc = ct::full<Tile<float, 1, 1>>(-1.0F);
  EXPECT_EQ(values_of(ct::mma(a, b, acc))[0], 0x1p-9F + 0x1p-20F);
}

}  // namespace
}  // namespace kizami::tile_test
