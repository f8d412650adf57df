// SPDX-License-Identifier: MIT
// Error-free transformations: hi is the rounded result and hi + lo is the result, decided by __int128 and by MPFR at a
// precision where nothing rounds. Double-double operations that do round are held to the bounds of their header.
#include "num/error_free.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ios>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "num/exponent.hpp"
#include "tests/sanitized.hpp"

namespace kizami::num {
namespace {

__extension__ typedef __int128 Int128;  // NOLINT(modernize-use-using): __extension__ wants a typedef

template <class T>
constexpr T kMostFinite = std::numeric_limits<T>::max();
template <class T>
constexpr T kLeastPositive = std::numeric_limits<T>::denorm_min();
template <class T>
constexpr int kBits = std::numeric_limits<T>::digits;

// ---- compile time ---------------------------------------------------------------------------------------------------

static_assert(two_sum(1.0, 0x1p-60) == DoubleDouble{1.0, 0x1p-60} &&
              two_sum(0x1p-60, 1.0) == DoubleDouble{1.0, 0x1p-60});
static_assert(two_sum(1.0F, 0x1p-24F) == Pair<float>{1.0F, 0x1p-24F});          // tie to even, down
static_assert(two_sum(1.0, 0x1.8p-53) == DoubleDouble{1 + 0x1p-52, -0x1p-54});  // up
static_assert(fast_two_sum(0x1p53, 1.0) == DoubleDouble{0x1p53, 1.0} && fast_two_sum(0.0, 3.0) == DoubleDouble{3, 0});
static_assert(two_product(1 + 0x1p-30, 1 + 0x1p-30) == DoubleDouble{1 + 0x1p-29, 0x1p-60});
static_assert(two_product(0x1.fffffffffffffp0, 0x1.fffffffffffffp0) == DoubleDouble{0x1.ffffffffffffep1, 0x1p-104});
static_assert(two_product(1 + 0x1p-12F, 1 + 0x1p-12F) == Pair<float>{1 + 0x1p-11F, 0x1p-24F});
static_assert(split(0x1.fffffffffffffp0, 27) == DoubleDouble{2.0, -0x1p-52});
static_assert(split_by_sigma(2.5, sigma_for_unit<double>(0)) == DoubleDouble{2.0, 0.5} &&
              split_by_sigma(-3.5, sigma_for_unit<double>(0)) == DoubleDouble{-4.0, 0.5});
static_assert(sigma_for_unit<double>(0) == 0.75 * 0x1p53 && sigma_for_unit<float>(-3) == 0.75F * 0x1p21F);
static_assert(dot2_step(DoubleDouble{0x1p60, 0}, 3.0, 5.0) == DoubleDouble{0x1p60, 15});
static_assert(dot2_value(DoubleDouble{1, 0x1p-53}) == 1 && dot2_gamma_squared<double>(0) == 0);
static_assert(add(DoubleDouble{1, 0x1p-60}, DoubleDouble{-1, 0x1p-70}) == DoubleDouble{0x1p-60 + 0x1p-70, 0});
static_assert(add(DoubleDouble{0x1p60, 1}, -0x1p60) == DoubleDouble{1, 0});
static_assert(multiply_add(DoubleDouble{-1, 0}, 1 + 0x1p-30, 1 + 0x1p-30) == DoubleDouble{0x1p-29 + 0x1p-60, 0});

// ---- reference ------------------------------------------------------------------------------------------------------

/// A real number wide enough for every sum of finite doubles and of their products: 2^-2148 up to beyond 2^2048.
class Real {
 public:
  Real() { mpfr_init2(x_, kPrecision), mpfr_set_zero(x_, 1); }
  explicit Real(double x) : Real() { mpfr_set_d(x_, x, MPFR_RNDN); }
  template <class T>
  explicit Real(Pair<T> x) : Real(static_cast<double>(x.hi)) {
    *this += Real(static_cast<double>(x.lo));
  }
  Real(const Real& other) : Real() { mpfr_set(x_, other.x_, MPFR_RNDN); }
  Real& operator=(const Real& other) {
    mpfr_set(x_, other.x_, MPFR_RNDN);
    return *this;
  }
  ~Real() { mpfr_clear(x_); }

