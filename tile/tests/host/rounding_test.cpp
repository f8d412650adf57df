// SPDX-License-Identifier: MIT
// add, sub, mul, div, fma and sqrt with every precise rounding tag, against MPFR in the precision and exponent range of
// each format, subnormals included. Equality of bits.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "kizami/formats.hpp"
#include "tile/tests/host/tile_values.hpp"

namespace kizami::tile_test {
namespace {

/// Precision and exponent range in MPFR's terms: values are 0.1xxx 2^e with e in [least, greatest], the least subnormal
/// being 2^(least - 1).
struct Format {
  mpfr_prec_t bits;
  mpfr_exp_t least;
  mpfr_exp_t greatest;
};
template <class E>
constexpr Format kFormat{};
template <>
constexpr Format kFormat<double>{53, -1073, 1024};
template <>
constexpr Format kFormat<float>{24, -148, 128};
template <>
constexpr Format kFormat<__half>{11, -23, 16};
template <>
constexpr Format kFormat<__nv_bfloat16>{8, -132, 128};

template <class E>
E exact(double x) {
  if constexpr (std::is_same_v<E, __half>) {
    return __builtin_bit_cast(__half, Fp16::from(x));
  } else if constexpr (std::is_same_v<E, __nv_bfloat16>) {
    return __builtin_bit_cast(__nv_bfloat16, Bf16::from(x));
  } else {
    return static_cast<E>(x);
  }
}
enum class Op { kAdd, kSub, kMul, kDiv, kFma, kSqrt };

/// The operation by MPFR, rounded once in E's format.
template <class E>
double reference(Op op, double a, double b, double c, mpfr_rnd_t mode) {
  constexpr Format kF = kFormat<E>;
  const mpfr_exp_t old_least = mpfr_get_emin();
  const mpfr_exp_t old_greatest = mpfr_get_emax();
  mpfr_t x;
  mpfr_t y;
  mpfr_t z;
  mpfr_t r;
  mpfr_init2(x, 53);
  mpfr_init2(y, 53);
  mpfr_init2(z, 53);
  mpfr_init2(r, kF.bits);
  mpfr_set_d(x, a, MPFR_RNDN);
  mpfr_set_d(y, b, MPFR_RNDN);
  mpfr_set_d(z, c, MPFR_RNDN);
  mpfr_set_emin(kF.least);
  mpfr_set_emax(kF.greatest);
  int ternary = 0;
  switch (op) {
    case Op::kAdd:
      ternary = mpfr_add(r, x, y, mode);
      break;
    case Op::kSub:
      ternary = mpfr_sub(r, x, y, mode);
      break;
    case Op::kMul:
      ternary = mpfr_mul(r, x, y, mode);
      break;
    case Op::kDiv:
      ternary = mpfr_div(r, x, y, mode);
      break;
    case Op::kFma:
      ternary = mpfr_fma(r, x, y, z, mode);
      break;
    case Op::kSqrt:
      ternary = mpfr_sqrt(r, x, mode);
      break;
  }
  mpfr_subnormalize(r, ternary, mode);
  const double result = mpfr_get_d(r, MPFR_RNDN);
  mpfr_set_emin(old_least);
  mpfr_set_emax(old_greatest);
  mpfr_clears(x, y, z, r, static_cast<mpfr_ptr>(nullptr));
  return result;
}

template <class E, class Mode>
E compute(Op op, E a, E b, E c, Mode mode) {
  switch (op) {
    case Op::kAdd:
      return ct::add(a, b, mode);
    case Op::kSub:
      return ct::sub(a, b, mode);
    case Op::kMul:
      return ct::mul(a, b, mode);
    case Op::kDiv:
      return ct::div(a, b, mode);
    case Op::kFma:
      return ct::fma(a, b, c, mode);
    case Op::kSqrt:
      return ct::sqrt(a, mode);
  }
  return a;
}

template <class E, class Mode>
void expect_rounded(Op op, E a, E b, E c, Mode mode, mpfr_rnd_t mpfr_mode) {
  const double expected = reference<E>(op, real(a), real(b), real(c), mpfr_mode);
  const double actual = real(compute(op, a, b, c, mode));
  if (std::isnan(expected)) {
    ASSERT_TRUE(std::isnan(actual)) << static_cast<int>(op) << " of " << real(a) << ", " << real(b) << ", " << real(c);
    return;
  }
  ASSERT_EQ(actual, expected) << std::hexfloat << static_cast<int>(op) << " of " << real(a) << ", " << real(b) << ", "
                              << real(c) << " mode " << mpfr_mode;
  ASSERT_EQ(std::signbit(actual), std::signbit(expected))
      << std::hexfloat << static_cast<int>(op) << " of " << real(a) << ", " << real(b) << ", " << real(c) << " mode "
      << mpfr_mode;
}
template <class E>
void expect_all_modes(Op op, E a, E b, E c) {
  expect_rounded(op, a, b, c, ct::round_ties_to_even_t{}, MPFR_RNDN);
  expect_rounded(op, a, b, c, ct::round_toward_zero_t{}, MPFR_RNDZ);
  expect_rounded(op, a, b, c, ct::round_toward_negative_t{}, MPFR_RNDD);
  expect_rounded(op, a, b, c, ct::round_toward_positive_t{}, MPFR_RNDU);
}

constexpr Op kOps[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kFma, Op::kSqrt};

template <class E>
class Rounding : public testing::Test {};
using Floats = testing::Types<__half, __nv_bfloat16, float, double>;
TYPED_TEST_SUITE(Rounding, Floats);

TYPED_TEST(Rounding, SpecialValues) {
  using E = TypeParam;
  constexpr Format kF = kFormat<E>;
  const double largest =
      std::ldexp(2 - std::ldexp(1.0, 1 - static_cast<int>(kF.bits)), static_cast<int>(kF.greatest) - 1);
  const double least = std::ldexp(1.0, static_cast<int>(kF.least) - 1);
  const double normal = std::ldexp(1.0, static_cast<int>(kF.least + kF.bits) - 2);
  const double inf = std::numeric_limits<double>::infinity();
  const double values[] = {0.0,
                           -0.0,
                           1.0,
                           -1.0,
                           1.5,
                           3.0,
                           -7.0,
                           largest,
                           -largest,
                           least,
                           -least,
                           3 * least,
                           normal,
                           -normal,
                           inf,
                           -inf,
                           std::numeric_limits<double>::quiet_NaN(),
                           normal - least,
                           0x1.8p-3};
  for (const Op op : kOps) {
    for (const double a : values) {
      for (const double b : values)
        expect_all_modes<E>(op, exact<E>(a), exact<E>(b), exact<E>(op == Op::kFma ? -a * b : 0.0));
    }
  }
}

TYPED_TEST(Rounding, RandomBitPatterns) {
  using E = TypeParam;
  std::mt19937_64 generator(20261121);
  using Bits = std::conditional_t<sizeof(E) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(E) == 4, std::uint32_t, std::uint16_t>>;
  const auto any = [&] { return __builtin_bit_cast(E, static_cast<Bits>(generator())); };
  // Of nearby exponents, so that sums and fused products cancel.
  const auto near_one = [&] {
    const double x = 1 + std::ldexp(static_cast<double>(generator() >> 11), -53);
    return exact<E>(std::ldexp(generator() % 2 == 0 ? x : -x, static_cast<int>(generator() % 9) - 4));
  };
  for (int i = 0; i < 400; ++i) {
    for (const Op op : kOps) {
      ASSERT_NO_FATAL_FAILURE(expect_all_modes<E>(op, any(), any(), any()));
      ASSERT_NO_FATAL_FAILURE(expect_all_modes<E>(op, near_one(), near_one(), near_one()));
    }
  }
}

}  // namespace
}  // namespace kizami::tile_test
