// SPDX-License-Identifier: MIT
// Reductions and scans along every dimension, of values whose sums and products every order gives exactly.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tile/tests/host/tile_values.hpp"

namespace kizami::tile_test {
namespace {

using namespace ct::literals;

template <class E, std::size_t... kExtents>
using Tile = ct::tile<E, ct::shape<kExtents...>>;

template <class E>
E small_value(std::size_t i) {
  const int value = static_cast<int>(i * 5 % 7) - (std::is_unsigned_v<E> ? 0 : 3);
  return static_cast<E>(static_cast<float>(value));
}
/// 1, 2, -1 or, of unsigned types, 1, 2, 1: products of eight fit 8 bits.
template <class E>
E small_factor(std::size_t i) {
  const int value = i % 5 == 0 ? 2 : (i % 3 == 0 && !std::is_unsigned_v<E> ? -1 : 1);
  return static_cast<E>(static_cast<float>(value));
}

/// The elements of x along kDim through the first element `first`, folded by f.
template <std::size_t kDim, class X, class R, class F>
void expect_reduced(const X& x, const R& actual, const F& f) {
  static_assert(R::shape_type::static_extent(kDim) == 1);
  const auto xs = values_of(x);
  const auto values = values_of(actual);
  const Dims dims = dims_of<X>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    Dims c = coordinates(dims_of<R>(), i);
    std::vector<double> line;
    for (c[kDim] = 0; c[kDim] < dims[kDim]; ++c[kDim])
      line.push_back(static_cast<double>(static_cast<float>(xs[flat_index(dims, c)])));
    ASSERT_EQ(static_cast<double>(static_cast<float>(values[i])), f(line)) << "dimension " << kDim << ", element " << i;
  }
}

double sum_of(const std::vector<double>& line) {
  double sum = 0;
  for (const double x : line) sum += x;
  return sum;
}
double product_of(const std::vector<double>& line) {
  double product = 1;
  for (const double x : line) product *= x;
  return product;
}
double largest_of(const std::vector<double>& line) { return *std::max_element(line.begin(), line.end()); }
double smallest_of(const std::vector<double>& line) { return *std::min_element(line.begin(), line.end()); }
double where_largest(const std::vector<double>& line) {
  return static_cast<double>(std::max_element(line.begin(), line.end()) - line.begin());
}
double where_smallest(const std::vector<double>& line) {
  return static_cast<double>(std::min_element(line.begin(), line.end()) - line.begin());
}

template <std::size_t kDim, class X>
void expect_all_reductions() {
  using E = ct::tile_element_t<X>;
  constexpr ct::integral_constant<kDim> kAlong{};
  const X x = tile_of<X>(small_value<E>);
  const X factors = tile_of<X>(small_factor<E>);
  expect_reduced<kDim>(x, ct::sum(x, kAlong), sum_of);
  expect_reduced<kDim>(factors, ct::prod(factors, kAlong), product_of);
  expect_reduced<kDim>(x, ct::reduce_max(x, kAlong), largest_of);
  expect_reduced<kDim>(x, ct::reduce_min(x, kAlong), smallest_of);
  expect_reduced<kDim>(x, ct::max_element(x, kAlong), where_largest);
  expect_reduced<kDim>(x, ct::min_element(x, kAlong), where_smallest);
  expect_reduced<kDim>(x, ct::all_of(x, kAlong), [](const auto& line) {
    return std::all_of(line.begin(), line.end(), [](double e) { return e != 0; });
  });
  expect_reduced<kDim>(x, ct::any_of(x, kAlong), [](const auto& line) {
    return std::any_of(line.begin(), line.end(), [](double e) { return e != 0; });
  });
}

/// Element by element: a scan is a reduction of what lies before.
template <std::size_t kDim, class X>
void expect_all_scans() {
  using E = ct::tile_element_t<X>;
  constexpr ct::integral_constant<kDim> kAlong{};
  const X x = tile_of<X>(small_value<E>);
  const X factors = tile_of<X>(small_factor<E>);
  const Dims dims = dims_of<X>();
  const auto expect_scan = [&](const X& source, const X& actual, bool is_forward, auto fold) {
    const auto xs = values_of(source);
    const auto values = values_of(actual);
    for (std::size_t i = 0; i < values.size(); ++i) {
      Dims c = coordinates(dims, i);
      const std::size_t at = c[kDim];
      std::vector<double> line;
      for (c[kDim] = is_forward ? 0 : at; c[kDim] <= (is_forward ? at : dims[kDim] - 1); ++c[kDim]) {
        line.push_back(static_cast<double>(static_cast<float>(xs[flat_index(dims, c)])));
      }
      ASSERT_EQ(static_cast<double>(static_cast<float>(values[i])), fold(line)) << i;
    }
  };
  expect_scan(x, ct::partial_sum(x, kAlong), true, sum_of);
  expect_scan(x, ct::partial_sum(x, kAlong, ct::scan_backward_t{}), false, sum_of);
  expect_scan(factors, ct::partial_prod(factors, kAlong), true, product_of);
  expect_scan(factors, ct::partial_prod(factors, kAlong, ct::scan_backward_t{}), false, product_of);
}

template <class E>
class Reductions : public testing::Test {};
using Elements = testing::Types<std::int8_t, std::uint16_t, std::int64_t, __half, __nv_bfloat16, float, double>;
TYPED_TEST_SUITE(Reductions, Elements);

TYPED_TEST(Reductions, AlongEachDimension) {
  expect_all_reductions<0, Tile<TypeParam, 8>>();
  expect_all_reductions<1, Tile<TypeParam, 2, 8>>();
  expect_all_reductions<0, Tile<TypeParam, 8, 4>>();
}
TYPED_TEST(Reductions, Scans) {
  expect_all_scans<0, Tile<TypeParam, 8>>();
  expect_all_scans<1, Tile<TypeParam, 2, 8>>();
}
TEST(ReductionShapes, OfRankThreeAndFour) {
  expect_all_reductions<1, Tile<float, 2, 4, 2>>();
  expect_all_reductions<2, Tile<float, 2, 1, 8, 2>>();
  expect_all_reductions<0, Tile<float, 1, 4>>();
  expect_all_scans<1, Tile<int, 2, 4, 2>>();
  expect_all_scans<2, Tile<int, 2, 1, 4, 2>>();
}

TEST(ReductionBits, CombineIntegers) {
  const auto x = tile_of<Tile<unsigned, 2, 4>>([](std::size_t i) { return 0xF0F0U >> i; });
  EXPECT_EQ(values_of(ct::reduce_bitand(x, 0_ic)),
            (std::vector<unsigned>{0xF0F0U & 0xF0FU, 0x7878U & 0x787U, 0x3C3CU & 0x3C3U, 0x1E1EU & 0x1E1U}));
  EXPECT_EQ(values_of(ct::reduce_bitor(x, 1_ic)),
            (std::vector<unsigned>{0xF0F0U | 0x7878U | 0x3C3CU | 0x1E1EU, 0xF0FU | 0x787U | 0x3C3U | 0x1E1U}));
  EXPECT_EQ(values_of(ct::reduce_bitxor(x, 1_ic)),
            (std::vector<unsigned>{0xF0F0U ^ 0x7878U ^ 0x3C3CU ^ 0x1E1EU, 0xF0FU ^ 0x787U ^ 0x3C3U ^ 0x1E1U}));
}

TEST(ReductionTags, RoundAndPropagate) {
  // 1 + 2^-24 + 2^-24 in any order: up is above 1 + 2^-23 at most, down is 1.
  const auto x = tile_of<Tile<float, 4>>([](std::size_t i) { return i == 0 ? 1.0F : (i < 3 ? 0x1p-25F : 0.0F); });
  EXPECT_EQ(values_of(ct::sum(x, 0_ic, ct::round_toward_negative_t{}))[0], 1.0F);
  EXPECT_GT(values_of(ct::sum(x, 0_ic, ct::round_toward_positive_t{}))[0], 1.0F);
  EXPECT_EQ(values_of(ct::partial_sum(x, 0_ic, ct::round_toward_zero_t{}, ct::preserve_subnormals_t{},
                                      ct::scan_backward_t{}))[0],
            1.0F);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto y = tile_of<Tile<float, 4>>([&](std::size_t i) { return i == 1 ? nan : static_cast<float>(i); });
  EXPECT_EQ(values_of(ct::reduce_max(y, 0_ic))[0], 3.0F);
  EXPECT_TRUE(std::isnan(values_of(ct::reduce_max(y, 0_ic, ct::propagate_nan_t{}))[0]));
  EXPECT_EQ(values_of(ct::max_element(y, 0_ic))[0], 3U);
  EXPECT_EQ(values_of(ct::min_element(y, 0_ic))[0], 0U);
}

}  // namespace
}  // namespace kizami::tile_test
