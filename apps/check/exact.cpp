// SPDX-License-Identifier: MIT
#include "check/exact.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace kizami::check {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int kLimbBits = 64;
constexpr int kNumBits = Exact::kLimbs * kLimbBits;
constexpr int kHeadroom = 192;  // the bits above every term: for 2^60 of them, and so that its three limbs exist
constexpr int kNoMinExp = Exact::kMinExp - 128;

struct Decomposed {
  std::uint64_t significand;  // |x| = significand 2^exp, below 2^53
  int exp;
  bool is_negative;
};

Decomposed decompose(double x) {
  const auto word = std::bit_cast<std::uint64_t>(x);
  const int field = static_cast<int>(word >> 52 & 0x7ff);
  if (field == 0x7ff) throw std::domain_error("Exact: NaN or Inf");
  const std::uint64_t fraction = word & 0x000fffffffffffffU;
  const bool is_negative = word >> 63 != 0;
  if (field == 0) return {fraction, -1074, is_negative};
  return {fraction | std::uint64_t{1} << 52, field - 1075, is_negative};
}

int floor_div(int x, int y) { return x >= 0 ? x / y : -((-x + y - 1) / y); }

}  // namespace

void Exact::add_shifted(std::uint64_t lo, std::uint64_t hi, int exp, bool is_negative) {
  if ((lo | hi) == 0) return;
  // Bits below the lowest are 0 in every number within the stated range.
  int position = exp - kMinExp;
  while (position < 0 && (lo & 1) == 0) {
    lo = lo >> 1 | hi << 63;
    hi >>= 1;
    ++position;
  }
  const int width = hi != 0 ? 128 - std::countl_zero(hi) : 64 - std::countl_zero(lo);
  if (position < 0 || position + width > kNumBits - kHeadroom)
    throw std::range_error("Exact: a term outside 2^-4416..2^4224");
  const int shift = position % kLimbBits;
  const Wide low = Wide{lo} << shift, high = Wide{hi} << shift;
  const Wide middle = high + static_cast<std::uint64_t>(low >> kLimbBits);  // disjoint bits: no carry
  const std::uint64_t words[] = {static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(middle),
                                 static_cast<std::uint64_t>(middle >> kLimbBits)};
  auto limb = static_cast<std::size_t>(position / kLimbBits);
  std::uint64_t carry = 0;
  if (is_negative) {
    for (const std::uint64_t word : words) {
      const Wide difference = Wide{limbs_[limb]} - word - carry;
      limbs_[limb++] = static_cast<std::uint64_t>(difference);
      carry = static_cast<std::uint64_t>(difference >> kLimbBits) & 1;
    }
    while (carry != 0 && limb < kLimbs) carry = limbs_[limb++]-- == 0 ? 1 : 0;
  } else {
    for (const std::uint64_t word : words) {
      const Wide sum = Wide{limbs_[limb]} + word + carry;
      limbs_[limb++] = static_cast<std::uint64_t>(sum);
      carry = static_cast<std::uint64_t>(sum >> kLimbBits);
    }
    while (carry != 0 && limb < kLimbs) carry = ++limbs_[limb++] == 0 ? 1 : 0;
  }
}

void Exact::add(double x, int exp) {
  const Decomposed d = decompose(x);
  add_shifted(d.significand, 0, d.exp + exp, d.is_negative);
}

void Exact::add_product(double x, double y, int exp) {
  const Decomposed dx = decompose(x), dy = decompose(y);
  const Wide product = Wide{dx.significand} * dy.significand;
  add_shifted(static_cast<std::uint64_t>(product), static_cast<std::uint64_t>(product >> 64), dx.exp + dy.exp + exp,
              dx.is_negative != dy.is_negative);
}

Exact& Exact::operator+=(const Exact& other) noexcept {
  Wide carry = 0;
  for (std::size_t i = 0; i < kLimbs; ++i) {
    carry += Wide{limbs_[i]} + other.limbs_[i];
    limbs_[i] = static_cast<std::uint64_t>(carry);
    carry >>= kLimbBits;
  }
  return *this;
}

Exact Exact::negated() const noexcept {
  Exact out;
  std::uint64_t carry = 1;
  for (std::size_t i = 0; i < kLimbs; ++i) {
    out.limbs_[i] = ~limbs_[i] + carry;
    carry = carry != 0 && out.limbs_[i] == 0 ? 1 : 0;
  }
  return out;
}

Exact& Exact::operator-=(const Exact& other) noexcept { return *this += other.negated(); }

