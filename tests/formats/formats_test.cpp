// SPDX-License-Identifier: MIT
// The narrow formats against their definition: every bit pattern, every rounding boundary, then MPFR and the compiler's
// _Float16 as independent implementations. Equality of bits throughout.
#include "kizami/formats.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <ios>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "tests/sanitized.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace kizami {
namespace {

constexpr RoundingMode kModes[] = {RoundingMode::kNearestEven, RoundingMode::kNearestAway, RoundingMode::kTowardZero};
constexpr Saturation kSaturations[] = {Saturation::kNone, Saturation::kFinite};
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr float kInfFloat = std::numeric_limits<float>::infinity();

// ---- compile time ---------------------------------------------------------------------------------------------------

template <class F>
constexpr bool traits_are(double max_finite, double min_normal, double min_subnormal, double unit_roundoff) {
  return F::max_finite().to_double() == max_finite && F::min_normal().to_double() == min_normal &&
         F::min_subnormal().to_double() == min_subnormal && F::unit_roundoff() == unit_roundoff &&
         F::max_finite().to_float() == static_cast<float>(max_finite) &&
         F::min_normal().to_float() == static_cast<float>(min_normal) &&
         F::min_subnormal().to_float() == static_cast<float>(min_subnormal);
}
static_assert(traits_are<Fp16>(65504, 0x1p-14, 0x1p-24, 0x1p-11));
static_assert(traits_are<Bf16>(0x1.fep127, 0x1p-126, 0x1p-133, 0x1p-8));
static_assert(traits_are<Tf32>(0x1.ffcp127, 0x1p-126, 0x1p-136, 0x1p-11));
static_assert(traits_are<Fp8E4m3>(448, 0x1p-6, 0x1p-9, 0x1p-4));
static_assert(traits_are<Fp8E5m2>(57344, 0x1p-14, 0x1p-16, 0x1p-3));
static_assert(Fp16::kSignificandBits == 11 && Bf16::kSignificandBits == 8 && Tf32::kSignificandBits == 11 &&
              Fp8E4m3::kSignificandBits == 4 && Fp8E5m2::kSignificandBits == 3);
static_assert(Fp16::kMaxExponent == 15 && Bf16::kMaxExponent == 127 && Tf32::kMaxExponent == 127 &&
              Fp8E4m3::kMaxExponent == 8 && Fp8E5m2::kMaxExponent == 15);
static_assert(Fp16::quiet_nan().bits() == 0x7e00 && Bf16::quiet_nan().bits() == 0x7fc0 &&
              Tf32::quiet_nan().bits() == 0x7fc00000 && Fp8E4m3::quiet_nan().bits() == 0x7f &&
              Fp8E5m2::quiet_nan().bits() == 0x7e);
static_assert(Fp16::infinity().bits() == 0x7c00 && Bf16::infinity().bits() == 0x7f80 &&
              Tf32::infinity().bits() == 0x7f800000 && Fp8E5m2::infinity().bits() == 0x7c);
static_assert(Fp16{}.bits() == 0 && (-Fp16{}).bits() == 0x8000 && (-Fp8E4m3::max_finite()).to_double() == -448);
static_assert(std::is_trivial_v<Fp16> && std::is_trivial_v<Tf32> && std::is_standard_layout_v<Fp8E4m3>);
static_assert(kIsFloatFormat<Tf32> && !kIsFloatFormat<float>);
// 1 + 2^-11 + 2^-40 is above the FP16 midpoint, but its nearest float is that midpoint, which ties to 1.
static_assert(Fp16::from(1 + 0x1p-11 + 0x1p-40).bits() == 0x3c01 && Fp16::from(1.0F + 0x1p-11F).bits() == 0x3c00);
// The three roundings of one tie, both ways.
static_assert(Fp8E5m2::from(1.125).to_double() == 1 && Fp8E5m2::from(1.375).to_double() == 1.5 &&
              Fp8E5m2::from(-1.125, RoundingMode::kNearestAway).to_double() == -1.25 &&
              Fp8E5m2::from(-1.375, RoundingMode::kTowardZero).to_double() == -1.25);

// ---- bit patterns ---------------------------------------------------------------------------------------------------

template <class F>
using BitsOf = typename F::Bits;

template <class F>
F from_code(std::uint32_t code) {
  return F::from_bits(static_cast<BitsOf<F>>(code << F::kSpareBits));
}

/// The value of a finite pattern from the definition of the format, by library calls on exact quantities.
template <class F>
double value_by_definition(std::uint32_t code) {
  const std::uint32_t mantissa = code & ((1U << F::kMantissaBits) - 1);
  const int field = static_cast<int>(code >> F::kMantissaBits) & ((1 << F::kExponentBits) - 1);
  const double significand = static_cast<double>(field == 0 ? mantissa : mantissa + (1U << F::kMantissaBits));
  const double magnitude = std::ldexp(significand, (field == 0 ? 1 : field) - F::kBias - F::kMantissaBits);
  return (code >> (F::kWidthBits - 1)) != 0 ? -magnitude : magnitude;
}

template <class F>
class EveryFormat : public testing::Test {};
using AllFormats = testing::Types<Fp16, Bf16, Tf32, Fp8E4m3, Fp8E5m2>;
TYPED_TEST_SUITE(EveryFormat, AllFormats);

TYPED_TEST(EveryFormat, EveryPatternHasItsValueAndComesBack) {
  using F = TypeParam;
  const std::uint32_t num_codes = 1U << F::kWidthBits;
  const std::uint32_t magnitude_mask = (num_codes >> 1) - 1;
  const std::uint32_t mantissa_mask = (1U << F::kMantissaBits) - 1;
  std::uint32_t num_nan = 0;
  std::uint32_t num_infinite = 0;
  for (std::uint32_t code = 0; code < num_codes; ++code) {
    const F x = from_code<F>(code);
    const double as_double = x.to_double();
    const float as_float = x.to_float();
    const bool is_negative = code > magnitude_mask;
    const bool field_is_ones = (code & magnitude_mask) >> F::kMantissaBits == (1U << F::kExponentBits) - 1;
    ASSERT_EQ(x.is_negative(), is_negative) << std::hex << code;
    ASSERT_EQ(std::signbit(as_double), is_negative) << std::hex << code;
    ASSERT_EQ(std::signbit(as_float), is_negative) << std::hex << code;
    const bool is_nan =
        field_is_ones && (F::kHasInfinity ? (code & mantissa_mask) != 0 : (code & mantissa_mask) == mantissa_mask);
    const bool is_infinite = F::kHasInfinity && field_is_ones && !is_nan;
    ASSERT_EQ(x.is_nan(), is_nan) << std::hex << code;
    ASSERT_EQ(x.is_infinite(), is_infinite) << std::hex << code;
    ASSERT_EQ(x.is_finite(), !is_nan && !is_infinite) << std::hex << code;
    ASSERT_EQ(x.is_zero(), (code & magnitude_mask) == 0) << std::hex << code;
    ASSERT_EQ(x.is_subnormal(), (code & magnitude_mask) != 0 && (code & magnitude_mask) <= mantissa_mask);
    std::uint32_t returned = code;
    if (is_nan) {  // quiet, with its sign and the rest of its payload
      ++num_nan;
      if (F::kHasInfinity) returned |= 1U << (F::kMantissaBits - 1);
      ASSERT_TRUE(std::isnan(as_double) && std::isnan(as_float)) << std::hex << code;
    } else if (is_infinite) {
      ++num_infinite;
      ASSERT_EQ(as_double, is_negative ? -kInf : kInf);
      ASSERT_EQ(as_float, is_negative ? -kInfFloat : kInfFloat);
    } else {
      const double value = value_by_definition<F>(code);
      ASSERT_EQ(as_double, value) << std::hex << code;
      ASSERT_EQ(static_cast<double>(as_float), value) << std::hex << code;
    }
    if (tests::is_left_out(code, 7)) continue;
    for (const RoundingMode mode : kModes) {
      for (const Saturation saturation : kSaturations) {
        std::uint32_t expected = returned;
        if (is_infinite && saturation == Saturation::kFinite) --expected;  // max_finite lies just below Inf
        ASSERT_EQ(F::from(as_double, mode, saturation).bits(), from_code<F>(expected).bits()) << std::hex << code;
        ASSERT_EQ(F::from(as_float, mode, saturation).bits(), from_code<F>(expected).bits()) << std::hex << code;
      }
    }
  }
  EXPECT_EQ(num_nan, F::kHasInfinity ? 2 * mantissa_mask : 2U);
  EXPECT_EQ(num_infinite, F::kHasInfinity ? 2U : 0U);
}

TEST(Formats, Tf32BitsAreThoseOfTheFloat) {
  for (std::uint32_t code = 0; code < (1U << 18); ++code) {
    const Tf32 x = from_code<Tf32>(code);
    if (!x.is_nan()) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(x.to_float()), x.bits()) << std::hex << code;
    }
  }
}

