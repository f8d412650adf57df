// SPDX-License-Identifier: MIT
// element_cast between every pair of types, element_bitcast, and the conversions of tiles: against kizami/formats.hpp,
// which its own tests compare with MPFR, and 128-bit integers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kizami/formats.hpp"
#include "tile/tests/host/tile_values.hpp"

namespace kizami::tile_test {
namespace {

template <class E, std::size_t... kExtents>
using Tile = ct::tile<E, ct::shape<kExtents...>>;

using tile::host::detail::FormatOfT;
using tile::host::detail::kIsNarrow;

/// The value of x, exactly. @range integers below 2^53 in magnitude
template <class E>
double value(E x) {
  if constexpr (kIsNarrow<E>) {
    return __builtin_bit_cast(FormatOfT<E>, x).to_double();
  } else {
    return static_cast<double>(x);
  }
}
/// x converted to E once.
template <class E>
E converted(double x) {
  using F = FormatOfT<E>;
  if constexpr (std::is_same_v<E, bool>) {
    return x != 0;
  } else if constexpr (kIsNarrow<E>) {
    return __builtin_bit_cast(
        E, F::from(x, RoundingMode::kNearestEven, sizeof(E) == 1 ? Saturation::kFinite : Saturation::kNone));
  } else {
    return static_cast<E>(x);
  }
}

template <class To, class From>
void expect_cast() {
  const bool is_signed = !std::is_integral_v<From> || std::is_signed_v<From>;
  const bool to_signed = !std::is_integral_v<To> || std::is_signed_v<To>;
  const auto make = [&](std::size_t i) {
    const double x = static_cast<double>(i * 11 % 16) * 0.6875 - (is_signed && to_signed ? 5 : 0);
    return __builtin_bit_cast(Held<From>, Held<From>(converted<From>(x)));
  };
  const auto source = tile_of<Tile<From, 4, 4>>(make);
  const auto from = values_of(source);
  const auto to = values_of(ct::element_cast<To>(source));
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double x = value(from[i]);
    ASSERT_EQ(value(to[i]), value(Held<To>(converted<To>(x))))
        << x << " of " << sizeof(From) << " to " << sizeof(To) << " bytes";
  }
}

template <class From>
class Casts : public testing::Test {};
using All = testing::Types<bool, std::int8_t, std::uint16_t, std::int32_t, std::uint64_t, __nv_fp8_e4m3, __nv_fp8_e5m2,
                           __half, __nv_bfloat16, __nv_tf32, float, double>;
TYPED_TEST_SUITE(Casts, All);
TYPED_TEST(Casts, ToEveryType) {
  expect_cast<bool, TypeParam>();
  expect_cast<std::int8_t, TypeParam>();
  expect_cast<std::uint16_t, TypeParam>();
  expect_cast<std::int32_t, TypeParam>();
  expect_cast<std::uint64_t, TypeParam>();
  expect_cast<__nv_fp8_e4m3, TypeParam>();
  expect_cast<__nv_fp8_e5m2, TypeParam>();
  expect_cast<__half, TypeParam>();
  expect_cast<__nv_bfloat16, TypeParam>();
  expect_cast<__nv_tf32, TypeParam>();
  expect_cast<float, TypeParam>();
  expect_cast<double, TypeParam>();
}

TEST(Casts, RoundLargeIntegersOnce) {
  // 2^62 + 2^54 is the middle of two BF16 numbers; one more decides. Through double the one would be lost.
  constexpr std::int64_t kMiddle = (std::int64_t{1} << 62) + (std::int64_t{1} << 54);
  EXPECT_EQ(value(ct::element_cast<__nv_bfloat16>(kMiddle)), 0x1p62);
  EXPECT_EQ(value(ct::element_cast<__nv_bfloat16>(kMiddle + 1)), 0x1p62 + 0x1p55);
  EXPECT_EQ(value(ct::element_cast<__nv_bfloat16>(-kMiddle - 1)), -0x1p62 - 0x1p55);
  EXPECT_EQ(ct::element_cast<float>(std::numeric_limits<std::uint64_t>::max()), 0x1p64F);
  EXPECT_TRUE(std::isinf(value(ct::element_cast<__half>(65520))));
  EXPECT_EQ(value(ct::element_cast<__half>(65519)), 65504.0);
}

TEST(Casts, BeyondTheRange) {
  EXPECT_EQ(ct::element_cast<std::int8_t>(200.0F), 127);
  EXPECT_EQ(ct::element_cast<std::int8_t>(-128.9F), -128);
  EXPECT_EQ(ct::element_cast<std::uint8_t>(-5.0F), 0);
  EXPECT_EQ(ct::element_cast<int>(std::numeric_limits<float>::quiet_NaN()), 0);
  EXPECT_EQ(ct::element_cast<std::int64_t>(0x1p63), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(ct::element_cast<std::int64_t>(-0x1p63), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(ct::element_cast<std::int32_t>(2147483647.5), 2147483647);
  EXPECT_EQ(value(ct::element_cast<__nv_fp8_e4m3>(1e6F)), 448.0);
  EXPECT_EQ(value(ct::element_cast<__nv_fp8_e5m2>(-INFINITY)), -57344.0);
  EXPECT_EQ(ct::element_cast<std::int8_t>(300), static_cast<std::int8_t>(300)) << "integers wrap";
}

TEST(Bitcasts, KeepTheBits) {
  EXPECT_EQ(ct::element_bitcast<unsigned>(1.0F), 0x3F800000U);
  const auto halves = ct::element_bitcast<std::uint16_t>(ct::full<Tile<__half, 2>>(1.0F));
  EXPECT_EQ(values_of(halves), (std::vector<std::uint16_t>{0x3C00, 0x3C00}));
  int x = 0;
  EXPECT_EQ(ct::element_bitcast<int*>(ct::element_bitcast<std::uint64_t>(&x)), &x);
}

TEST(Conversions, OfTilesAndScalars) {
  const Tile<double, 4> wide = ct::full<Tile<float, 4>>(0.5F);
  EXPECT_EQ(values_of(wide), (std::vector<double>(4, 0.5)));
  const auto narrow = static_cast<Tile<std::int8_t, 4>>(wide * 5.0);
  EXPECT_EQ(values_of(narrow), (std::vector<std::int8_t>(4, 2)));
  EXPECT_EQ(static_cast<int>(ct::full<Tile<float, 1, 1>>(3.5F)), 3);
  const Tile<float> zero_rank = 2.0F;
  EXPECT_EQ(static_cast<float>(zero_rank + 1.0F), 3.0F);
  static_assert(sizeof(Tile<float, 4, 4>) == 64 && alignof(Tile<float, 4, 4>) == 4 && sizeof(Tile<bool, 8>) == 8);
  static_assert(std::is_trivially_copyable_v<Tile<__half, 4>> &&
                std::is_trivially_default_constructible_v<Tile<float, 2>>);
  static_assert(std::is_final_v<Tile<int, 2>>);
}

}  // namespace
}  // namespace kizami::tile_test
