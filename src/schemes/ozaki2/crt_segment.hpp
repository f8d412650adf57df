// SPDX-License-Identifier: MIT
// The exact integers of a segment of a column of C, from its residue planes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/int_math.hpp"
#include "num/crt_table.hpp"
#include "num/wide_int.hpp"
#include "schemes/ozaki2/crt.hpp"

namespace kizami::ozaki2 {

struct SignedWide {
  bool negative = false;
  num::CrtInt magnitude;
};

[[nodiscard]] inline SignedWide add(const SignedWide& x, bool negative, const num::CrtInt& magnitude) {
  if (x.negative == negative) return {negative, num::add(x.magnitude, magnitude)};
  if (num::less(x.magnitude, magnitude)) return {negative, num::sub(magnitude, x.magnitude)};
  return {x.negative, num::sub(x.magnitude, magnitude)};
}

/// The leading 65 to 128 bits of a magnitude: (hi 2^64 + lo) 2^exponent, and whether anything but zeros follows.
struct LeadingBits {
  std::uint64_t hi = 0;
  std::uint64_t lo = 0;
  int exponent = 0;
  bool sticky = false;
};
[[nodiscard]] inline LeadingBits leading_bits(const num::CrtInt& x) {
  int top = num::kCrtLimbs - 1;
  while (top > 1 && x.limb[static_cast<std::size_t>(top)] == 0) --top;
  LeadingBits bits{x.limb[static_cast<std::size_t>(top)], x.limb[static_cast<std::size_t>(top - 1)], 64 * (top - 1),
                   false};
  for (int i = 0; i + 1 < top; ++i) bits.sticky = bits.sticky || x.limb[static_cast<std::size_t>(i)] != 0;
  return bits;
}

class CrtSegment {
 public:
  /// @range count <= kSegment; residues readable up to the next multiple of 64
  CrtSegment(num::Ring ring, int num_moduli, num::Part part, const std::int8_t* residues, std::int64_t plane_stride,
             std::int64_t count)
      : table_(num::crt_table(ring, num_moduli, part)) {
    crt_digits(table_, residues, plane_stride, base::round_up(count, 64), digits_);
  }

  [[nodiscard]] const num::CrtTable& table() const { return table_; }
  /// Digits of element i, kSegment apart; see crt_digits().
  [[nodiscard]] const double* digits(std::int64_t i) const { return digits_ + i; }

  /// The integer of element i, |X| <= (P - 1) / 2.
  [[nodiscard]] SignedWide integer(std::int64_t i) const {
    num::CrtInt x;
    for (int d = table_.num_digits - 1; d >= 0; --d) {
      const auto digit = static_cast<std::int64_t>(digits_[d * kSegment + i]);
      num::CrtInt term(static_cast<std::uint64_t>(digit));
      if (digit < 0) std::fill(term.limb.begin() + 1, term.limb.end(), ~std::uint64_t{0});
      x = num::add(num::mul_small(x, std::uint64_t{1} << num::kCrtDigitBits), term);
    }
    const bool negative = (x.limb.back() >> 63) != 0;
    if (negative) x = num::negate(x);
    // |X| > (P - 1) / 2: the other representative, of the other sign.
    if (num::less(table_.half_wide, x)) return {!negative, num::sub(table_.product_wide, x)};
    return {negative, x};
  }

 private:
  const num::CrtTable& table_;
  double digits_[num::kMaxCrtDigits * kSegment];
};

}  // namespace kizami::ozaki2