/// A double whose exponent spreads a little beyond the range of F, or (1 in 8) any double.
template <class F>
double random_double(std::mt19937_64& rng) {
  const std::uint64_t bits = rng();
  if (bits % 8 == 0) return std::bit_cast<double>(rng());
  const int lowest = F::kMinUlpExponent - 3;
  const int exponent = lowest + static_cast<int>(rng() % static_cast<std::uint64_t>(F::kMaxExponent + 3 - lowest));
  std::uint64_t mantissa = rng() >> 12;
  if (bits % 8 == 1) mantissa &= ~std::uint64_t{0} << (52 - F::kMantissaBits - 1);  // ties
  return std::bit_cast<double>((bits & (std::uint64_t{1} << 63)) | static_cast<std::uint64_t>(exponent + 1023) << 52 |
                               mantissa);
}

// ---- rounding boundaries --------------------------------------------------------------------------------------------

/// Whether x rounds to `expected` and -x to its negative, saturated or not.
template <class F, class T>
::testing::AssertionResult rounds_to(T x, RoundingMode mode, F expected) {
  for (const Saturation saturation : kSaturations) {
    const F up = F::from(x, mode, saturation);
    const F down = F::from(-x, mode, saturation);
    if (up.bits() != expected.bits() || down.bits() != (-expected).bits()) {
      return ::testing::AssertionFailure()
             << std::hexfloat << x << " mode " << static_cast<int>(mode) << std::hex << ": " << std::uint32_t{up.bits()}
             << " and " << std::uint32_t{down.bits()} << ", expected +-" << std::uint32_t{expected.bits()};
    }
  }
  return ::testing::AssertionSuccess();
}

