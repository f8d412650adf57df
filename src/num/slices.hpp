// SPDX-License-Identifier: MIT
// The digits of scheme ozaki1 and the error of dropping products of them.
//
// A line x with max |x_h| < 2^(e + 1) is written in digits of `step` bits, the first one in units of 2^u_0:
//   x_h = sum_s digit_s(h) 2^u_s,   u_s = e + 1 - head - step s,   s = 0, 1, 2, ...
// After j digits at most R_j 2^e is left of an element:
//   truncated  digits of |x|, with the sign of x:        |digit| <= 2^step - 1,      R_j = unit        (unit = 2^(u_(j-1) - e))
//   nearest    each digit rounds what is left:           |digit| <= 2^(step - 1),    R_j = unit / 2
//   bytes      balanced bytes of the exact number:       -128 <= digit <= 127,       R_j = 128/255 unit
// All three are nested: the first digits do not depend on how many follow. [OOY2024] truncates, [UOI2025] rounds to
// nearest, the carries between bytes are those of cuBLASDx's example of emulation.
//
// With l digits a line and the products of digits i + j < d taken (l <= d <= 2 l - 1),
//   AB - sum_(i + j < d) A_i B_j = sum_(i < l) A_i (B - its first min(l, d - i) digits) + (A - its first l digits) B.
// |A_0| <= |A| + R_1 and |A_i| <= R_i beyond, so an element of k terms errs, with exponents e of its row and f of its column,
// by at most
//   R_l (2^f ||a||_1 + 2^e ||b||_1) + k Q 2^(e + f),   Q = R_1 R_l + sum_(1 <= i < l) R_i R_min(l, d - i).
// Everything here is exact or rounded up by kSlackUp. May not: include CUDA headers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kizami/host_device.hpp"
#include "kizami/policy.hpp"
#include "num/bounds.hpp"
#include "num/exponent.hpp"
#include "num/line_stats.hpp"

namespace kizami::num {

enum class DigitKind : std::uint8_t { kTruncated, kNearest, kBytes };

/// How a line becomes digits.
struct DigitRule {
  DigitKind kind = DigitKind::kBytes;
  int step = 8;  ///< bits from one digit to the next
  int head = 6;  ///< |x| < 2^(e + 1) is 2^head units of the first digit

  friend constexpr bool operator==(const DigitRule&, const DigitRule&) = default;
};

/// The rule of digits with `bits` bits beside their sign. @range 1..7 truncated, 1..11 nearest; bytes have 7
[[nodiscard]] constexpr DigitRule digit_rule(DigitKind kind, int bits) {
  if (kind == DigitKind::kBytes) return {kind, 8, 6};  // 64 units and not 128, whose carry would leave the byte
  return {kind, kind == DigitKind::kTruncated ? bits : bits + 1, bits};
}
/// Largest |digit|.
[[nodiscard]] constexpr int max_digit(const DigitRule& rule) {
  if (rule.kind == DigitKind::kBytes) return 128;
  return rule.kind == DigitKind::kTruncated ? (1 << rule.step) - 1 : 1 << (rule.step - 1);
}
/// u_s - e.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int digit_unit(const DigitRule& rule, int s) {
  return 1 - rule.head - rule.step * s;
}

/// Bits of a digit in the floating-point scheme: the document's 53 - rho with rho = max(ceil(53 - (24 - log2 k) / 2),
/// 53 - p), so that k products of two digits up to 2^bits sum exactly in accumulator_bits = 24 bits. k: the block
/// length where k is blocked. @range k >= 1 @cite [Mukunoki2020, section 2.2]
[[nodiscard]] constexpr int float_digit_bits(int significand_bits, std::int64_t k, int accumulator_bits = 24) {
  int log2_k = 0;
  while ((std::int64_t{1} << log2_k) < k) ++log2_k;
  const int room = accumulator_bits - log2_k;
  return std::min(room > 1 ? room / 2 : 0, significand_bits);
}
/// The longest sum of products of two such digits, a power of two. @range 2 bits <= accumulator_bits
[[nodiscard]] constexpr std::int64_t float_block(int bits, int accumulator_bits = 24) {
  return std::int64_t{1} << (accumulator_bits - 2 * bits);
}

