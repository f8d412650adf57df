// SPDX-License-Identifier: MIT
// Exponents and exact scaling against MPFR (its exponent range and mpfr_subnormalize set to those of the type), the C
// library and __int128. Equality throughout; zeros are told apart by their sign.
#include "num/exponent.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <cstdint>
#include <ios>
#include <limits>
#include <random>
#include <vector>

#include "tests/sanitized.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace kizami::num {
namespace {

__extension__ typedef unsigned __int128 Uint128;  // NOLINT(modernize-use-using): __extension__ wants a typedef

template <class T>
constexpr T kInfinite = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kMax = std::numeric_limits<T>::max();
template <class T>
constexpr T kDenormMin = std::numeric_limits<T>::denorm_min();

template <class T>
constexpr auto bits(T x) {
  return bit_cast<typename FloatTraits<T>::Bits>(x);
}

// ---- compile time ---------------------------------------------------------------------------------------------------

static_assert(max_finite<double>() == kMax<double> && max_finite<float>() == kMax<float>);
static_assert(exp2i<double>(-1074) == 0x1p-1074 && exp2i<double>(-1022) == 0x1p-1022 &&
              exp2i<double>(1023) == 0x1p1023);
static_assert(exp2i<float>(-149) == 0x1p-149F && exp2i<float>(127) == 0x1p127F && exp2i<float>(0) == 1);
static_assert(floor_log2(1.0) == 0 && floor_log2(-1.999) == 0 && floor_log2(0.999) == -1);
static_assert(floor_log2(0x1p-1074) == -1074 && floor_log2(0x1.8p-1073) == -1073 && floor_log2(kMax<double>) == 1023);
static_assert(floor_log2(0x1p-149F) == -149 && floor_log2(kMax<float>) == 127);
static_assert(floor_log2(0.0) == -1075 && floor_log2(-0.0F) == -150);
static_assert(floor_log2(kInfinite<double>) == 1024 && floor_log2(std::numeric_limits<float>::quiet_NaN()) == 128);
static_assert(lowest_bit_exponent(12.0) == 2 && lowest_bit_exponent(-0x1.0000000000001p0) == -52 &&
              lowest_bit_exponent(0x1p1023) == 1023 && lowest_bit_exponent(0x3p-1074) == -1074 &&
              lowest_bit_exponent(0x1p-149F) == -149);
static_assert(decompose(1.0) == Decomposed{std::int64_t{1} << 52, -52});
static_assert(decompose(-3.0F) == Decomposed{-(std::int64_t{3} << 22), -22});
static_assert(decompose(-0x3p-1074) == Decomposed{-3, -1074} && decompose(-0.0) == Decomposed{0, -1074});
static_assert(bits(compose<double>({-1, -1074})) == bits(-kDenormMin<double>) && bits(compose<double>({0, 5})) == 0);
static_assert(compose<double>({INT64_MIN, 0}) == -0x1p63 && compose<double>({INT64_MAX, 0}) == 0x1p63);
static_assert(num::ldexp(0x1p1000, -3000) == 0 && num::ldexp(0x1p1000, -2074) == kDenormMin<double>);
static_assert(num::ldexp(0x1p1000, -2075) == 0 && num::ldexp(0x1.8p1000, -2075) == kDenormMin<double>);  // tie; above
static_assert(num::ldexp(1.0, INT_MAX) == kInfinite<double> && bits(num::ldexp(-1.0, INT_MIN)) == bits(-0.0));
static_assert(num::ldexp(kDenormMin<double>, 2097) == 0x1p1023 && num::ldexp(kDenormMin<float>, 276) == 0x1p127F);
static_assert(num::ldexp(0x1.fffffffffffffp0, -1023) == 0x1p-1022);                // rounds up into the normal range
static_assert(round_to_double(false, (std::uint64_t{1} << 53) + 1, 0) == 0x1p53);  // tie to even
static_assert(round_to_double(true, (std::uint64_t{1} << 54) + 6, 0) == -(0x1p54 + 8));  // tie to even, up
static_assert(round_to_double(false, 1, 0, 0) == 0x1p64 && round_to_double(false, 0, 7, -1074) == 0x7p-1074);
static_assert(round_to_double(false, 0, (std::uint64_t{1} << 53) + 1, 0, true) == 0x1p53 + 2);  // no tie any more
static_assert(round_to_double(false, (std::uint64_t{1} << 11) - 1, ~std::uint64_t{0}, 0) == 0x1p75);
static_assert(round_to_float(false, (std::uint64_t{1} << 24) + 1, 0) == 0x1p24F);
static_assert(round_to_float(false, (std::uint64_t{1} << 25) - 1, 103) == kInfinite<float>);
static_assert(bits(round_to_double(true, 0, 100)) == bits(-0.0) && bits(round_to_float(true, 0, 0, 1)) == bits(-0.0F));
static_assert(count_leading_zeros(1) == 63 && count_leading_zeros(~std::uint64_t{0}) == 0);
static_assert(count_trailing_zeros(1) == 0 && count_trailing_zeros(std::uint64_t{1} << 63) == 63);
static_assert(is_finite(kMax<double>) && !is_finite(kInfinite<float>) &&
              is_nan(std::numeric_limits<double>::quiet_NaN()) && !is_nan(kInfinite<double>) && is_negative(-0.0) &&
              !is_negative(0.0F));

// ---- reference ------------------------------------------------------------------------------------------------------

/// An exact real number that MPFR then rounds to a T as IEEE 754 does. Shares nothing with num/.
class Exact {
 public:
  Exact() : old_emin_(mpfr_get_emin()), old_emax_(mpfr_get_emax()) {
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    mpfr_init2(x_, 256);
    mpfr_set_zero(x_, 1);
  }
  ~Exact() {
    mpfr_clear(x_);
    mpfr_set_emin(old_emin_);
    mpfr_set_emax(old_emax_);
  }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;

