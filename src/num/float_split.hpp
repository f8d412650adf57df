// SPDX-License-Identifier: MIT
// The split of scheme ec: one FP32 number as a sum of numbers of a narrow format F of p significand bits,
//   part_0 = F(x),   part_q = F((x - part_0 - ... ) 2^(q s)),   x ~ sum_q part_q 2^(-q s),
// where s is the remainder shift (11 in the halfhalf and tf32tf32 forms: it keeps remainders out of the subnormal
// numbers of FP16; 0 elsewhere). [OY2021, equations 7, 8 and 14]. May not: include CUDA headers.
#pragma once

#include <array>

#include "kizami/formats.hpp"
#include "kizami/host_device.hpp"
#include "num/exponent.hpp"

namespace kizami::num {

/// Most parts of one number: 3 of BF16 hold 24 bits.
inline constexpr int kMaxParts = 3;

/// What splits a number.
struct FloatSplit {
  RoundingMode rounding = RoundingMode::kNearestEven;  ///< of every part
  int num_parts = 2;                                   ///< 1..kMaxParts; further parts are zero
  int remainder_shift = 0;                             ///< s >= 0
};

/// Splits x.
/// @range x = y 2^t for a float y and any t with |x| < 2^200, and |x| rounds to a finite F
/// @exact every difference and every product by 2^s, in FP64: |x - part_0| consists of at most 24 bits of x, and so on.
///        Nothing is lost but the last remainder: |x - sum_q part_q 2^(-q s)| <= split_remainder(p, num_parts) |x| as
///        long as no part is subnormal; a subnormal part_q rounds to multiples of 2^(F::kMinUlpExponent - q s) of x.
/// @cite [OY2021, equations 7, 8 and 14]
template <class F>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::array<F, kMaxParts> split_number(double x, const FloatSplit& split) {
  std::array<F, kMaxParts> parts{};
  const double factor = exp2i<double>(split.remainder_shift);
  for (int q = 0; q < split.num_parts; ++q) {
    parts[static_cast<std::size_t>(q)] = F::from(x, split.rounding);
    x = (x - parts[static_cast<std::size_t>(q)].to_double()) * factor;
  }
  return parts;
}

/// r with |x - sum of the parts| <= r |x| for 24-bit x, parts of p bits, none of them subnormal. With e = floor(log2 |x|):
/// - rounded to nearest (ties either way): rounding leaves at most half a unit in the last place of p bits, 2^(e - p); a
///   remainder of exactly that size is a power of two, which the next part holds; a smaller one has its last place p + 1
///   bits further down. After q parts: 2^(e - q p - (q - 1)).
/// - cut: less than a unit, 2^(e - p + 1), is left, so that the next part's unit is p bits further down at least. After q
///   parts less than 2^(e - q p + 1).
/// And nothing if that is below the last of 24 bits.
[[nodiscard]] constexpr double split_remainder(int significand_bits, int num_parts,
                                               RoundingMode rounding = RoundingMode::kNearestEven) {
  const bool is_cut = rounding == RoundingMode::kTowardZero;
  const int bits = num_parts * significand_bits + (is_cut ? -1 : num_parts - 1);
  return bits > (is_cut ? 22 : 23) ? 0.0 : exp2i<double>(-bits);
}

/// m with |part_q| 2^(-q s) <= m |x|. @range q >= 0; see split_remainder()
[[nodiscard]] constexpr double part_magnitude(int significand_bits, int q,
                                              RoundingMode rounding = RoundingMode::kNearestEven) {
  if (rounding == RoundingMode::kTowardZero) return q == 0 ? 1.0 : exp2i<double>(1 - q * significand_bits);
  return q == 0 ? 1.0 + exp2i<double>(-significand_bits) : exp2i<double>(-(q * significand_bits + q - 1));
}

}  // namespace kizami::num