/// beta of [OOY2024]: the bits of truncated digits whose products sum exactly in INT32 over all of k.
[[nodiscard]] constexpr int int32_digit_bits(std::int64_t k) {
  int log2_k = 0;
  while ((std::int64_t{1} << log2_k) < k) ++log2_k;
  return std::min(7, (31 - log2_k) / 2);
}
/// Products of two digits that sum exactly in INT32: the elements of k times the r of ozIMMU_EF. Equation 4 of the
/// document, r = 2^(31 - 2 beta - ceil(log2 k)), is its power of two for digits below 2^beta; with -128 that would
/// overflow by one.
[[nodiscard]] constexpr std::int64_t int32_block(const DigitRule& rule) {
  const std::int64_t digit = max_digit(rule);
  return ((std::int64_t{1} << 31) - 1) / (digit * digit);
}

/// The next digit, in units of 2^shift of what is left of a number (an integer); `rest` becomes what is left then.
/// @range |rest| at most 2^head or what the digit before has left, in those units; shift: any. Int: int64 for |rest| <
///        2^53, __int128 for |rest| < 2^126
/// @exact
template <class Int>
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int next_digit(const DigitRule& rule, Int& rest, int shift) {
  constexpr int kBits = static_cast<int>(8 * sizeof(Int));
  if (shift <= 0) {  // nothing is left behind
    const int digit = -shift >= 16 ? 0 : static_cast<int>(rest * (Int{1} << -shift));
    rest = 0;
    return digit;
  }
  if (shift > kBits - 2) return 0;
  const Int unit = Int{1} << shift;
  Int digit = 0;
  switch (rule.kind) {
    case DigitKind::kTruncated:
      digit = rest / unit;
      break;
    case DigitKind::kNearest: {
      digit = rest >> shift;
      const Int low = rest - digit * unit;
      const Int half = unit / 2;
      if (low > half || (low == half && (digit & 1) != 0)) ++digit;
      break;
    }
    case DigitKind::kBytes:
      // The digits below span [-128/255, 127/255] of a unit: floor(x + 128/255), whose fraction is 0x0.808080...
      if (shift >= kBits - 8) return 0;
      digit = (rest + (unit / 255) * 128 + (unit % 255) * 128 / 255) >> shift;
      break;
  }
  rest -= digit * unit;
  return static_cast<int>(digit);
}

/// ceil(2^54 127/255) / 2^54: a fraction of 53 bits from which on bytes round up.
inline constexpr double kBytesRoundUp = 0x1FDFDFDFDFDFE0p-54;

/// Digits that packed_bytes() holds at most.
inline constexpr int kMostPackedBytes = 8;
/// All digits of a number in bytes at once: digit s is byte count - 1 - s.
/// @param y in units of the last digit  @range bytes; count in 1..8; |y| <= 2^(8 count - 2)
/// @exact the digits of next_digit(): with the nearest integer N above y - 128/255, adding 128 to all bytes but the
///        first and taking it away again leaves the carries
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::uint64_t packed_bytes(double y, int count) {
  const double whole = std::rint(y);
  const bool is_up = bit_cast<std::int64_t>(y - whole) >= bit_cast<std::int64_t>(kBytesRoundUp);
  const auto n = static_cast<std::uint64_t>(static_cast<std::int64_t>(whole) + (is_up ? 1 : 0));
  const std::uint64_t middle =
      0x8080808080808080u >> (8 * (kMostPackedBytes - count)) & ~(0x80ull << (8 * (count - 1)));
  return (n + middle) ^ middle;
}