  Real& operator+=(const Real& other) { return exactly(mpfr_add(x_, x_, other.x_, MPFR_RNDN)); }
  Real& operator-=(const Real& other) { return exactly(mpfr_sub(x_, x_, other.x_, MPFR_RNDN)); }
  Real& operator*=(const Real& other) { return exactly(mpfr_mul(x_, x_, other.x_, MPFR_RNDN)); }
  friend Real operator+(Real a, const Real& b) { return a += b; }
  friend Real operator-(Real a, const Real& b) { return a -= b; }
  friend Real operator*(Real a, const Real& b) { return a *= b; }
  friend bool operator==(const Real& a, const Real& b) { return mpfr_equal_p(a.x_, b.x_) != 0; }
  friend bool operator<=(const Real& a, const Real& b) { return mpfr_lessequal_p(a.x_, b.x_) != 0; }
  [[nodiscard]] Real abs() const {
    Real result(*this);
    mpfr_abs(result.x_, x_, MPFR_RNDN);
    return result;
  }
  /// The multiple of 2^unit nearest to this number, ties to even.
  [[nodiscard]] Real rounded_to_unit(int unit) const {
    Real result(*this);
    mpfr_div_2si(result.x_, result.x_, unit, MPFR_RNDN);
    mpfr_rint(result.x_, result.x_, MPFR_RNDN);
    mpfr_mul_2si(result.x_, result.x_, unit, MPFR_RNDN);
    return result;
  }