int Exact::sign() const noexcept {
  if (limbs_.back() >> 63 != 0) return -1;
  return std::any_of(limbs_.begin(), limbs_.end(), [](std::uint64_t limb) { return limb != 0; }) ? 1 : 0;
}

Exact Exact::times(double x) const {
  const Decomposed d = decompose(x);
  const Exact magnitude = abs();
  Exact out;
  for (std::size_t i = 0; i < kLimbs; ++i) {  // limb i weighs 2^(64 i + kMinExp)
    if (magnitude.limbs_[i] == 0) continue;
    const Wide product = Wide{magnitude.limbs_[i]} * d.significand;
    out.add_shifted(static_cast<std::uint64_t>(product), static_cast<std::uint64_t>(product >> 64),
                    static_cast<int>(i) * kLimbBits + kMinExp + d.exp, false);
  }
  return (sign() < 0) != d.is_negative ? out.negated() : out;
}

std::strong_ordering operator<=>(const Exact& x, const Exact& y) noexcept {
  const bool x_negative = x.limbs_.back() >> 63 != 0, y_negative = y.limbs_.back() >> 63 != 0;
  if (x_negative != y_negative) return x_negative ? std::strong_ordering::less : std::strong_ordering::greater;
  for (std::size_t i = Exact::kLimbs; i-- > 0;) {
    if (x.limbs_[i] != y.limbs_[i]) return x.limbs_[i] <=> y.limbs_[i];
  }
  return std::strong_ordering::equal;
}

int Exact::top_bit() const noexcept {
  for (std::size_t i = kLimbs; i-- > 0;) {
    if (limbs_[i] != 0) return static_cast<int>(i) * kLimbBits + 63 - std::countl_zero(limbs_[i]);
  }
  return -1;
}

std::uint64_t Exact::bits_from(int position) const noexcept {
  const int limb = floor_div(position, kLimbBits), shift = position - limb * kLimbBits;
  const auto at = [this](int i) { return i >= 0 && i < kLimbs ? limbs_[static_cast<std::size_t>(i)] : 0; };
  return shift == 0 ? at(limb) : at(limb) >> shift | at(limb + 1) << (kLimbBits - shift);
}

bool Exact::any_below(int position) const noexcept {
  for (int i = 0; i < kLimbs && i * kLimbBits < position; ++i) {
    const int bits = std::min(position - i * kLimbBits, kLimbBits);
    if (limbs_[static_cast<std::size_t>(i)] << (kLimbBits - bits) != 0) return true;
  }
  return false;
}

Exact::Integer Exact::rounded_integer(const Exact& magnitude, int num_bits, int min_exp, Direction direction) noexcept {
  const int top = magnitude.top_bit();
  if (top < 0) return {0, 0, true};
  const int exp = std::max(top + kMinExp - (num_bits - 1), min_exp);
  const int position = exp - kMinExp;  // of the unit; the bit below it is half a unit
  const bool is_above = position > top;
  std::uint64_t value = is_above ? 0 : magnitude.bits_from(position);
  const bool half = position - 1 <= top && (magnitude.bits_from(position - 1) & 1) != 0;
  const bool rest = magnitude.any_below(position - 1);
  const bool up = direction == Direction::kNearest ? half && (rest || (value & 1) != 0)
                                                   : direction == Direction::kAwayFromZero && (half || rest);
  if (up) ++value;
  return {value, exp, false};
}

template <class T>
requires kIsReal<T> T Exact::rounded(Rounding rounding)
const {
  using Limits = std::numeric_limits<T>;
  const bool is_negative = sign() < 0;
  const bool is_away = (rounding == Rounding::kUp && !is_negative) || (rounding == Rounding::kDown && is_negative);
  const Direction direction = rounding == Rounding::kNearest ? Direction::kNearest
                              : is_away                      ? Direction::kAwayFromZero
                                                             : Direction::kTowardsZero;
  const Integer r = rounded_integer(abs(), Limits::digits, Limits::min_exponent - Limits::digits, direction);
  if (r.is_zero) return 0;
  const int top = 63 - std::countl_zero(r.value | 1) + r.exp;
  T value = 0;
  if (top >= Limits::max_exponent) {
    value = direction == Direction::kTowardsZero ? Limits::max() : Limits::infinity();
  } else {
    value = static_cast<T>(std::ldexp(static_cast<double>(r.value), r.exp));  // exact
  }
  return is_negative ? -value : value;
}
template float Exact::rounded(Rounding) const;
template double Exact::rounded(Rounding) const;