/// All that can happen between two neighbours low < high, `tie` being the one with the even mantissa.
template <class F, class T>
::testing::AssertionResult gap_is_rounded(T low_value, T high_value, F low, F high, F tie) {
  const T middle = low_value + (high_value - low_value) / 2;  // exact: F has two bits less than T, at least
  struct Case {
    T x;
    F even;
    F away;
    F zero;
  };
  const Case cases[] = {
      {std::nextafter(low_value, high_value), low, low, low},
      {std::nextafter(middle, low_value), low, low, low},
      {middle, tie, high, low},
      {std::nextafter(middle, high_value), high, high, low},
      {std::nextafter(high_value, low_value), high, high, low},
  };
  for (const Case& c : cases) {
    for (const RoundingMode mode : kModes) {
      const F expected = mode == RoundingMode::kNearestEven   ? c.even
                         : mode == RoundingMode::kNearestAway ? c.away
                                                              : c.zero;
      const auto result = rounds_to<F, T>(c.x, mode, expected);
      if (!result) return result;
    }
  }
  return ::testing::AssertionSuccess();
}

TYPED_TEST(EveryFormat, EveryGapBetweenNeighboursIsRoundedFromDouble) {
  using F = TypeParam;
  for (std::uint32_t code = 0; from_code<F>(code).bits() != F::max_finite().bits(); ++code) {
    if (tests::is_left_out(code, 7)) continue;
    const F low = from_code<F>(code);
    const F high = from_code<F>(code + 1);
    ASSERT_TRUE(gap_is_rounded(low.to_double(), high.to_double(), low, high, code % 2 == 0 ? low : high));
  }
}

TYPED_TEST(EveryFormat, EveryGapBetweenNeighboursIsRoundedFromFloat) {
  using F = TypeParam;
  for (std::uint32_t code = 0; from_code<F>(code).bits() != F::max_finite().bits(); ++code) {
    if (tests::is_left_out(code, 7)) continue;
    const F low = from_code<F>(code);
    const F high = from_code<F>(code + 1);
    ASSERT_TRUE(gap_is_rounded(low.to_float(), high.to_float(), low, high, code % 2 == 0 ? low : high));
  }
}