 private:
  static constexpr mpfr_prec_t kPrecision = 4400;
  Real& exactly(int ternary) {
    EXPECT_EQ(ternary, 0) << "the reference must not round";
    return *this;
  }
  mpfr_t x_;
};

// ---- samples --------------------------------------------------------------------------------------------------------

/// A random sign and significand (often few bits, so that ties and exact cases occur) with leading exponent e.
template <class T>
T random_at(std::mt19937_64& rng, int e) {
  std::uint64_t significand = (rng() | std::uint64_t{1} << 63) >> (64 - kBits<T>);
  if (rng() % 4 == 0) significand &= ~std::uint64_t{0} << (rng() % static_cast<std::uint64_t>(kBits<T>));
  if (rng() % 8 == 0) significand = ~std::uint64_t{0} >> (64 - kBits<T>);
  const T x = std::ldexp(static_cast<T>(significand), e - (kBits<T> - 1));
  return rng() % 2 == 0 ? x : -x;
}

int random_in(std::mt19937_64& rng, int low, int high) {
  return low + static_cast<int>(rng() % static_cast<std::uint64_t>(high - low + 1));
}

template <class T>
struct Two {
  T a;
  T b;
};

/// Pairs with exponents in [low, high]: any, within 2 * kBits of each other, with a zero, cancelling to one ulp.
template <class T>
std::vector<Two<T>> random_pairs(int count, int low, int high, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<Two<T>> pairs;
  while (static_cast<int>(pairs.size()) < count) {
    const int e = random_in(rng, low, high);
    const T a = random_at<T>(rng, e);
    const int near = std::min(high, std::max(low, e + random_in(rng, -2 * kBits<T>, 2 * kBits<T>)));
    switch (rng() % 6) {
      case 0:
        pairs.push_back({a, random_at<T>(rng, random_in(rng, low, high))});
        break;
      case 1:
        pairs.push_back({a, -std::nextafter(a, random_at<T>(rng, e))});
        break;
      case 2:
        pairs.push_back(rng() % 2 == 0 ? Two<T>{a, T{0}} : Two<T>{-T{0}, a});
        break;
      default:
        pairs.push_back({a, random_at<T>(rng, near)});
        break;
    }
  }
  return pairs;
}

template <class T>
class ErrorFree : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(ErrorFree, Scalars);

template <class T>
struct Range {
  static constexpr int kLow = FloatTraits<T>::kMinUlpExponent;
  static constexpr int kHigh = FloatTraits<T>::kMaxExponent;
};

// ---- sums -----------------------------------------------------------------------------------------------------------

template <class T>
void expect_exact_sum(T a, T b) {
  const T rounded = a + b;
  const Pair<T> sum = two_sum(a, b);
  ASSERT_EQ(sum.hi, rounded) << std::hexfloat << a << " + " << b;
  ASSERT_TRUE(Real(sum) == Real(a) + Real(b)) << std::hexfloat << a << " + " << b;
  const Pair<T> swapped = two_sum(b, a);
  ASSERT_EQ(swapped, sum) << std::hexfloat << a << " + " << b;
  const bool a_first = floor_log2(a) >= floor_log2(b);  // weaker than |a| >= |b|, and enough
  ASSERT_EQ(fast_two_sum(a_first ? a : b, a_first ? b : a), sum) << std::hexfloat << a << " + " << b;
  if (floor_log2(a) == floor_log2(b)) {
    ASSERT_EQ(fast_two_sum(b, a), sum) << std::hexfloat << a << " + " << b;
  }
}

TYPED_TEST(ErrorFree, SumsAreExactOverTheWholeRange) {
  using T = TypeParam;
  for (const auto& [a, b] : random_pairs<T>(tests::cases(40'000), Range<T>::kLow, Range<T>::kHigh - 1, 1))
    expect_exact_sum(a, b);
}

TYPED_TEST(ErrorFree, SumsOfSubnormalsAreExact) {
  using T = TypeParam;
  for (const auto& [a, b] : random_pairs<T>(tests::cases(10'000), Range<T>::kLow, Range<T>::kLow + kBits<T> + 3, 2)) {
    expect_exact_sum(a, b);
    const Pair<T> sum = two_sum(a, b);
    if (std::fabs(sum.hi) < std::numeric_limits<T>::min()) {
      ASSERT_EQ(sum.lo, 0);
    }
  }
}

TYPED_TEST(ErrorFree, SumsAreExactUpToOverflow) {
  using T = TypeParam;
  const T below_max = std::nextafter(kMostFinite<T>, T{0});
  int num_finite = 0;
  for (const auto& [a, b] : random_pairs<T>(tests::cases(20'000), Range<T>::kHigh - kBits<T> - 2, Range<T>::kHigh, 3)) {
    if (std::fabs(a) == kMostFinite<T> || std::fabs(b) == kMostFinite<T> || !std::isfinite(a + b)) continue;
    expect_exact_sum(a, b);
    ++num_finite;
  }
  if (!tests::kIsSanitized) {
    EXPECT_GE(num_finite, 10'000);
  }
  for (const T b : {T{0}, T{1}, kLeastPositive<T>, -T{1}, -kMostFinite<T> / 2, -below_max, below_max / 4}) {
    if (std::isfinite(below_max + b)) expect_exact_sum(below_max, b);
  }
  EXPECT_EQ(two_sum(below_max, -below_max), (Pair<T>{0, 0}));
}

TYPED_TEST(ErrorFree, OrderedSumNeedsOnlyTheOrderOfTheExponents) {
  using T = TypeParam;
  // |a| < |b| in one binade, with a sum that rounds.
  const T a = 1;
  const T b = 2 - std::numeric_limits<T>::epsilon();
  EXPECT_TRUE(Real(fast_two_sum(a, b)) == Real(a) + Real(b));
  EXPECT_NE(fast_two_sum(a, b).lo, 0);
  // Out of order bits are lost, as documented, but hi stays the rounded sum.
  const T small = T{1} + std::numeric_limits<T>::epsilon();
  const T large = std::ldexp(T{2} - std::numeric_limits<T>::epsilon(), 2);
  EXPECT_EQ(fast_two_sum(small, large).hi, small + large);
}

// ---- products -------------------------------------------------------------------------------------------------------

/// Whether the header promises an exact error for a * b.
template <class T>
bool is_product_in_range(T a, T b) {
  if (a == 0 || b == 0) return true;
  return std::isfinite(a * b) && lowest_bit_exponent(a) + lowest_bit_exponent(b) >= FloatTraits<T>::kMinUlpExponent;
}

template <class T>
void expect_exact_product(T a, T b) {
  const Pair<T> product = two_product(a, b);
  const T rounded = a * b;
  ASSERT_EQ(product.hi, rounded) << std::hexfloat << a << " * " << b;
  ASSERT_TRUE(Real(product) == Real(a) * Real(b)) << std::hexfloat << a << " * " << b;
  const T splittable = exp2i<T>(FloatTraits<T>::kMaxExponent - (kBits<T> - kBits<T> / 2));
  if (std::fabs(a) < splittable && std::fabs(b) < splittable &&
      std::fabs(rounded) < exp2i<T>(FloatTraits<T>::kMaxExponent)) {  // what constant evaluation computes
    ASSERT_EQ(detail::product_error_by_splitting(a, b, rounded), product.lo) << std::hexfloat << a << " * " << b;
  }
}

TYPED_TEST(ErrorFree, ProductsAreExactWhereTheyDoNotUnderflow) {
  using T = TypeParam;
  int num_in_range = 0;
  for (const auto& [a, b] : random_pairs<T>(tests::cases(60'000), Range<T>::kLow, Range<T>::kHigh, 4)) {
    if (!is_product_in_range(a, b)) continue;
    expect_exact_product(a, b);
    ++num_in_range;
  }
  for (const auto& [a, b] : random_pairs<T>(tests::cases(20'000), Range<T>::kLow / 2, Range<T>::kHigh / 2, 5)) {
    if (!is_product_in_range(a, b)) continue;
    expect_exact_product(a, b);
    ++num_in_range;
  }
  if (!tests::kIsSanitized) {
    EXPECT_GE(num_in_range, 20'000);
  }
}

TYPED_TEST(ErrorFree, ProductsOfTheStatedSizeAreInRange) {
  using T = TypeParam;
  const T least = exp2i<T>(FloatTraits<T>::kMinExponent + kBits<T>);  // 2^-969 or 2^-102
  std::mt19937_64 rng(6);
  int num_checked = 0;
  for (int i = 0; i < tests::cases(20'000); ++i) {
    const int e = random_in(rng, Range<T>::kLow, FloatTraits<T>::kMaxExponent);
    const int sum = FloatTraits<T>::kMinExponent + kBits<T> + random_in(rng, -1, 1);
    if (sum - e > FloatTraits<T>::kMaxExponent || sum - e < Range<T>::kLow) continue;
    const T a = random_at<T>(rng, e);
    const T b = random_at<T>(rng, sum - e);
    if (std::fabs(a * b) < least) continue;
    ASSERT_TRUE(is_product_in_range(a, b)) << std::hexfloat << a << " * " << b;
    expect_exact_product(a, b);
    ++num_checked;
  }
  if (!tests::kIsSanitized) {
    EXPECT_GE(num_checked, 5'000);
  }
}

TYPED_TEST(ErrorFree, ProductsThatUnderflowAreRoundedOnce) {
  using T = TypeParam;
  int num_checked = 0;
  for (const auto& [a, b] :
       random_pairs<T>(tests::cases(60'000), Range<T>::kLow / 2 - kBits<T>, Range<T>::kLow / 2 + kBits<T>, 7)) {
    if (is_product_in_range(a, b)) continue;
    const Pair<T> product = two_product(a, b);
    ASSERT_EQ(product.hi, a * b);
    const Real error = Real(a) * Real(b) - Real(product.hi);
    ASSERT_TRUE(Real(product.lo) == error.rounded_to_unit(FloatTraits<T>::kMinUlpExponent))
        << std::hexfloat << a << " * " << b;
    ++num_checked;
  }
  if (!tests::kIsSanitized) {
    EXPECT_GE(num_checked, 10'000);
  }
}

TEST(ErrorFreeInteger, ProductsAgreeWithInt128) {
  std::mt19937_64 rng(8);
  for (int i = 0; i < tests::cases(100'000); ++i) {
    const auto a = static_cast<std::int64_t>(rng() >> 11) * (i % 2 == 0 ? 1 : -1);
    const auto b = static_cast<std::int64_t>(rng() >> (11 + i % 50));
    const DoubleDouble product = two_product(static_cast<double>(a), static_cast<double>(b));
    ASSERT_TRUE(static_cast<Int128>(product.hi) + static_cast<Int128>(product.lo) == static_cast<Int128>(a) * b)
        << a << ' ' << b;
  }
}

// ---- splits ---------------------------------------------------------------------------------------------------------

template <class T>
int num_significant_bits(T x) {
  return x == 0 ? 0 : floor_log2(x) - lowest_bit_exponent(x) + 1;
}

TYPED_TEST(ErrorFree, SplitsAfterEveryBit) {
  using T = TypeParam;
  std::mt19937_64 rng(9);
  for (int low_bits = 2; low_bits <= kBits<T> - 2; ++low_bits) {
    for (int i = 0; i < tests::cases(2'000); ++i) {
      const T a = random_at<T>(rng, random_in(rng, Range<T>::kLow, Range<T>::kHigh - low_bits - 1));
      const Pair<T> halves = split(a, low_bits);
      ASSERT_TRUE(Real(halves) == Real(a)) << std::hexfloat << a << std::dec << ' ' << low_bits;
      ASSERT_LE(num_significant_bits(halves.hi), kBits<T> - low_bits)
          << std::hexfloat << a << std::dec << ' ' << low_bits;
      ASSERT_LE(num_significant_bits(halves.lo), low_bits - 1) << std::hexfloat << a << std::dec << ' ' << low_bits;
      if (a != 0) {
        const int bound = floor_log2(a) - kBits<T> + low_bits;
        ASSERT_TRUE(halves.lo == 0 || std::fabs(halves.lo) <= std::ldexp(T{1}, bound)) << std::hexfloat << a;
      }
    }
    EXPECT_EQ(split(T{0}, low_bits), (Pair<T>{0, 0}));
    const T largest = std::nextafter(exp2i<T>(FloatTraits<T>::kMaxExponent - low_bits), T{0});
    EXPECT_TRUE(Real(split(largest, low_bits)) == Real(largest)) << low_bits;
  }
}

TYPED_TEST(ErrorFree, SigmaRoundsToTheNearestMultipleOfItsUnit) {
  using T = TypeParam;
  std::mt19937_64 rng(10);
  const int last_unit = FloatTraits<T>::kMaxExponent - kBits<T> + 1;
  for (int i = 0; i < tests::cases(60'000); ++i) {
    int unit = random_in(rng, Range<T>::kLow, last_unit);
    if (i < 200) unit = i % 2 == 0 ? Range<T>::kLow + i / 2 : last_unit - i / 2;
    const T sigma = sigma_for_unit<T>(unit);
    const int largest = unit + kBits<T> - 2;
    T a = random_at<T>(rng, std::max(Range<T>::kLow, largest - 1 - random_in(rng, 0, kBits<T> + 4)));
    if (i % 10 == 0) a = std::ldexp(static_cast<T>(random_in(rng, -1000, 1000)) + T{0.5}, unit);  // ties
    if (i % 10 == 1) a = std::copysign(std::ldexp(T{1}, largest), a);  // the end of the range
    if (std::fabs(a) > std::ldexp(T{1}, largest) || !std::isfinite(sigma + a)) continue;
    const Pair<T> parts = split_by_sigma(a, sigma);
    ASSERT_TRUE(Real(parts.hi) == Real(a).rounded_to_unit(unit)) << std::hexfloat << a << std::dec << " unit " << unit;
    ASSERT_TRUE(Real(parts) == Real(a)) << std::hexfloat << a << std::dec << " unit " << unit;
    ASSERT_TRUE(parts.hi != 0 || !std::signbit(parts.hi));
  }
}

// ---- double-double --------------------------------------------------------------------------------------------------

template <class T>
Pair<T> random_pair_number(std::mt19937_64& rng, int e) {
  const T hi = random_at<T>(rng, e);
  const T lo = random_at<T>(rng, e - kBits<T> - 1 - (rng() % 4 == 0 ? random_in(rng, 0, 20) : 0));
  return fast_two_sum(hi, rng() % 8 == 0 ? T{0} : lo);
}

/// bound_units * u^2 * |exact|, u = 2^-kBits.
template <class T>
Real error_bound(double bound_units, const Real& exact) {
  return Real(bound_units) * Real(std::ldexp(1.0, -2 * kBits<T>)) * exact.abs();
}

template <class T>
::testing::AssertionResult is_within(Pair<T> result, const Real& exact, double bound_units) {
  if (result.hi + result.lo != result.hi) return ::testing::AssertionFailure() << "not normalized";
  if ((Real(result) - exact).abs() <= error_bound<T>(bound_units, exact)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << std::hexfloat << result.hi << " + " << result.lo << " is out of bound";
}

TYPED_TEST(ErrorFree, PairOperationsKeepTheirBounds) {
  using T = TypeParam;
  std::mt19937_64 rng(11);
  for (int i = 0; i < tests::cases(20'000); ++i) {
    const int e = random_in(rng, -20, 20);
    const Pair<T> a = random_pair_number<T>(rng, e);
    Pair<T> b = random_pair_number<T>(rng, e + random_in(rng, -kBits<T>, 2));
    if (i % 4 == 0) b = {-a.hi, random_pair_number<T>(rng, e).lo};  // cancellation
    b = fast_two_sum(b.hi, b.lo);
    const T c = i % 4 == 1 ? -a.hi : random_at<T>(rng, e + random_in(rng, -5, 5));
    ASSERT_TRUE(is_within(add(a, b), Real(a) + Real(b), kAddPairBoundUnits));
    ASSERT_TRUE(is_within(add(a, c), Real(a) + Real(c), kAddBoundUnits));
    ASSERT_TRUE(is_within(multiply(a, c), Real(a) * Real(c), kMultiplyBoundUnits));
    ASSERT_TRUE(is_within(multiply(a, b), Real(a) * Real(b), kMultiplyPairBoundUnits));
    ASSERT_TRUE(is_within(multiply_add(a, b.hi, c), Real(a) + Real(b.hi) * Real(c), kAddPairBoundUnits));
  }
}

TYPED_TEST(ErrorFree, PairOperationsAreExactWhenTheResultFits) {
  using T = TypeParam;
  std::mt19937_64 rng(12);
  const int half = kBits<T> / 2;
  for (int i = 0; i < tests::cases(10'000); ++i) {
    const T a = std::ldexp(std::rint(random_at<T>(rng, half - 1)), random_in(rng, -10, 10));  // half bits
    const T b = std::ldexp(std::rint(random_at<T>(rng, half - 1)), random_in(rng, -10, 10));
    const T c = std::ldexp(std::rint(random_at<T>(rng, half - 1)), random_in(rng, -10, 10));
    const Pair<T> product = multiply(Pair<T>{a, 0}, b);  // at most 2 half bits
    ASSERT_TRUE(Real(product) == Real(a) * Real(b));
    ASSERT_TRUE(Real(multiply(product, c)) == Real(a) * Real(b) * Real(c));
    ASSERT_TRUE(Real(multiply(product, Pair<T>{c, 0})) == Real(a) * Real(b) * Real(c));
    ASSERT_TRUE(Real(add(product, c)) == Real(product) + Real(c));
    ASSERT_EQ(add(product, Pair<T>{-product.hi, -product.lo}), (Pair<T>{0, 0}));
  }
}

// ---- Dot2 -----------------------------------------------------------------------------------------------------------

TEST(Dot2, IntegerDotProductsAreExact) {
  std::mt19937_64 rng(13);
  for (int i = 0; i < 200; ++i) {
    DoubleDouble acc{};
    Int128 exact = 0;
    // Factors below 2^40: |hi| < 300 * 2^80 < 2^89, so each of the 600 rounding errors is an integer of at most 2^36
    // and lo stays below 2^46: nothing is ever lost.
    for (int k = 0; k < 300; ++k) {
      const auto a = static_cast<std::int64_t>(rng() >> 24) * (rng() % 2 == 0 ? 1 : -1);
      const auto b = static_cast<std::int64_t>(rng() >> 24);
      acc = dot2_step(acc, static_cast<double>(a), static_cast<double>(b));
      exact += static_cast<Int128>(a) * b;
    }
    ASSERT_TRUE(static_cast<Int128>(acc.hi) + static_cast<Int128>(acc.lo) == exact);
    ASSERT_EQ(dot2_value(acc), static_cast<double>(exact));  // so the value is the exact sum, rounded once
  }
}

TYPED_TEST(ErrorFree, Dot2KeepsItsBoundUnderCancellation) {
  using T = TypeParam;
  std::mt19937_64 rng(14);
  for (int i = 0; i < 150; ++i) {
    const int k = random_in(rng, 1, 120);
    std::vector<Two<T>> terms;
    for (int j = 0; j < k; ++j) {
      const int e = random_in(rng, -15, 15);
      if (j % 2 == 1) {  // cancel the previous product but for its last bits
        terms.push_back({-terms.back().a, std::nextafter(terms.back().b, T{0})});
      } else {
        terms.push_back({random_at<T>(rng, e), random_at<T>(rng, random_in(rng, -15, 15))});
      }
    }
    Pair<T> acc{};
    Real exact;
    Real magnitude;
    for (const auto& [a, b] : terms) {
      acc = dot2_step(acc, a, b);
      exact += Real(a) * Real(b);
      magnitude += (Real(a) * Real(b)).abs();
    }
    const Real bound = Real(std::ldexp(1.0, -kBits<T>)) * exact.abs() + Real(dot2_gamma_squared<T>(k)) * magnitude;
    ASSERT_TRUE((Real(dot2_value(acc)) - exact).abs() <= bound) << "k = " << k;
  }
}

TYPED_TEST(ErrorFree, GammaIsRoundedUp) {
  using T = TypeParam;
  for (const std::int64_t k : {1, 2, 3, 7, 100, 12'345, 1 << 20, (1 << 24) - 1}) {
    // gamma^2 (1 - k u)^2 >= (k u)^2, all exact.
    const Real k_u = Real(static_cast<double>(k)) * Real(std::ldexp(1.0, -kBits<T>));
    const Real rest = Real(1.0) - k_u;
    EXPECT_TRUE(k_u * k_u <= Real(dot2_gamma_squared<T>(k)) * rest * rest) << k;
  }
}

}  // namespace
}  // namespace kizami::num
