// SPDX-License-Identifier: MIT
// How an FP32 operand lies in memory once it is split into two narrow numbers an element, hi and lo, for a product on FP16 or
// TF32 tensor cores:
//   A = 2^-a_i (hi + lo) and B = 2^-b_j (hi + lo) but for what lo cannot hold, so
//   A B ~ 2^-(a_i + b_j) (lo_A hi_B + hi_A lo_B + hi_A hi_B);   lo_A lo_B, below 2^-22 of each term, is left out.
// A line (row of op(A), column of op(B)) is a chain of blocks of 128 bytes: the hi of 32 (TF32: 16) elements in 64 bytes,
// then the lo of the same elements. So one copy of 128 bytes a line brings both, in the swizzle of 128 bytes.
#pragma once

#include <cstdint>

#include "base/int_math.hpp"

namespace kizami::product {

/// What hi and lo are.
enum class EcFormat : std::uint8_t { kF16, kTf32 };

inline constexpr std::int64_t kEcBlockBytes = 128;

/// Elements of a block.
[[nodiscard]] constexpr std::int64_t ec_block_length(EcFormat format) { return format == EcFormat::kF16 ? 32 : 16; }
/// Bytes of a line of `length` elements.
[[nodiscard]] constexpr std::int64_t ec_line_bytes(EcFormat format, std::int64_t length) {
  return base::ceil_div(length, ec_block_length(format)) * kEcBlockBytes;
}

/// The largest element of a line has magnitude in [2^kEcTopExponent, 2^(kEcTopExponent + 1)) after scaling.
inline constexpr int kEcTopExponent = 14;

/// A split operand in device memory.
/// @shape  line i: ec_line_bytes() bytes at data + i * row_stride, zeros beyond its length; scales: [num_lines]
/// @range  data begins on 128 bytes, scales on 8; row_stride a multiple of 128
struct EcPlanes {
  const std::int8_t* data = nullptr;
  std::int64_t row_stride = 0;           ///< bytes
  const std::int32_t* scales = nullptr;  ///< x 2^scale is what hi + lo holds; num::kSkipLine for lines with NaN or Inf
};

/// Elements of k that are summed inside the tensor core before FP32 additions take over: kShortest is 32 (TF32: 16), kShort
/// twice and kLong four times that.
enum class EcPromotion : std::uint8_t { kShortest, kShort, kLong };
inline constexpr int kNumEcPromotions = 3;
[[nodiscard]] constexpr int ec_promoted_blocks(EcPromotion promotion) { return 1 << static_cast<int>(promotion); }
[[nodiscard]] constexpr std::int64_t ec_promoted_length(EcFormat format, EcPromotion promotion) {
  return ec_promoted_blocks(promotion) * ec_block_length(format);
}

/// Elements of C up to which native SGEMM on an H200 may sum k in pieces, which truncates less (docs/perf/h200_ec.md).
inline constexpr std::int64_t kEcSmallC = std::int64_t{15} << 20;

/// The promotion to take where none is asked for: the longest with which an H200 errs no more than native SGEMM does there, on
/// operands of one sign, where truncation shows. kShort is as fast as kLong but under a power cap (5 %, C of 4096 x 4096 and
/// more); kShortest costs another 5 %.
[[nodiscard]] constexpr EcPromotion ec_promotion_for(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kTinyC = std::int64_t{3} << 18;
  if (m <= kTinyC / n && k <= 8192) return EcPromotion::kShortest;
  return k <= 1024 || m <= kEcSmallC / n ? EcPromotion::kShort : EcPromotion::kLong;
}

/// Largest error of a product in units of |A||B|. Given that one instruction on a tensor core of compute capability 9.0 aligns
/// its products and the accumulator to the largest exponent, cuts each off two bits below the last place of FP32, and
/// truncates their sum to FP32 ([Fasi2021] for the models before it):
///   - hi + lo misses 2^-22 |y| of either operand, and lo lo, left out, is at most 2^-22: 3 2^-22, and 2^-24 for all terms
///     of second order;
///   - with w = 16 (TF32: 8) products an instruction loses less than ((w + 1) / 4 + 1) 2^-23 of the sum of magnitudes in its
///     promotion, and a promotion has 3 length / w instructions;
///   - each promotion is added with 2^-24 (fewer additions where blocks of them are summed first), one more where two
///     warpgroups have a part each; scaling and alpha: 2 2^-24.
[[nodiscard]] constexpr double ec_relative_bound(EcFormat format, EcPromotion promotion, std::int64_t k) {
  const double width = format == EcFormat::kF16 ? 16 : 8;
  const auto length = static_cast<double>(ec_promoted_length(format, promotion));
  const auto promotions = static_cast<double>(base::ceil_div(k, ec_promoted_length(format, promotion)));
  const double u = 0x1p-24;
  return 12 * u + u + 3 * length / width * ((width + 1) / 4 + 1) * 2 * u + (promotions + 1 + 2) * u;
}

/// What lo cannot hold, relative to the largest element of its line: half the spacing of subnormals, 2^-25 of 2^14 for FP16.
/// For TF32, 2^-137 of it, is added what underflows when a line is scaled.
[[nodiscard]] constexpr double ec_floor(EcFormat format) { return format == EcFormat::kF16 ? 0x1p-39 : 0x1p-150; }

}  // namespace kizami::product