  Exact& set(double x, long shift) {
    mpfr_set_d(x_, x, MPFR_RNDN);
    mpfr_mul_2si(x_, x_, shift, MPFR_RNDN);
    return *this;
  }
  Exact& set(std::uint64_t hi, std::uint64_t lo, bool sticky, long shift) {
    mpfr_set_uj(x_, hi, MPFR_RNDN);
    mpfr_mul_2si(x_, x_, 64, MPFR_RNDN);
    mpfr_add_d(x_, x_, static_cast<double>(lo >> 32) * 0x1p32, MPFR_RNDN);
    mpfr_add_d(x_, x_, static_cast<double>(lo & 0xffffffff), MPFR_RNDN);
    if (sticky) mpfr_add_d(x_, x_, 0.375, MPFR_RNDN);
    mpfr_mul_2si(x_, x_, shift, MPFR_RNDN);
    return *this;
  }
  /// The T that this number rounds to.
  template <class T>
  T round() const {
    using Limits = std::numeric_limits<T>;
    mpfr_t y;
    mpfr_init2(y, Limits::digits);
    int ternary = mpfr_set(y, x_, MPFR_RNDN);
    const mpfr_exp_t emin = mpfr_get_emin();
    const mpfr_exp_t emax = mpfr_get_emax();
    mpfr_set_emin(Limits::min_exponent - Limits::digits + 1);
    mpfr_set_emax(Limits::max_exponent);
    ternary = mpfr_check_range(y, ternary, MPFR_RNDN);
    mpfr_subnormalize(y, ternary, MPFR_RNDN);
    const T result = std::is_same_v<T, float> ? static_cast<T>(mpfr_get_flt(y, MPFR_RNDN))
                                              : static_cast<T>(mpfr_get_d(y, MPFR_RNDN));
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    mpfr_clear(y);
    return result;
  }
  /// Position of the lowest set bit. @range nonzero.
  long lowest_bit() const { return mpfr_get_exp(x_) - static_cast<long>(mpfr_min_prec(x_)); }

