// SPDX-License-Identifier: MIT
// Sums of products of FP64 numbers without any rounding: a fixed-point register that spans every exponent.
//   value = sum_d digit[d] 2^(32 d - 3840),  digits signed 64-bit, carries left in place for up to 2^29 products.
// @cite Kulisch1971 (the long accumulator)
#pragma once

#include <array>
#include <cstdint>

#include "kizami/host_device.hpp"
#include "num/exponent.hpp"
#include "num/scaled.hpp"
#include "num/wide_int.hpp"

namespace kizami::num {

class LongAccumulator {
 public:
  /// Products are multiples of 2^-2148 and below 2^2048, 2^35 of them below 2^2083. With an exponent, the other factor
  /// is a 53-bit integer: multiples of 2^(-1074 - 2600), below 2^(1024 + 53 + 2100).
  static constexpr int kDigitBits = 32;
  static constexpr int kOffset = 3840;
  static constexpr int kNumDigits = (kOffset + 3233) / kDigitBits + 4;
  /// Products that digits take before carry_digits().
  static constexpr int kMaxPending = 1 << 29;

  /// What a product adds to the digits from `first` on.
  struct Addend {
    static constexpr int kCount = 5;
    int first = 0;
    std::int64_t parts[kCount] = {};
  };
  /// x y 2^exponent. @range both finite; -2600 <= exponent <= 2100 @exact
  [[nodiscard]] static KIZAMI_HOST_DEVICE constexpr Addend addend_of(double x, double y, int exponent = 0) {
    const Decomposed a = decompose(x);
    const Decomposed b = decompose(y);
    if (a.mantissa == 0 || b.mantissa == 0) return {};
    const bool negative = (a.mantissa < 0) != (b.mantissa < 0);
    const auto magnitude = [](std::int64_t m) { return static_cast<std::uint64_t>(m < 0 ? -m : m); };
    const uint128 product = static_cast<uint128>(magnitude(a.mantissa)) * magnitude(b.mantissa);  // < 2^106
    const int position = a.exponent + b.exponent + exponent + kOffset;
    const int shift = position % kDigitBits;
    const auto low = static_cast<uint128>(static_cast<std::uint64_t>(product)) << shift;  // < 2^96
    const auto high = static_cast<uint128>(static_cast<std::uint64_t>(product >> 64)) << shift;
    const auto part = [](uint128 value, int i) {
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(value >> (kDigitBits * i)) & kDigitMask);
    };
    Addend out{position / kDigitBits,
               {part(low, 0), part(low, 1), part(low, 2) + part(high, 0), part(high, 1), part(high, 2)}};
    for (std::int64_t& digit : out.parts) digit = negative ? -digit : digit;
    return out;
  }
  /// Leaves every digit but the last in [0, 2^32); the last carries the sign. @range digits: [kNumDigits]
  static KIZAMI_HOST_DEVICE constexpr void carry_digits(std::int64_t* digits) {
    std::int64_t carried = 0;
    for (int d = 0; d + 1 < kNumDigits; ++d) {
      const std::int64_t sum = digits[d] + carried;
      digits[d] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) & kDigitMask);
      carried = sum >> kDigitBits;
    }
    digits[kNumDigits - 1] += carried;
  }
  /// -1, 0 or 1. @range digits: as carry_digits() leaves them
  [[nodiscard]] static KIZAMI_HOST_DEVICE constexpr int sign_of_digits(const std::int64_t* digits) {
    if (digits[kNumDigits - 1] < 0) return -1;
    int d = kNumDigits - 1;
    while (d >= 0 && digits[d] == 0) --d;
    return d < 0 ? 0 : 1;
  }

  /// Adds x y 2^exponent. @range, @exact as addend_of()
  void add_product(double x, double y, int exponent = 0) {
    const Addend addend = addend_of(x, y, exponent);
    std::int64_t* const digit = &digits_[static_cast<std::size_t>(addend.first)];
    for (int i = 0; i < Addend::kCount; ++i) digit[i] += addend.parts[i];
    if (++num_pending_ == kMaxPending) carry();
  }

  /// The sum (with its sign flipped if `negate`), rounded once to nearest, ties to even; an exact zero is +0.
  template <class T>
  requires kIsReal<T>
  [[nodiscard]] T round(bool negate) const {
    const Leading x = leading();
    if (x.hi == 0) return T{0};
    return round_to<T>(x.negative != negate, x.hi, x.lo, x.exponent, x.sticky);
  }

  /// -1, 0 or 1.
  [[nodiscard]] int sign() const {
    LongAccumulator x = *this;
    x.carry();
    return sign_of_digits(x.digits_.data());
  }

  /// The sum rounded to 53 bits, without limits on the exponent.
  [[nodiscard]] Scaled round_scaled() const {
    const Leading x = leading();
    return x.hi == 0 ? Scaled{} : round_to_scaled(x.negative, x.hi, x.lo, x.sticky, x.exponent);
  }

 private:
  static constexpr std::uint64_t kDigitMask = 0xFFFFFFFF;

  /// The leading 97 to 128 bits of the magnitude, (hi 2^64 + lo) 2^exponent; hi = 0 if the sum is zero.
  struct Leading {
    bool negative = false;
    std::uint64_t hi = 0;
    std::uint64_t lo = 0;
    int exponent = 0;
    bool sticky = false;
  };
  [[nodiscard]] Leading leading() const {
    LongAccumulator x = *this;
    x.carry();
    Leading out;
    out.negative = x.digits_.back() < 0;
    if (out.negative) {
      for (std::int64_t& digit : x.digits_) digit = -digit;
      x.carry();
    }
    int top = kNumDigits - 1;
    while (top >= 0 && x.digits_[static_cast<std::size_t>(top)] == 0) --top;
    if (top < 0) return {};
    const auto at = [&](int d) {
      return d < 0 ? std::uint64_t{0} : static_cast<std::uint64_t>(x.digits_[static_cast<std::size_t>(d)]);
    };
    for (int d = 0; d <= top - 4; ++d) out.sticky = out.sticky || x.digits_[static_cast<std::size_t>(d)] != 0;
    out.hi = (at(top) << kDigitBits) | at(top - 1);
    out.lo = (at(top - 2) << kDigitBits) | at(top - 3);
    out.exponent = kDigitBits * (top - 3) - kOffset;
    return out;
  }

  void carry() {
    num_pending_ = 0;
    carry_digits(digits_.data());
  }

  std::array<std::int64_t, kNumDigits> digits_{};
  int num_pending_ = 0;
};

}  // namespace kizami::num