// ---- beyond the range -----------------------------------------------------------------------------------------------

template <class F>
constexpr F overflow_result() {
  if constexpr (F::kHasInfinity) {
    return F::infinity();
  } else {
    return F::quiet_nan();
  }
}

template <class F, class T>
void expect_overflow(T x, bool tie_is_up) {
  const F max = F::max_finite();
  const F beyond = overflow_result<F>();
  for (const T sign : {T{1}, T{-1}}) {
    const auto signed_bits = [sign](F f) { return (sign < 0 ? -f : f).bits(); };
    const F nearest = tie_is_up ? beyond : max;
    EXPECT_EQ(F::from(sign * x, RoundingMode::kNearestEven, Saturation::kNone).bits(), signed_bits(nearest)) << x;
    EXPECT_EQ(F::from(sign * x, RoundingMode::kNearestAway, Saturation::kNone).bits(), signed_bits(beyond)) << x;
    EXPECT_EQ(F::from(sign * x, RoundingMode::kTowardZero, Saturation::kNone).bits(),
              signed_bits(std::isinf(x) ? beyond : max))
        << x;
    for (const RoundingMode mode : kModes) {
      EXPECT_EQ(F::from(sign * x, mode, Saturation::kFinite).bits(), signed_bits(max)) << x;
    }
  }
}

TYPED_TEST(EveryFormat, OverflowFollowsTheSaturation) {
  using F = TypeParam;
  const double max = F::max_finite().to_double();
  const double half_ulp = std::ldexp(1.0, F::kMaxExponent - F::kMantissaBits - 1);
  const double middle = max + half_ulp;
  // At the midpoint the even neighbour is the one beyond, unless max_finite is even (E4M3: S.1111.110).
  const bool tie_is_up = (F::max_finite().bits() >> F::kSpareBits) % 2 != 0;
  EXPECT_EQ(tie_is_up, F::kHasInfinity);
  for (const double x : {std::nextafter(max, kInf), std::nextafter(middle, 0.0)}) {
    for (const RoundingMode mode : kModes) EXPECT_TRUE(rounds_to(x, mode, F::max_finite()));
  }
  expect_overflow<F>(middle, tie_is_up);
  for (const double x :
       {std::nextafter(middle, kInf), max + 2 * half_ulp, 2 * max, std::numeric_limits<double>::max(), kInf}) {
    expect_overflow<F>(x, true);
  }
  const float middle_float = static_cast<float>(middle);  // exact: a bit more than F has
  expect_overflow<F>(middle_float, tie_is_up);
  for (const float x : {std::nextafter(middle_float, kInfFloat), std::numeric_limits<float>::max(), kInfFloat}) {
    expect_overflow<F>(x, true);
  }
}

TYPED_TEST(EveryFormat, UnderflowKeepsTheSign) {
  using F = TypeParam;
  const F zero{};
  const F least = F::min_subnormal();
  const double half = std::ldexp(1.0, F::kMinUlpExponent - 1);
  for (const RoundingMode mode : kModes) {
    const bool to_nearest = mode != RoundingMode::kTowardZero;
    for (const double x : {0.0, std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::min(), half / 4,
                           std::nextafter(half / 2, 0.0), half / 2, std::nextafter(half, 0.0)}) {
      EXPECT_TRUE(rounds_to(x, mode, zero));
    }
    EXPECT_TRUE(rounds_to(half, mode, mode == RoundingMode::kNearestAway ? least : zero));
    EXPECT_TRUE(rounds_to(std::nextafter(half, 1.0), mode, to_nearest ? least : zero));
    EXPECT_TRUE(rounds_to(1.5 * half, mode, to_nearest ? least : zero));
    const float half_float = static_cast<float>(half);
    EXPECT_TRUE(rounds_to(0.0F, mode, zero));
    EXPECT_TRUE(rounds_to(std::numeric_limits<float>::denorm_min(), mode, zero));
    EXPECT_TRUE(rounds_to(std::nextafter(half_float, 0.0F), mode, zero));
    EXPECT_TRUE(rounds_to(half_float, mode, mode == RoundingMode::kNearestAway ? least : zero));
    EXPECT_TRUE(rounds_to(std::nextafter(half_float, 1.0F), mode, to_nearest ? least : zero));
  }
}