 private:
  mpfr_t x_;
  mpfr_exp_t old_emin_;
  mpfr_exp_t old_emax_;
};

template <class T>
::testing::AssertionResult same(T got, T expected) {
  if (bits(got) == bits(expected)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << std::hexfloat << got << ", expected " << expected;
}

// ---- samples --------------------------------------------------------------------------------------------------------

template <class T>
T random_finite(std::mt19937_64& rng) {
  for (;;) {
    const T x = bit_cast<T>(static_cast<typename FloatTraits<T>::Bits>(rng()));
    if (std::isfinite(x)) return x;
  }
}

/// Every exponent field with the mantissas at the ends and one at random, both signs; all finite.
template <class T>
std::vector<T> every_binade() {
  using Bits = typename FloatTraits<T>::Bits;
  constexpr int kStored = FloatTraits<T>::kSignificandBits - 1;
  constexpr Bits kLast = (Bits{1} << kStored) - 1;
  constexpr Bits kNumFields = static_cast<Bits>(FloatTraits<T>::kMaxExponent - FloatTraits<T>::kMinExponent + 2);
  std::mt19937_64 rng(7);
  std::vector<T> samples;
  for (Bits field = 0; field < kNumFields; ++field) {
    for (const Bits mantissa : {Bits{0}, Bits{1}, Bits{2}, Bits{kLast / 2}, static_cast<Bits>(kLast / 2 + 1),
                                static_cast<Bits>(rng() & kLast), static_cast<Bits>(kLast - 1), kLast}) {
      const T x = bit_cast<T>(static_cast<Bits>((field << kStored) | mantissa));
      samples.push_back(x);
      samples.push_back(-x);
    }
  }
  for (int i = 0; i < kStored; ++i) samples.push_back(bit_cast<T>(static_cast<Bits>(Bits{1} << i)));  // subnormal
  return samples;
}

template <class T>
class Exponent : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Exponent, Scalars);

// ---- reading --------------------------------------------------------------------------------------------------------

template <class T>
void expect_read_exactly(T x, Exact& exact) {
  using Traits = FloatTraits<T>;
  const Decomposed d = decompose(x);
  ASSERT_TRUE(same(compose<T>(d), x == 0 ? T{0} : x)) << std::hexfloat << x;
  ASSERT_EQ(std::ldexp(static_cast<T>(d.mantissa), d.exponent), x) << std::hexfloat << x;  // |mantissa| < 2^53: exact
  ASSERT_GE(d.exponent, Traits::kMinUlpExponent);
  const std::int64_t hidden = std::int64_t{1} << (Traits::kSignificandBits - 1);
  const std::int64_t magnitude = d.mantissa < 0 ? -d.mantissa : d.mantissa;
  ASSERT_LT(magnitude, 2 * hidden);
  ASSERT_TRUE(magnitude >= hidden || d.exponent == Traits::kMinUlpExponent) << std::hexfloat << x;
  if (x != 0) {
    ASSERT_EQ(floor_log2(x), std::ilogb(x)) << std::hexfloat << x;
    ASSERT_EQ(lowest_bit_exponent(x), exact.set(static_cast<double>(x), 0).lowest_bit()) << std::hexfloat << x;
  }
}

TYPED_TEST(Exponent, EveryBinadeIsReadExactly) {
  Exact exact;
  for (const TypeParam x : every_binade<TypeParam>()) expect_read_exactly(x, exact);
}

TYPED_TEST(Exponent, RandomBitPatternsAreReadExactly) {
  Exact exact;
  std::mt19937_64 rng(11);
  for (int i = 0; i < tests::cases(200'000); ++i) expect_read_exactly(random_finite<TypeParam>(rng), exact);
}

TYPED_TEST(Exponent, FloorLog2KeepsTheOrderOfAllMagnitudes) {
  using T = TypeParam;
  EXPECT_LT(floor_log2(T{0}), floor_log2(kDenormMin<T>));
  EXPECT_EQ(floor_log2(T{0}), floor_log2(-T{0}));
  EXPECT_GT(floor_log2(kInfinite<T>), floor_log2(kMax<T>));
  EXPECT_EQ(floor_log2(-kInfinite<T>), floor_log2(std::numeric_limits<T>::quiet_NaN()));
}

TYPED_TEST(Exponent, PowersOfTwo) {
  using Traits = FloatTraits<TypeParam>;
  for (int e = Traits::kMinUlpExponent; e <= Traits::kMaxExponent; ++e) {
    ASSERT_TRUE(same(exp2i<TypeParam>(e), std::ldexp(TypeParam{1}, e)));
  }
}

TYPED_TEST(Exponent, Classification) {
  using T = TypeParam;
  std::vector<T> samples = every_binade<T>();
  for (const T x : {kInfinite<T>, -kInfinite<T>, std::numeric_limits<T>::quiet_NaN(),
                    -std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::signaling_NaN()}) {
    samples.push_back(x);
  }
  for (const T x : samples) {
    ASSERT_EQ(is_finite(x), std::isfinite(x));
    ASSERT_EQ(is_nan(x), std::isnan(x));
    ASSERT_EQ(is_negative(x), std::signbit(x));
  }
}

TEST(Exponent128, CountsOfZeros) {
  std::mt19937_64 rng(3);
  for (int i = 0; i < 64; ++i) {
    const std::uint64_t top = (std::uint64_t{1} << 63 | rng()) >> i;
    EXPECT_EQ(count_leading_zeros(top), i);
    EXPECT_EQ(count_trailing_zeros((rng() | 1) << i), i);
  }
}

// ---- scaling --------------------------------------------------------------------------------------------------------

template <class T>
void expect_scaled(T x, int s, Exact& exact) {
  exact.set(static_cast<double>(x), s);
  ASSERT_TRUE(same(num::ldexp(x, s), exact.round<T>())) << std::hexfloat << x << " * 2^" << std::dec << s;
}

TYPED_TEST(Exponent, ScalingByEveryShift) {
  using T = TypeParam;
  using Traits = FloatTraits<T>;
  Exact exact;
  const int span = Traits::kMaxExponent - Traits::kMinUlpExponent + 3;
  const T odd = T{1} + std::numeric_limits<T>::epsilon();
  const T ones = T{2} - std::numeric_limits<T>::epsilon();
  for (const T x : {T{1}, T{-3}, odd, -ones, kMax<T>, std::numeric_limits<T>::min(), kDenormMin<T>, -3 * kDenormMin<T>,
                    std::numeric_limits<T>::min() - kDenormMin<T>, T{0}, -T{0}}) {
    for (int s = -span; s <= span; ++s) expect_scaled(x, s, exact);
  }
}

TYPED_TEST(Exponent, ScalingRandomNumbersByRandomShifts) {
  using T = TypeParam;
  Exact exact;
  std::mt19937_64 rng(13);
  const int low = FloatTraits<T>::kMinUlpExponent;
  for (int i = 0; i < tests::cases(200'000); ++i) {
    T x = random_finite<T>(rng);
    if (i % 3 == 0) {  // few bits: ties in the subnormal range
      x = static_cast<T>(static_cast<int>(rng() % 64) - 32) * exp2i<T>(static_cast<int>(rng() % 200) - 100);
    }
    const int target = low - 4 + static_cast<int>(rng() % (rng() % 2 == 0 ? 64 : 2200));  // exponent of the result
    expect_scaled(x, target - (x == 0 ? 0 : std::ilogb(x)), exact);
  }
}

TYPED_TEST(Exponent, ScalingByExtremeShifts) {
  using T = TypeParam;
  Exact exact;
  for (const T x : every_binade<T>()) {
    for (const int s : {INT_MIN, INT_MIN + 1, -100'000, -5000, 5000, 100'000, INT_MAX - 1, INT_MAX}) {
      expect_scaled(x, s, exact);
    }
  }
}

TYPED_TEST(Exponent, ScalingPassesNonFiniteValuesThrough) {
  using T = TypeParam;
  for (const T x :
       {kInfinite<T>, -kInfinite<T>, std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::signaling_NaN()}) {
    for (const int s : {INT_MIN, -1, 0, 1, INT_MAX}) {
      EXPECT_EQ(bits(num::ldexp(x, s)), bits(x));
    }
  }
}

// ---- composing ------------------------------------------------------------------------------------------------------

template <class T>
void expect_rounded(std::uint64_t hi, std::uint64_t lo, int exponent, bool sticky, Exact& exact) {
  const T expected = exact.set(hi, lo, sticky, exponent).template round<T>();
  ASSERT_TRUE(same(round_to<T>(false, hi, lo, exponent, sticky), expected))
      << std::hex << hi << ' ' << lo << std::dec << " * 2^" << exponent << " sticky " << sticky;
  ASSERT_TRUE(same(round_to<T>(true, hi, lo, exponent, sticky), -expected));
  if (hi == 0 && !sticky) {
    ASSERT_TRUE(same(round_to<T>(false, lo, exponent), expected)) << lo << " * 2^" << exponent;
    ASSERT_TRUE(same(round_to<T>(true, lo, exponent), -expected)) << lo << " * 2^" << exponent;
    if (lo <= INT64_MAX) {
      const Decomposed d{static_cast<std::int64_t>(lo), exponent};
      ASSERT_TRUE(same(compose<T>(d), expected));
      ASSERT_TRUE(same(compose<T>({-d.mantissa, exponent}), lo == 0 ? T{0} : -expected));
    }
  }
}

TYPED_TEST(Exponent, ComposingRandomMagnitudes) {
  using T = TypeParam;
  Exact exact;
  std::mt19937_64 rng(17);
  const int min_sticky_bits = FloatTraits<T>::kSignificandBits + 1;
  for (int i = 0; i < tests::cases(200'000); ++i) {
    const int num_bits = static_cast<int>(rng() % 129);
    Uint128 m = (static_cast<Uint128>(rng()) << 64) | rng();
    m = num_bits == 0 ? 0 : (m | (static_cast<Uint128>(1) << 127)) >> (128 - num_bits);
    const int target = FloatTraits<T>::kMinUlpExponent - 4 + static_cast<int>(rng() % (rng() % 2 == 0 ? 64 : 2200));
    const bool sticky = num_bits >= min_sticky_bits && rng() % 2 == 0;
    expect_rounded<T>(static_cast<std::uint64_t>(m >> 64), static_cast<std::uint64_t>(m), target - num_bits, sticky,
                      exact);
  }
}

TYPED_TEST(Exponent, ComposingTiesAndTheirNeighbours) {
  using T = TypeParam;
  using Traits = FloatTraits<T>;
  Exact exact;
  std::mt19937_64 rng(19);
  const int p = Traits::kSignificandBits;
  for (int i = 0; i < tests::cases(30'000); ++i) {
    // A p-bit integer (all ones, or odd, or even), a half below it, then up to 128 - p - 1 zeros.
    std::uint64_t kept = (std::uint64_t{1} << (p - 1)) | (rng() & ((std::uint64_t{1} << (p - 1)) - 1));
    if (i % 5 == 0) kept = (std::uint64_t{1} << p) - 1;
    const int num_zeros = static_cast<int>(rng() % static_cast<std::uint64_t>(128 - p));
    const Uint128 tie = ((static_cast<Uint128>(kept) << 1) | 1) << num_zeros;
    // Normal result, the last binade (overflow when all ones), or subnormal with the half at the place of some ulp.
    const int below_ulp = 1 + static_cast<int>(rng() % static_cast<std::uint64_t>(p + 3));
    const int anywhere = static_cast<int>(rng() % 100) - 50;
    const int half = i % 3 == 0   ? Traits::kMaxExponent - p
                     : i % 3 == 1 ? anywhere
                                  : Traits::kMinUlpExponent - below_ulp;
    for (const int delta : {-1, 0, 1}) {
      const Uint128 m = tie + static_cast<Uint128>(delta);
      for (const bool sticky : {false, true}) {
        if (sticky && (m >> p) == 0) continue;  // too few bits to round
        expect_rounded<T>(static_cast<std::uint64_t>(m >> 64), static_cast<std::uint64_t>(m), half - num_zeros, sticky,
                          exact);
      }
    }
  }
}

TYPED_TEST(Exponent, ComposingPowersOfTwoAroundTheEndsOfTheRange) {
  using T = TypeParam;
  using Traits = FloatTraits<T>;
  Exact exact;
  for (int shift = 0; shift < 128; ++shift) {
    const Uint128 power = static_cast<Uint128>(1) << shift;
    for (const int end : {Traits::kMinUlpExponent, Traits::kMinExponent, Traits::kMaxExponent + 1}) {
      for (int offset = -3; offset <= 3; ++offset) {
        for (const Uint128 m : {power, power - 1, power + 1, power | power >> 1}) {
          const auto hi = static_cast<std::uint64_t>(m >> 64);
          expect_rounded<T>(hi, static_cast<std::uint64_t>(m), end + offset - shift, false, exact);
        }
      }
    }
  }
  for (const int exponent : {INT_MIN, INT_MIN + 128, INT_MAX - 128, INT_MAX}) {
    for (const std::uint64_t word : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      expect_rounded<T>(word, word, exponent, false, exact);
      expect_rounded<T>(0, word, exponent, false, exact);
    }
  }
}

#if defined(__SSE2__)
TYPED_TEST(Exponent, TheCallersFlushAndRoundingModesDoNotMatter) {
  using T = TypeParam;
  const std::vector<T> samples = every_binade<T>();
  // In that mode x == 0 would hold for subnormals too.
  const auto is_zero = [](T x) { return bits(x) == bits(T{0}) || bits(x) == bits(-T{0}); };
  const auto compute = [&] {
    std::vector<std::int64_t> words;
    for (const T x : samples) {
      const Decomposed d = decompose(x);
      words.insert(words.end(), {d.mantissa, d.exponent, floor_log2(x), is_zero(x) ? 0 : lowest_bit_exponent(x)});
      for (const int s : {-2000, -200, -100, -60, -24, -1, 0, 1, 60, 200, 2000}) {
        words.push_back(static_cast<std::int64_t>(bits(num::ldexp(x, s))));
      }
      words.push_back(static_cast<std::int64_t>(bits(compose<T>({d.mantissa, d.exponent - 30}))));
    }
    return words;
  };
  const auto expected = compute();
  const unsigned modes = _mm_getcsr();
  constexpr unsigned kFlushAndDenormalsAreZero = 0x8040;
  constexpr unsigned kRoundUp = 0x4000;
  _mm_setcsr(modes | kFlushAndDenormalsAreZero | kRoundUp);
  const auto got = compute();
  _mm_setcsr(modes);
  EXPECT_EQ(got, expected);
}
#endif

}  // namespace
}  // namespace kizami::num
