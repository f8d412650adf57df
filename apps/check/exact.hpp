// SPDX-License-Identifier: MIT
// Exact sums of products: a fixed-point number wide enough for the product of any four doubles, so that nothing here
// rounds until a result is read, and then in the direction that is asked for.
//   Exact  = an integer multiple of 2^-4416, below 2^4416 in magnitude (Kulisch's long accumulator)
//   smallest product of four doubles: 2^(4 * -1074) = 2^-4296; largest sum of 2^60 of them: 2^(4 * 1024 + 60) = 2^4156
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include "kizami/types.hpp"

namespace kizami::check {

enum class Rounding : std::uint8_t {
  kNearest,  ///< ties to even, as IEEE 754 rounds by default
  kDown,     ///< towards -infinity
  kUp,       ///< towards +infinity
};

/// frac * 2^exp with an exponent that knows no limits. @range frac is 0 or in [1, 2]
struct Scaled {
  double frac = 0;
  int exp = 0;
};

/// A signed fixed-point number without rounding.
/// Throws std::range_error rather than lose a bit, and std::domain_error for NaN and Inf; neither can happen within the
/// ranges stated.
class Exact {
 public:
  static constexpr int kMinExp = -4416;  ///< the weight of the lowest bit is 2^kMinExp
  static constexpr int kLimbs = 138;

  Exact() noexcept = default;
  explicit Exact(double x) { add(x); }

  /// this += x 2^exp. @exact
  void add(double x, int exp = 0);
  /// this += x y 2^exp. @exact  @range the terms keep within 2^-4416..2^4224; at most 2^60 of them
  void add_product(double x, double y, int exp = 0);
  Exact& operator+=(const Exact& other) noexcept;
  Exact& operator-=(const Exact& other) noexcept;

  /// this * x. @exact  @range the product is a multiple of 2^-4416 below 2^4224
  [[nodiscard]] Exact times(double x) const;
  [[nodiscard]] Exact negated() const noexcept;
  [[nodiscard]] Exact abs() const noexcept { return sign() < 0 ? negated() : *this; }
  /// -1, 0 or +1.
  [[nodiscard]] int sign() const noexcept;

  /// The nearest T, or the neighbour in the direction asked for; beyond the finite range Inf or the largest finite
  /// number as IEEE 754 has it. An exact zero gives +0, a negative number that rounds to zero gives -0.
  template <class T>
  requires kIsReal<T>
  [[nodiscard]] T rounded(Rounding rounding = Rounding::kNearest) const;

  /// |this| to 53 bits whatever its exponent. @bound relative error below 2^-52, in the direction asked for
  [[nodiscard]] Scaled magnitude(Rounding rounding) const;

  friend std::strong_ordering operator<=>(const Exact& x, const Exact& y) noexcept;
  friend bool operator==(const Exact& x, const Exact& y) noexcept { return x.limbs_ == y.limbs_; }

 private:
  struct Integer {
    std::uint64_t value;  ///< |this| rounded to a multiple of 2^exp, in units of 2^exp; at most 2^num_bits
    int exp;
    bool is_zero;
  };
  enum class Direction : std::uint8_t { kNearest, kTowardsZero, kAwayFromZero };
  static Integer rounded_integer(const Exact& magnitude, int num_bits, int min_exp, Direction direction) noexcept;
  void add_shifted(std::uint64_t lo, std::uint64_t hi, int exp, bool is_negative);
  [[nodiscard]] int top_bit() const noexcept;                          // of a positive number; -1 if zero
  [[nodiscard]] std::uint64_t bits_from(int position) const noexcept;  // 64 bits from `position` up
  [[nodiscard]] bool any_below(int position) const noexcept;

  std::array<std::uint64_t, kLimbs> limbs_{};  // two's complement, lowest first
};

/// What IEEE arithmetic on exact terms yields.
enum class ValueClass : std::uint8_t { kFinite, kNaN, kPosInf, kNegInf };

template <class T>
[[nodiscard]] ValueClass class_of(T x) noexcept;
/// NaN if either is NaN or the infinities are opposed, else the infinity, else finite.
[[nodiscard]] ValueClass class_of_sum(ValueClass x, ValueClass y) noexcept;
/// NaN if a factor is NaN, or one is infinite and the other zero; else the signed infinity, else finite.
[[nodiscard]] ValueClass class_of_product(double x, double y) noexcept;

/// The sum of products a_l b_l and of their magnitudes, exactly.
class ExactDot {
 public:
  void add(double a, double b);

  /// The class of the sum. Only if it is kFinite do sum() and abs_sum() mean anything.
  [[nodiscard]] ValueClass value_class() const noexcept { return class_; }
  [[nodiscard]] Exact sum() const;      ///< sum of a_l b_l
  [[nodiscard]] Exact abs_sum() const;  ///< sum of |a_l| |b_l|

  /// The sum rounded to nearest, or the NaN or Inf that its class says.
  template <class T>
  requires kIsReal<T>
  [[nodiscard]] T rounded() const;
  /// Whether |x - sum| <= bound, decided exactly. False if anything is not finite.
  [[nodiscard]] bool within(double x, double bound) const;

 private:
  Exact positive_;  // two sums, since a sum that changes its sign rewrites all limbs each time
  Exact negative_;  // magnitude of the negative terms
  ValueClass class_ = ValueClass::kFinite;
};

/// An upper bound of |numerator| / denominator. 0 / 0 is 0, x / 0 is Inf; a quotient beyond double is Inf.
/// @bound at most 2^-50 relative above the quotient, or one smallest subnormal. @range denominator >= 0
[[nodiscard]] double ratio_up(const Exact& numerator, const Exact& denominator);

/// A lower (kDown) or upper (kUp) bound of sqrt(x), 2^-51 relative from it. @range x >= 0
[[nodiscard]] Scaled sqrt_bound(const Exact& x, Rounding rounding);

/// s as a double, rounded down or up (never past the largest finite number downwards; Inf upwards).
[[nodiscard]] double to_double(const Scaled& s, Rounding rounding);

}  // namespace kizami::check