Scaled Exact::magnitude(Rounding rounding) const {
  const Direction direction = rounding == Rounding::kNearest ? Direction::kNearest
                              : rounding == Rounding::kUp    ? Direction::kAwayFromZero
                                                             : Direction::kTowardsZero;
  const Integer r = rounded_integer(abs(), 53, kNoMinExp, direction);
  if (r.is_zero) return {};
  return {std::ldexp(static_cast<double>(r.value), -52), r.exp + 52};
}

template <class T>
ValueClass class_of(T x) noexcept {
  if (std::isnan(x)) return ValueClass::kNaN;
  if (std::isinf(x)) return x > 0 ? ValueClass::kPosInf : ValueClass::kNegInf;
  return ValueClass::kFinite;
}
template ValueClass class_of(float) noexcept;
template ValueClass class_of(double) noexcept;

ValueClass class_of_sum(ValueClass x, ValueClass y) noexcept {
  if (x == y || y == ValueClass::kFinite) return x;
  return x == ValueClass::kFinite ? y : ValueClass::kNaN;
}

ValueClass class_of_product(double x, double y) noexcept {
  if (std::isfinite(x) && std::isfinite(y)) return ValueClass::kFinite;
  if (std::isnan(x) || std::isnan(y) || x == 0 || y == 0) return ValueClass::kNaN;
  return (x > 0) == (y > 0) ? ValueClass::kPosInf : ValueClass::kNegInf;
}

void ExactDot::add(double a, double b) {
  const ValueClass term = class_of_product(a, b);
  if (term != ValueClass::kFinite) {
    class_ = class_of_sum(class_, term);
    return;
  }
  Exact& sum_of_its_sign = std::signbit(a) == std::signbit(b) ? positive_ : negative_;
  sum_of_its_sign.add_product(std::abs(a), std::abs(b));
}

Exact ExactDot::sum() const {
  Exact out = positive_;
  return out -= negative_;
}

Exact ExactDot::abs_sum() const {
  Exact out = positive_;
  return out += negative_;
}

template <class T>
requires kIsReal<T> T ExactDot::rounded()
const {
  switch (class_) {
    case ValueClass::kFinite:
      return sum().template rounded<T>();
    case ValueClass::kNaN:
      return std::numeric_limits<T>::quiet_NaN();
    case ValueClass::kPosInf:
      return std::numeric_limits<T>::infinity();
    case ValueClass::kNegInf:
      return -std::numeric_limits<T>::infinity();
  }
  return 0;
}
template float ExactDot::rounded() const;
template double ExactDot::rounded() const;

bool ExactDot::within(double x, double bound) const {
  if (class_ != ValueClass::kFinite || !std::isfinite(x) || !std::isfinite(bound)) return false;
  Exact error = sum();
  error.add(-x);
  return error.abs() <= Exact(bound);
}

double to_double(const Scaled& s, Rounding rounding) {
  const double value = std::ldexp(s.frac, s.exp);
  if (std::isinf(value)) return rounding == Rounding::kDown ? std::numeric_limits<double>::max() : value;
  // ldexp rounds only into the subnormal range, and there to nearest; undoing it is exact.
  const double back = std::ldexp(value, -s.exp);
  if (rounding == Rounding::kUp && back < s.frac) return std::nextafter(value, kInf);
  if (rounding == Rounding::kDown && back > s.frac) return std::nextafter(value, 0.0);
  return value;
}

double ratio_up(const Exact& numerator, const Exact& denominator) {
  const Scaled top = numerator.magnitude(Rounding::kUp), bottom = denominator.magnitude(Rounding::kDown);
  if (top.frac == 0) return 0;
  if (bottom.frac == 0) return kInf;
  return to_double({std::nextafter(top.frac / bottom.frac, kInf), top.exp - bottom.exp}, Rounding::kUp);
}

Scaled sqrt_bound(const Exact& x, Rounding rounding) {
  const Scaled s = x.magnitude(Rounding::kNearest);
  if (s.frac == 0) return s;
  const int half = floor_div(s.exp, 2);
  double root = std::sqrt(std::ldexp(s.frac, s.exp - 2 * half));  // in [1, 2], at most two steps from the bound
  const auto order_of_square = [&] {
    Exact square;
    square.add_product(root, root, 2 * half);
    return square <=> x;
  };
  if (rounding == Rounding::kDown) {
    while (order_of_square() > 0) root = std::nextafter(root, 0.0);
    if (root < 1) return {2 * root, half - 1};
  } else if (rounding == Rounding::kUp) {
    while (order_of_square() < 0) root = std::nextafter(root, kInf);
  }
  return {root, half};
}

}  // namespace kizami::check
