// SPDX-License-Identifier: MIT
// One elementwise operation on tiles against the same operation on single numbers, paired by NumPy's broadcasting rule.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "tile/tests/host/tile_values.hpp"

namespace kizami::tile_test {

/// Numbers as the reference computes with them: exact for every integer and every product, sum and quotient needed
/// here.
template <class E>
inline constexpr bool kIsInteger = std::is_integral_v<E>;

/// The i-th of a series of test values of type E, of either sign where E has signs. @range small enough for products
template <class E>
E test_value(std::size_t i, std::size_t salt) {
  const int value = static_cast<int>((i * 7 + salt * 5 + 3) % 17) - 8;
  if constexpr (std::is_same_v<E, bool>) {
    return value > 0;
  } else if constexpr (kIsInteger<E> && !std::is_signed_v<E>) {
    return static_cast<E>(value + 8);
  } else if constexpr (kIsInteger<E>) {
    return static_cast<E>(value);
  } else {
    return static_cast<E>(static_cast<float>(value) * 0.375F);
  }
}
/// Likewise, never zero.
template <class E>
E test_divisor(std::size_t i, std::size_t salt) {
  const E value = test_value<E>(i, salt);
  return static_cast<float>(value) == 0.0F ? static_cast<E>(3.0F) : value;
}

template <class X>
X test_operand(std::size_t salt, bool is_divisor) {
  using E = ct::tile_element_t<X>;
  const auto make = [&](std::size_t i) { return is_divisor ? test_divisor<E>(i, salt) : test_value<E>(i, salt); };
  if constexpr (ct::scalar<X>) {
    return make(0);
  } else {
    return tile_of<X>(make);
  }
}

/// Equal as bits, or as numbers where the type compares.
template <class E>
::testing::AssertionResult same(E a, E b) {
  if (std::memcmp(&a, &b, sizeof(E)) == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << static_cast<double>(static_cast<float>(a)) << " instead of "
                                       << static_cast<double>(static_cast<float>(b));
}

/// op(X, Y) against reference(x, y) for each pair of elements that broadcasting makes.
template <class X, class Y, class Op, class Reference>
void expect_elementwise(const std::string& name, const Op& op, const Reference& reference, bool divides = false) {
  const X x = test_operand<X>(1, false);
  const Y y = test_operand<Y>(2, divides);
  const auto result = op(x, y);
  using Result = std::remove_cvref_t<decltype(result)>;
  const auto actual = values_of(result);
  const auto xs = values_of(x);
  const auto ys = values_of(y);
  const Dims dims = dims_of<Result>();
  ASSERT_EQ(actual.size(), size_of(dims));
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const Dims c = coordinates(dims, i);
    const auto a = xs[broadcast_index(dims_of<X>(), c)];
    const auto b = ys[broadcast_index(dims_of<Y>(), c)];
    const auto expected = static_cast<Held<ct::tile_element_t<Result>>>(reference(a, b));
    ASSERT_TRUE(same(actual[i], expected)) << name << ", element " << i;
  }
}

template <class E, std::size_t... kExtents>
using Tile = ct::tile<E, ct::shape<kExtents...>>;

/// The operation with rank promotion and stretched dimensions at once.
template <class E, class Op, class Reference>
void expect_broadcast(const std::string& name, const Op& op, const Reference& reference, bool divides = false) {
  expect_elementwise<Tile<E, 8, 2>, Tile<E, 4, 1, 2>>(name, op, reference, divides);
}

/// The operation for every rank from 0 to 4 and every kind of broadcasting; it is one loop for all operations and
/// types, so that one of them stands for all.
template <class E, class Op, class Reference>
void expect_all_patterns(const std::string& name, const Op& op, const Reference& reference) {
  expect_broadcast<E>(name, op, reference);
  expect_elementwise<Tile<E>, Tile<E>>(name, op, reference);
  expect_elementwise<Tile<E>, E>(name, op, reference);
  expect_elementwise<Tile<E, 4>, E>(name, op, reference);
  expect_elementwise<E, Tile<E, 2, 4>>(name, op, reference);
  expect_elementwise<Tile<E, 4>, Tile<E>>(name, op, reference);
  expect_elementwise<Tile<E, 4>, Tile<E, 1>>(name, op, reference);
  expect_elementwise<Tile<E, 1>, Tile<E, 8>>(name, op, reference);
  expect_elementwise<Tile<E, 8>, Tile<E, 8>>(name, op, reference);
  expect_elementwise<Tile<E, 4, 1>, Tile<E, 8>>(name, op, reference);
  expect_elementwise<Tile<E, 2, 4>, Tile<E, 2, 4>>(name, op, reference);
  expect_elementwise<Tile<E, 1, 4>, Tile<E, 2, 1>>(name, op, reference);
  expect_elementwise<Tile<E, 1, 1>, Tile<E, 4, 2, 1>>(name, op, reference);
  expect_elementwise<Tile<E, 4, 2, 8>, Tile<E, 2, 8>>(name, op, reference);
  expect_elementwise<Tile<E, 4, 1, 8>, Tile<E, 1, 2, 1>>(name, op, reference);
  expect_elementwise<Tile<E, 2, 1, 4, 2>, Tile<E, 4, 1, 2>>(name, op, reference);
  expect_elementwise<Tile<E, 1, 4, 1, 2>, Tile<E, 2, 1, 4, 1>>(name, op, reference);
  expect_elementwise<Tile<E, 2, 2, 2, 2>, Tile<E, 2, 2, 2, 2>>(name, op, reference);
}

}  // namespace kizami::tile_test
