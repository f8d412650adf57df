// SPDX-License-Identifier: MIT
// Creation and movement of elements: full, zeros, ones, iota, reshape, broadcast, transpose, permute, cat, extract,
// select, for ranks 0 to 4, against index arithmetic at run time.
#include <gtest/gtest.h>

#include <functional>

#include "tile/tests/host/tile_values.hpp"

namespace kizami::tile_test {
namespace {

using namespace ct::literals;

template <class E, std::size_t... kExtents>
using Tile = ct::tile<E, ct::shape<kExtents...>>;

/// Checks that element c of `actual` is element source(c) of a tile that holds its own flat indices.
template <class Source, class Result>
void expect_moved(const Result& actual, const std::function<Dims(const Dims&)>& source) {
  const Dims to = dims_of<Result>();
  const Dims from = dims_of<Source>();
  const auto values = values_of(actual);
  ASSERT_EQ(values.size(), size_of(to));
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(static_cast<std::size_t>(values[i]), flat_index(from, source(coordinates(to, i)))) << i;
  }
}

TEST(Create, FillsAndCounts) {
  EXPECT_EQ(values_of(ct::full<Tile<int, 2, 2>>(7)), (std::vector<int>{7, 7, 7, 7}));
  EXPECT_EQ(values_of(ct::zeros<Tile<double, 2>>()), (std::vector<double>{0, 0}));
  EXPECT_EQ(static_cast<float>(values_of(ct::ones<Tile<__nv_fp8_e4m3, 1>>())[0]), 1.0F);
  EXPECT_EQ(values_of(ct::iota<Tile<std::int8_t, 2, 4>>()), (std::vector<std::int8_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(values_of(ct::iota<Tile<std::uint8_t, 256>>())[255], 255);
  EXPECT_EQ(ct::full<float>(2), 2.0F);
  EXPECT_EQ(ct::iota<int>(), 0);
  EXPECT_EQ(values_of(ct::full<Tile<int>>(3)), (std::vector<int>{3}));
}

TEST(Reshape, KeepsRowMajorOrder) {
  const auto x = ct::iota<Tile<int, 4, 8>>();
  EXPECT_EQ(values_of(ct::reshape(x, ct::shape<2, 2, 4, 2>{})), values_of(x));
  EXPECT_EQ(values_of(ct::reshape<ct::shape<32>>(x)), values_of(x));
  EXPECT_EQ(values_of(ct::reshape(5.0F, ct::shape<1, 1>{})), (std::vector<float>{5}));
}

TEST(Broadcast, StretchesOnesAndAddsDimensions) {
  expect_moved<Tile<int, 2, 1, 4>>(ct::broadcast(ct::iota<Tile<int, 2, 1, 4>>(), ct::shape<4, 2, 8, 4>{}),
                                   [](const Dims& c) {
                                     return Dims{c[1], 0, c[3]};
                                   });
  expect_moved<Tile<int, 1, 4>>(ct::broadcast(ct::iota<Tile<int, 1, 4>>(), ct::shape<2, 4>{}), [](const Dims& c) {
    return Dims{0, c[1]};
  });
  EXPECT_EQ(values_of(ct::broadcast(3, ct::shape<2, 2>{})), (std::vector<int>{3, 3, 3, 3}));
}

TEST(Transpose, SwapsTheFirstTwoDimensions) {
  expect_moved<Tile<int, 2, 8>>(ct::transpose(ct::iota<Tile<int, 2, 8>>()), [](const Dims& c) {
    return Dims{c[1], c[0]};
  });
  expect_moved<Tile<int, 2, 4, 8>>(ct::transpose(ct::iota<Tile<int, 2, 4, 8>>()), [](const Dims& c) {
    return Dims{c[1], c[0], c[2]};
  });
  EXPECT_EQ(values_of(ct::transpose(ct::iota<Tile<int, 4>>())), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(ct::transpose(5), 5);
}

TEST(Permute, TakesDimensionsFromTheMap) {
  using X = Tile<int, 2, 4, 8>;
  const auto x = ct::iota<X>();
  expect_moved<X>(ct::permute(x, ct::dimension_map{2_ic, 0_ic, 1_ic}), [](const Dims& c) {
    return Dims{c[1], c[2], c[0]};
  });
  expect_moved<X>(ct::permute(x, ct::dimension_map<1, 2, 0>{}), [](const Dims& c) { return Dims{c[2], c[0], c[1]}; });
  expect_moved<X>(ct::permute<ct::dimension_map<0, 1, 2>>(x), [](const Dims& c) { return c; });
  using Y = Tile<int, 2, 1, 4, 2>;
  expect_moved<Y>(ct::permute(ct::iota<Y>(), ct::dimension_map<3, 2, 1, 0>{}), [](const Dims& c) {
    return Dims{c[3], c[2], c[1], c[0]};
  });
}

template <std::size_t kDim, class X>
void expect_cat() {
  const auto a = ct::iota<X>();
  const auto b = a + 1000;
  const auto joined = ct::cat(a, b, ct::integral_constant<kDim>{});
  const Dims from = dims_of<X>();
  const Dims to = dims_of<std::remove_cvref_t<decltype(joined)>>();
  const auto values = values_of(joined);
  for (std::size_t i = 0; i < values.size(); ++i) {
    Dims c = coordinates(to, i);
    const bool is_second = c[kDim] >= from[kDim];
    if (is_second) c[kDim] -= from[kDim];
    ASSERT_EQ(values[i], static_cast<int>(flat_index(from, c)) + (is_second ? 1000 : 0));
  }
}
TEST(Cat, JoinsAlongEachDimension) {
  expect_cat<0, Tile<int, 4>>();
  expect_cat<0, Tile<int, 2, 4>>();
  expect_cat<1, Tile<int, 2, 4>>();
  expect_cat<1, Tile<int, 2, 4, 2>>();
  expect_cat<2, Tile<int, 2, 1, 4, 2>>();
}

TEST(Extract, CountsInSubTiles) {
  using X = Tile<int, 4, 8>;
  const auto x = ct::iota<X>();
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      expect_moved<X>(ct::extract(x, ct::shape<2, 2>{}, i, j), [&](const Dims& c) {
        return Dims{2 * i + c[0], 2 * j + c[1]};
      });
    }
  }
  expect_moved<Tile<int, 2, 2, 2, 4>>(
      ct::extract(ct::iota<Tile<int, 2, 2, 2, 4>>(), ct::shape<1, 2, 1, 2>{}, 1, 0, 1, 1), [](const Dims& c) {
        return Dims{1 + c[0], c[1], 1 + c[2], 2 + c[3]};
      });
}

TEST(Select, ChoosesElementwise) {
  const auto a = ct::iota<Tile<int, 2, 4>>();
  const auto b = -a;
  EXPECT_EQ(values_of(ct::select(a % 2 == 0, a, b)), (std::vector<int>{0, -1, 2, -3, 4, -5, 6, -7}));
  EXPECT_EQ(values_of(ct::select(ct::iota<Tile<int, 4>>() < 2, a, b)), (std::vector<int>{0, 1, -2, -3, 4, 5, -6, -7}));
  EXPECT_EQ(values_of(ct::select(false, a, b)), values_of(b));
  EXPECT_EQ(ct::select(true, 1, 2), 1);
  EXPECT_EQ(values_of(ct::select(ct::full<Tile<float, 1>>(0.5F), a, b)), values_of(a)) << "any number is a condition";
}

}  // namespace
}  // namespace kizami::tile_test
