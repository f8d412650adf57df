// SPDX-License-Identifier: MIT
// How a tensor core adds: the one description that the software model computes with and that error bounds are derived
// from. One step takes the accumulator c (FP32) and a group of products a_h b_h of narrow numbers,
//   E = the largest exponent among the addends,   every addend is cut to a multiple of 2^(E - fraction_bits),
//   d = FP32(their exact sum),
// both roundings towards zero on NVIDIA hardware. Exponents are those of the formats: of a product the sum of the two
// fields, not normalised (its significand lies in [1, 4)); subnormal numbers have the exponent of the smallest normal;
// zeros have none. [Fasi2021, sections 3 and 4]; [MatlabTensorCore] for Hopper's 2 extra bits and groups of 16.
// May not: include CUDA headers.
#pragma once

#include <cstdint>

#include "kizami/formats.hpp"
#include "num/exponent.hpp"

namespace kizami::num {

/// The operand formats of FP32-accumulating tensor cores.
enum class FloatType : std::uint8_t { kFp16, kBf16, kTf32 };

[[nodiscard]] constexpr int significand_bits(FloatType type) { return type == FloatType::kBf16 ? 8 : 11; }
[[nodiscard]] constexpr int element_bytes(FloatType type) { return type == FloatType::kTf32 ? 4 : 2; }
/// Exponent of the smallest normal number.
[[nodiscard]] constexpr int min_exponent(FloatType type) { return type == FloatType::kFp16 ? -14 : -126; }
/// log2 of the smallest subnormal number.
[[nodiscard]] constexpr int min_ulp_exponent(FloatType type) {
  return min_exponent(type) - (significand_bits(type) - 1);
}

struct TensorCore {
  int group = 16;          ///< products of one step: 1, 2, 4, 8 or 16
  int fraction_bits = 25;  ///< of an aligned addend below the largest exponent: 23 and the extra bits; 23..40
  bool is_fused = true;    ///< c is one of the aligned addends; false: d = c + FP32(sum of the products)
  RoundingMode alignment = RoundingMode::kTowardZero;     ///< of an addend to 2^(E - fraction_bits): RZ or RNE
  RoundingMode sum_rounding = RoundingMode::kTowardZero;  ///< of the sum of the step to FP32: RZ or RNE
  RoundingMode add_rounding = RoundingMode::kTowardZero;  ///< of c + sum where the step is not fused: RZ or RNE

