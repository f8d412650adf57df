// SPDX-License-Identifier: MIT
// Fixed-width integers against __int128 and GMP, equality throughout.
#include "num/wide_int.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/num/exact_numbers.hpp"

namespace kizami::num {
namespace {

using tests::Integer;
using tests::integer;
using tests::Rng;
using tests::wide;

static_assert(add(WideUint<2>(~std::uint64_t{0}), WideUint<2>(1)).limb[1] == 1);
static_assert(is_zero(add(negate(WideUint<3>(5)), WideUint<3>(5))) && is_zero(negate(WideUint<1>())));
static_assert(bit_width(WideUint<2>()) == 0 && bit_width(WideUint<2>(1)) == 1);
static_assert(less(WideUint<2>(1), WideUint<2>(2)) && !less(WideUint<2>(2), WideUint<2>(2)));

/// Random limbs, often 0, all ones, or few bits, where carries run far.
template <int L>
WideUint<L> random_wide(Rng& rng) {
  WideUint<L> x;
  for (auto& limb : x.limb) {
    switch (rng() % 5) {
      case 0:
        limb = 0;
        break;
      case 1:
        limb = ~std::uint64_t{0};
        break;
      case 2:
        limb = std::uint64_t{1} << (rng() % 64);
        break;
      default:
        limb = rng();
        break;
    }
  }
  return x;
}

uint128 to_128(const WideUint<2>& x) { return (static_cast<uint128>(x.limb[1]) << 64) | x.limb[0]; }
WideUint<2> from_128(uint128 x) {
  WideUint<2> r(static_cast<std::uint64_t>(x));
  r.limb[1] = static_cast<std::uint64_t>(x >> 64);
  return r;
}

TEST(WideUint, TwoLimbsAreInt128) {
  Rng rng(1);
  for (int i = 0; i < tests::cases(200000); ++i) {
    const auto a = random_wide<2>(rng);
    const auto b = random_wide<2>(rng);
    const std::uint64_t f = random_wide<1>(rng).limb[0];
    const uint128 x = to_128(a);
    const uint128 y = to_128(b);
    ASSERT_EQ(add(a, b), from_128(x + y));
    ASSERT_EQ(sub(a, b), from_128(x - y));
    ASSERT_EQ(negate(a), from_128(uint128{0} - x));
    ASSERT_EQ(less(a, b), x < y);
    ASSERT_EQ(is_zero(a), x == 0);
    ASSERT_EQ(mul_small(a, f), from_128(x * f));
    if (f != 0) {
      const auto division = div_small(a, f);
      ASSERT_EQ(division.quotient, from_128(x / f));
      ASSERT_EQ(division.remainder, static_cast<std::uint64_t>(x % f));
    }
    const int s = tests::random_int(rng, 0, 127);
    ASSERT_EQ(shift_right(a, s), from_128(x >> s));
  }
}

template <int L>
void expect_integers(std::uint64_t seed) {
  Rng rng(seed);
  const Integer modulus = tests::power_of_two(64 * L);
  for (int i = 0; i < tests::cases(40000); ++i) {
    const auto a = random_wide<L>(rng);
    const auto b = random_wide<L>(rng);
    const std::uint64_t f = random_wide<1>(rng).limb[0];
    const Integer x = integer(a);
    const Integer y = integer(b);
    ASSERT_EQ(wide<L>(x), a) << "the conversion itself";
    ASSERT_EQ(integer(add(a, b)), Integer((x + y) % modulus));
    ASSERT_EQ(integer(sub(a, b)), Integer((x - y + modulus) % modulus));
    ASSERT_EQ(integer(negate(a)), Integer((modulus - x) % modulus));
    ASSERT_EQ(less(a, b), x < y);
    ASSERT_EQ(integer(mul_small(a, f)), Integer(x * integer(f) % modulus));
    if (f != 0) {
      const auto division = div_small(a, f);
      ASSERT_EQ(integer(division.quotient), Integer(x / integer(f)));
      ASSERT_EQ(integer(division.remainder), Integer(x % integer(f)));
    }
    const int s = tests::random_int(rng, 0, 64 * L - 1);
    ASSERT_EQ(integer(shift_right(a, s)), Integer(x >> static_cast<unsigned>(s)));
    ASSERT_EQ(bit_width(a), x == 0 ? 0 : static_cast<int>(mpz_sizeinbase(x.get_mpz_t(), 2)));
    tests::Mpfr down(53);
    mpfr_set_z(down.get(), x.get_mpz_t(), MPFR_RNDZ);
    ASSERT_EQ(to_double_down(a), mpfr_get_d(down.get(), MPFR_RNDZ));
    ASSERT_EQ(integer(resize<L + 2>(a)), x);
    ASSERT_EQ(integer(resize<L - 1>(a)), Integer(x % tests::power_of_two(64 * (L - 1))));
  }
}

TEST(WideUint, FourLimbsAreIntegers) { expect_integers<4>(2); }
TEST(WideUint, SixLimbsAreIntegers) { expect_integers<6>(3); }

}  // namespace
}  // namespace kizami::num