TYPED_TEST(EveryFormat, NanStaysNanWithSignAndPayload) {
  using F = TypeParam;
  for (const RoundingMode mode : kModes) {
    for (const Saturation saturation : kSaturations) {
      for (const std::uint64_t sign : {std::uint64_t{0}, std::uint64_t{1}}) {
        for (const std::uint64_t payload : {std::uint64_t{1}, std::uint64_t{1} << 51, std::uint64_t{0xaaaaaaaaaaaaa},
                                            std::uint64_t{0xfffffffffffff}}) {  // the first and third are signaling
          const double x = std::bit_cast<double>((sign << 63) | (std::uint64_t{0x7ff} << 52) | payload);
          const F f = F::from(x, mode, saturation);
          EXPECT_TRUE(f.is_nan());
          EXPECT_EQ(f.is_negative(), sign != 0);
          const std::uint32_t kept = static_cast<std::uint32_t>(payload >> (52 - F::kMantissaBits));
          const std::uint32_t code = (F::quiet_nan().bits() >> F::kSpareBits) | (F::kHasInfinity ? kept : 0);
          EXPECT_EQ(f.bits(), (sign != 0 ? -from_code<F>(code) : from_code<F>(code)).bits());
          const std::uint32_t float_payload = payload == 1 ? 1U : static_cast<std::uint32_t>(payload >> 29);
          const float y =
              std::bit_cast<float>((static_cast<std::uint32_t>(sign) << 31) | (0xffU << 23) | float_payload);
          EXPECT_EQ(F::from(y, mode, saturation).bits(), f.bits());
        }
      }
    }
  }
}

#if defined(__SSE2__)
TYPED_TEST(EveryFormat, TheCallersFlushAndRoundingModesDoNotMatter) {
  using F = TypeParam;
  std::mt19937_64 rng(5);
  std::vector<double> doubles(2000);
  for (double& x : doubles) x = random_double<F>(rng);
  std::vector<float> floats(2000);
  for (float& x : floats) x = std::bit_cast<float>(static_cast<std::uint32_t>(rng()) >> (rng() % 16));
  const auto convert = [&] {
    std::vector<std::uint64_t> words;
    for (const double x : doubles) words.push_back(F::from(x).bits());
    for (const float x : floats) words.push_back(F::from(x).bits());
    const std::uint32_t num_codes = 1U << std::min(F::kWidthBits, 12);  // subnormals come first
    for (std::uint32_t code = 0; code < num_codes; ++code) {
      words.push_back(std::bit_cast<std::uint64_t>(from_code<F>(code).to_double()));
      words.push_back(std::bit_cast<std::uint32_t>(from_code<F>(code).to_float()));
    }
    return words;
  };
  const auto expected = convert();
  const unsigned modes = _mm_getcsr();
  constexpr unsigned kFlushAndDenormalsAreZero = 0x8040;
  constexpr unsigned kRoundUp = 0x4000;
  _mm_setcsr(modes | kFlushAndDenormalsAreZero | kRoundUp);
  const auto got = convert();
  _mm_setcsr(modes);
  EXPECT_EQ(got, expected);
}
#endif

// ---- independent implementations ------------------------------------------------------------------------------------

/// Rounds doubles to F by MPFR: its precision, its exponent range and its subnormals.
template <class F>
class MpfrRounder {
 public:
  MpfrRounder() : old_emin_(mpfr_get_emin()), old_emax_(mpfr_get_emax()) {
    mpfr_init2(x_, F::kSignificandBits);
    mpfr_init2(exact_, 200);
  }
  ~MpfrRounder() {
    mpfr_clears(x_, exact_, static_cast<mpfr_ptr>(nullptr));
    mpfr_set_emin(old_emin_);
    mpfr_set_emax(old_emax_);
  }
  MpfrRounder(const MpfrRounder&) = delete;
  MpfrRounder& operator=(const MpfrRounder&) = delete;