  friend constexpr bool operator==(const TensorCore&, const TensorCore&) = default;
};

/// Hopper (wgmma, sm_90): 16 products of FP16 or BF16, 8 of TF32, 2 extra bits. @cite [MatlabTensorCore]
[[nodiscard]] constexpr TensorCore hopper_tensor_core(FloatType type) {
  TensorCore core;
  core.group = type == FloatType::kTf32 ? 8 : 16;
  return core;
}
/// Ampere (sm_80): 8 products of FP16 or BF16, 4 of TF32, 1 extra bit. @cite [Fasi2021, table 3]
[[nodiscard]] constexpr TensorCore ampere_tensor_core(FloatType type) {
  TensorCore core;
  core.group = type == FloatType::kTf32 ? 4 : 8;
  core.fraction_bits = 24;
  return core;
}
/// mma_rn and mma_rz of [OY2021, section 3.2]: the products of a 16 x 16 x 16 step are summed with truncation, and the
/// accumulator is added to that in FP32, to nearest or towards zero.
[[nodiscard]] constexpr TensorCore mma_rn_tensor_core() {
  TensorCore core;
  core.is_fused = false;
  core.add_rounding = RoundingMode::kNearestEven;
  return core;
}
[[nodiscard]] constexpr TensorCore mma_rz_tensor_core() {
  TensorCore core = mma_rn_tensor_core();
  core.add_rounding = RoundingMode::kTowardZero;
  return core;
}

/// Rounds integer * 2^exponent to FP32. @range |integer| < 2^62 @exact RZ of finite numbers beyond the largest FP32
/// number gives Inf, as the hardware does (IEEE 754 would stop at the largest number)
[[nodiscard]] constexpr float round_to_fp32(std::int64_t integer, int exponent, RoundingMode rounding) {
  std::uint64_t magnitude = static_cast<std::uint64_t>(integer < 0 ? -integer : integer);
  if (magnitude == 0) return 0.0F;
  if (rounding == RoundingMode::kTowardZero) {
    const int top = 63 - count_leading_zeros(magnitude);
    const int least = FloatTraits<float>::kMinUlpExponent - exponent;  // the unit of subnormal results
    const int drop = top - 23 > least ? top - 23 : least;
    if (drop > top) return integer < 0 ? -0.0F : 0.0F;
    if (drop > 0) magnitude = magnitude >> drop << drop;
  }
  return round_to_float(integer < 0, magnitude, exponent);
}

namespace detail {

/// An addend as an integer times a power of two, and the exponent that the hardware aligns by.
struct Addend {
  std::int64_t mantissa = 0;
  int unit = 0;
  int exponent = 0;
};

/// x in a format whose smallest normal number is 2^least. @range x finite and nonzero
[[nodiscard]] constexpr Addend addend_of(double x, int least) {
  const Decomposed d = decompose(x);
  const int exponent = floor_log2(x);
  return {d.mantissa / (std::int64_t{1} << 29), d.exponent + 29, exponent < least ? least : exponent};
}

/// mantissa 2^unit in units of 2^quantum. @range unit - quantum <= 24
[[nodiscard]] constexpr std::int64_t align(const Addend& x, int quantum, RoundingMode rounding) {
  const int shift = x.unit - quantum;
  if (shift >= 0) return x.mantissa * (std::int64_t{1} << shift);
  if (shift < -62) return 0;
  const std::int64_t unit = std::int64_t{1} << -shift;
  const std::int64_t cut = x.mantissa / unit;
  if (rounding == RoundingMode::kTowardZero) return cut;
  const std::int64_t rest = (x.mantissa < 0 ? -x.mantissa : x.mantissa) % unit;
  const bool is_up = rest > unit / 2 || (rest == unit / 2 && cut % 2 != 0);
  return cut + (is_up ? (x.mantissa < 0 ? -1 : 1) : 0);
}

/// x + y in FP32, to nearest even or towards zero.
[[nodiscard]] constexpr float add_fp32(float x, float y, RoundingMode rounding) {
  if (rounding == RoundingMode::kNearestEven || !is_finite(x) || !is_finite(y)) return x + y;
  const double a = static_cast<double>(x);
  const double b = static_cast<double>(y);
  const double sum = a + b;
  if (sum == 0.0) return 0.0F;
  const double b_seen = sum - a;
  const double lost = (a - (sum - b_seen)) + (b - b_seen);  // exactly a + b - sum [Knuth1997, sec. 4.2.2, Theorem B]
  const Decomposed d = decompose(sum);
  // Where the exact sum lies on the near side of `sum`: one unit of FP64 less, which is far below one of FP32.
  const std::int64_t away = lost == 0.0 || (lost < 0.0) == (sum < 0.0) ? 0 : (sum < 0.0 ? 1 : -1);
  return round_to_fp32(d.mantissa + away, d.exponent, RoundingMode::kTowardZero);
}

}  // namespace detail

/// What a tensor core returns for NaN and for infinities of both signs.
[[nodiscard]] constexpr float tensor_core_nan() { return bit_cast<float>(std::uint32_t{0x7fffffff}); }

/// One step: the plain statement that the engine tc_model must equal in every bit.
/// @shape a, b: `count` numbers of the type, as FP64. @range count <= core.group <= 16
/// @exact as the comment of this file says. A NaN, Inf * 0 or infinities of both signs give the NaN 0x7fffffff, one
///        infinity gives itself. A sum of exactly zero is +0.
[[nodiscard]] constexpr float tensor_core_step(const TensorCore& core, FloatType type, float c, const double* a,
                                               const double* b, int count) {
  double special = is_finite(c) ? 0.0 : static_cast<double>(c);
  for (int h = 0; h < count; ++h) {
    if (!is_finite(a[h]) || !is_finite(b[h])) special += a[h] * b[h];
  }
  if (special != 0.0) return is_nan(special) ? tensor_core_nan() : static_cast<float>(special);

  detail::Addend addends[17];
  int num_addends = 0;
  for (int h = 0; h < count; ++h) {
    if (a[h] == 0.0 || b[h] == 0.0) continue;
    const detail::Addend x = detail::addend_of(a[h], min_exponent(type));
    const detail::Addend y = detail::addend_of(b[h], min_exponent(type));
    addends[num_addends++] = {x.mantissa * y.mantissa, x.unit + y.unit, x.exponent + y.exponent};
  }
  if (core.is_fused && c != 0.0F) {
    addends[num_addends++] = detail::addend_of(static_cast<double>(c), FloatTraits<float>::kMinExponent);
  }
  float sum = 0.0F;
  if (num_addends > 0) {
    int largest = addends[0].exponent;
    for (int i = 1; i < num_addends; ++i) largest = addends[i].exponent > largest ? addends[i].exponent : largest;
    const int quantum = largest - core.fraction_bits;
    std::int64_t integer = 0;
    for (int i = 0; i < num_addends; ++i) integer += detail::align(addends[i], quantum, core.alignment);
    sum = round_to_fp32(integer, quantum, core.sum_rounding);
  }
  return core.is_fused ? sum : detail::add_fp32(c, sum, core.add_rounding);
}

}  // namespace kizami::num