/// What is left of a number: value + carry, in units of the digit that comes next.
struct FloatRest {
  double value = 0;
  int carry = 0;  ///< apart, for their sum may have more bits than a double
};
/// The next digit; `rest` becomes what is left then. What next_digit() finds, by FP64 operations of which only the
/// rounding to a digit rounds.
/// @range  |value| <= 2^head or what the digit before has left, a multiple of 2^-900 or so small that no digit that is
///         asked for reaches it
[[nodiscard]] KIZAMI_HOST_DEVICE inline int leading_digit(const DigitRule& rule, FloatRest& rest) {
  constexpr double kInteger =
      0x1.8p52;  // a sum with it is rounded to an integer, ties to even, which its low word holds
  const double sum = rest.value + kInteger;
  double digit = sum - kInteger;
  auto result = static_cast<std::int32_t>(static_cast<std::uint32_t>(bit_cast<std::uint64_t>(sum)));
  if (rule.kind == DigitKind::kTruncated && std::fabs(digit) > std::fabs(rest.value)) {
    const int back = rest.value < 0 ? 1 : -1;
    digit += back;
    result += back;
  }
  const double fraction = rest.value - digit;
  const bool is_up =
      rule.kind == DigitKind::kBytes && bit_cast<std::int64_t>(fraction) >= bit_cast<std::int64_t>(kBytesRoundUp);
  result += (is_up ? 1 : 0) + rest.carry;
  rest.value = fraction * static_cast<double>(1 << rule.step);
  rest.carry = is_up ? -(1 << rule.step) : 0;
  return result;
}

/// Digits that hold every element of a line exactly; 0 for a zero line. @range largest exponent of the digits: e >=
/// that of the line
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int num_exact_digits(const DigitRule& rule, const LineStats& line, int e) {
  if (line.is_zero()) return 0;
  const int bits = e + 1 - rule.head - line.lsb;  // below the unit of the first digit
  return bits <= 0 ? 1 : 1 + (bits + rule.step - 1) / rule.step;
}

/// R_j. @range j >= 1
[[nodiscard]] inline double digit_residual(const DigitRule& rule, int j) {
  const double factor = rule.kind == DigitKind::kTruncated ? 1.0
                        : rule.kind == DigitKind::kNearest ? 0.5
                                                           : 128.0 / 255.0 * kSlackUp;
  return std::ldexp(factor, digit_unit(rule, j - 1));
}

/// Q of the file comment. @range 1 <= l <= d <= 2 l - 1
[[nodiscard]] inline double dropped_pairs(const DigitRule& rule, int l, int d) {
  double sum = digit_residual(rule, 1) * digit_residual(rule, l);
  for (int i = 1; i < l; ++i) sum += digit_residual(rule, i) * digit_residual(rule, std::min(l, d - i));
  return sum * kSlackUp;
}

/// The error relative to ||a_i|| ||b_j|| of k real terms: 2 sqrt(k) R_l + k Q, since 2^e <= ||a||_2 and ||a||_1 <=
/// sqrt(k)
/// ||a||_2.
[[nodiscard]] inline double slices_norm_bound(const DigitRule& rule, int l, int d, std::int64_t k) {
  const auto terms = static_cast<double>(k);
  return (2.0 * std::sqrt(terms) * digit_residual(rule, l) + terms * dropped_pairs(rule, l, d)) * kSlackUp;
}

/// What `num_products` sums of products of slices, added one by one to an FP64 number, add to the error, relative to
/// ||a_i|| ||b_j||: at most num_products units roundoff of the sum of their magnitudes [Higham2002, section 4.2].
/// Truncated digits have the sign of their number a, and magnitudes |a| together. The first of other digits leaves about
/// half its unit, which is about |a| at most, and the digits behind it have no more than twice that: 4 |a| together.
[[nodiscard]] constexpr double rounded_sums_norm_bound(const DigitRule& rule, int num_products) {
  const double magnitudes = rule.kind == DigitKind::kTruncated ? 1.0 : 16.0;
  return magnitudes * num_products * 0x1p-53 * kSlackUp;
}