  /// The rounded value; +-Inf stands for overflow.
  double round(double x, RoundingMode mode) {
    if (mode == RoundingMode::kNearestAway) return round_away(x);
    const mpfr_rnd_t rnd = mode == RoundingMode::kNearestEven ? MPFR_RNDN : MPFR_RNDZ;
    mpfr_set_emin(F::kMinUlpExponent + 1);  // MPFR's significands lie in [1/2, 1)
    mpfr_set_emax(F::kMaxExponent + 1);
    const int ternary = mpfr_set_d(x_, x, rnd);
    mpfr_subnormalize(x_, mpfr_check_range(x_, ternary, rnd), rnd);
    const double result = mpfr_get_d(x_, MPFR_RNDN);
    mpfr_set_emin(old_emin_);
    mpfr_set_emax(old_emax_);
    if (rnd == MPFR_RNDN) return overflowed(result);
    return std::isfinite(x) && std::fabs(result) > max_ ? std::copysign(max_, x) : result;
  }

 private:
  /// sign(x) * floor(|x| / ulp + 1/2) * ulp in exact arithmetic: MPFR has no such mode with subnormals.
  double round_away(double x) {
    if (x == 0 || !std::isfinite(x)) return x;
    const int ulp = std::max(std::ilogb(x) - F::kMantissaBits, F::kMinUlpExponent);
    mpfr_set_d(exact_, std::fabs(x), MPFR_RNDN);
    mpfr_div_2si(exact_, exact_, ulp, MPFR_RNDN);
    mpfr_round(exact_, exact_);  // to the nearest integer, ties away from zero
    mpfr_mul_2si(exact_, exact_, ulp, MPFR_RNDN);
    return overflowed(std::copysign(mpfr_get_d(exact_, MPFR_RNDN), x));
  }
  double overflowed(double x) const { return std::fabs(x) > max_ ? std::copysign(kInf, x) : x; }

  mpfr_t x_;
  mpfr_t exact_;
  mpfr_exp_t old_emin_;
  mpfr_exp_t old_emax_;
  double max_ = value_by_definition<F>(F::max_finite().bits() >> F::kSpareBits);
};

TYPED_TEST(EveryFormat, AgreesWithMpfr) {
  using F = TypeParam;
  std::mt19937_64 rng(20240611);
  MpfrRounder<F> mpfr;
  for (int i = 0; i < tests::cases(100'000); ++i) {
    double x = random_double<F>(rng);
    if (std::isnan(x)) continue;
    if (i % 4 == 0) x = static_cast<double>(static_cast<float>(x));
    for (const RoundingMode mode : kModes) {
      const double expected = mpfr.round(x, mode);
      const F rounded = F::from(x, mode);
      const double got = rounded.is_nan() && !F::kHasInfinity ? std::copysign(kInf, rounded.is_negative() ? -1 : 1)
                                                              : rounded.to_double();
      ASSERT_EQ(std::bit_cast<std::uint64_t>(got), std::bit_cast<std::uint64_t>(expected))
          << std::hexfloat << x << " mode " << static_cast<int>(mode) << ": " << got << ", expected " << expected;
      if (i % 4 == 0) {
        ASSERT_EQ(F::from(static_cast<float>(x), mode).bits(), rounded.bits()) << std::hexfloat << x;
      }
    }
  }
}

#if defined(__FLT16_MANT_DIG__) && !defined(__clang__)
TEST(Formats, Fp16AgreesWithTheCompilersFloat16) {
  for (std::uint32_t code = 0; code < (1U << 16); ++code) {
    const auto native = std::bit_cast<_Float16>(static_cast<std::uint16_t>(code));
    const Fp16 ours = from_code<Fp16>(code);
    if (ours.is_nan()) continue;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(static_cast<double>(native)),
              std::bit_cast<std::uint64_t>(ours.to_double()));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(native)), std::bit_cast<std::uint32_t>(ours.to_float()));
  }
  std::mt19937_64 rng(977);
  for (int i = 0; i < 500'000; ++i) {
    const double x = random_double<Fp16>(rng);
    if (std::isnan(x)) continue;
    const float y = static_cast<float>(x);
    ASSERT_EQ(std::bit_cast<std::uint16_t>(static_cast<_Float16>(x)), Fp16::from(x).bits()) << std::hexfloat << x;
    ASSERT_EQ(std::bit_cast<std::uint16_t>(static_cast<_Float16>(y)), Fp16::from(y).bits()) << std::hexfloat << y;
  }
}
#endif

}  // namespace
}  // namespace kizami