/// Fewest anti-diagonals whose dropped products stay below 2 sqrt(k) u ||a_i|| ||b_j||, the criterion of [Mukunoki2020,
/// algorithm 3] made deterministic; 2 l - 1 if none of fewer do.
[[nodiscard]] inline int sufficient_diagonals(const DigitRule& rule, int l, std::int64_t k, double unit_roundoff) {
  const auto terms = static_cast<double>(k);
  const double all = dropped_pairs(rule, l, 2 * l - 1);
  int d = l;
  while (d < 2 * l - 1 && terms * (dropped_pairs(rule, l, d) - all) > 2.0 * std::sqrt(terms) * unit_roundoff) ++d;
  return d;
}

/// Products of slices i + j < d of l and l slices.
[[nodiscard]] constexpr int num_slice_products(int l, int d) {
  int count = 0;
  for (int g = 0; g < d; ++g) count += std::min(g, l - 1) - std::max(0, g - l + 1) + 1;
  return count;
}

/// How many times the bound of four real products Karatsuba's three have: P1, P2 and P3 each with an error, P3 of sums
/// whose largest elements and norms are up to twice as large. Re = P1 - P2 errs as ever; Im = P3 - P1 - P2 by
///   R_l (...) + K Q 2^(e + f)  of P1 and P2 together,  2 R_l (...) + 4 (K / 2) Q 2^(e + f)  of P3,  K real terms.
inline constexpr double kKaratsubaErrors = 3.0 * (1.0 + 0x1p-10);
/// Bits below the exponent of a line to which Re x + Im x is kept; what that cuts is 2^-10 of the last digit at most
/// while the digits hold kKaratsubaBits.
inline constexpr int kSumDepth = 122;
inline constexpr int kKaratsubaBits = 108;

/// 2^bits > |sum of all products taken|, in units of the last anti-diagonal: k real terms, |a| |b| < 4 2^(e + f),
/// digits that exceed |a| by R_1 <= 2, twice as large sums and three products for Karatsuba.
[[nodiscard]] constexpr int slice_sum_bits(const DigitRule& rule, int d, std::int64_t k) {
  int log2_k = 0;
  while ((std::int64_t{1} << log2_k) < k) ++log2_k;
  return 2 * rule.head - 2 + rule.step * (d - 1) + log2_k + 8;
}

__extension__ using Int128 = __int128;

/// x in units of 2^unit, cut toward zero. @range |x| < 2^(unit + 126)
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr Int128 fixed_point(double x, int unit) {
  const Decomposed d = decompose(x);
  const int shift = d.exponent - unit;
  if (shift >= 0) return static_cast<Int128>(d.mantissa) << shift;
  return shift <= -63 ? 0 : d.mantissa / (std::int64_t{1} << -shift);
}

/// Which real numbers of a line are sliced.
enum class SliceTerms : std::uint8_t {
  kPlain,      ///< all real terms in order: x_0, x_1, ... or re_0, im_0, re_1, im_1, ...
  kReal,       ///< re_0, re_1, ...
  kImaginary,  ///< im_0, im_1, ...
  kSum,        ///< re_0 + im_0, re_1 + im_1, ..., exactly: cut at 2^(exponent - kSumDepth); digits for exponent + 1
  kRealForm,   ///< re_0, -im_0, ...: times kPlain of B, the real part of a product
  kImagForm,   ///< im_0, re_0, ...: times kPlain of B, the imaginary part
};
/// Real numbers of `length` elements.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::int64_t num_slice_terms(SliceTerms terms, bool is_complex,
                                                                        std::int64_t length) {
  const bool is_one_each =
      terms == SliceTerms::kReal || terms == SliceTerms::kImaginary || terms == SliceTerms::kSum || !is_complex;
  return is_one_each ? length : 2 * length;
}

}  // namespace kizami::num
