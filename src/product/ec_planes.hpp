// SPDX-License-Identifier: MIT
// How an FP32 operand lies in memory once it is split into two narrow numbers an element, hi and lo, for a product on
// FP16 or TF32 tensor cores:
//   A = 2^-a_i (hi + lo) and B = 2^-b_j (hi + lo) but for what lo cannot hold, so
//   A B ~ 2^-(a_i + b_j) (lo_A hi_B + hi_A lo_B + hi_A hi_B);   lo_A lo_B, below 2^-22 of each term, is left out.
// A line (row of op(A), column of op(B)) is a chain of blocks of 128 bytes: the hi of 32 (TF32: 16) elements in 64
// bytes, then the lo of the same elements. So one copy of 128 bytes a line brings both, in the swizzle of 128 bytes.
#pragma once

#include <cstdint>

#include "base/int_math.hpp"
#include "kizami/host_device.hpp"
#include "num/ec_bounds.hpp"
#include "num/tensor_core.hpp"
#include "product/float_product.hpp"

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

[[nodiscard]] constexpr num::FloatType float_type(EcFormat format) {
  return format == EcFormat::kF16 ? num::FloatType::kFp16 : num::FloatType::kTf32;
}

/// The largest element of a line has magnitude in [2^top, 2^(top + 1)) after scaling. FP16: the largest binade whose
/// numbers do not round up to infinity. TF32: products stay below 2^92 and sums of 2^34 of them below 2^126.
[[nodiscard]] constexpr int ec_top_exponent(EcFormat format) { return format == EcFormat::kF16 ? 14 : 45; }

/// A split operand in device memory, of all products of a batch.
/// @shape  line i of product p: ec_line_bytes() bytes at data + p * product_stride + i * row_stride, zeros beyond its
///         length; its scale: scales[p * scales_stride + i]
/// @range  data begins on 128 bytes, scales on 8; row_stride and product_stride multiples of 128, scales_stride even
struct EcPlanes {
  const std::int8_t* data = nullptr;
  std::int64_t row_stride = 0;           ///< bytes
  const std::int32_t* scales = nullptr;  ///< x 2^scale is what hi + lo holds; num::kSkipLine for lines with NaN or Inf
  std::int64_t product_stride = 0;       ///< bytes; 0: all products have this operand
  std::int64_t scales_stride = 0;
};

/// What some lines of both operands are not (num::EcLineFlag), and how many of them have NaN or Inf.
class EcReport {
 public:
  /// @range counts below 2^8: of at most 32 lines
  [[nodiscard]] static KIZAMI_HOST_DEVICE constexpr EcReport of(std::uint32_t a_flags, std::uint32_t b_flags,
                                                                std::uint32_t a_nonfinite, std::uint32_t b_nonfinite) {
    EcReport report;
    report.bits_ = a_flags | b_flags << 4 | a_nonfinite << 8 | b_nonfinite << 16;
    return report;
  }
  /// Those of A in the low four bits, then those of B.
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t flags() const { return bits_ & 0xFF; }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t a_nonfinite() const { return bits_ >> 8 & 0xFF; }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t b_nonfinite() const { return bits_ >> 16 & 0xFF; }

  /// The report as a word: reports of lines that are no more than 2^8 are combined by adding counts, and flags by |.
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t bits() const { return bits_; }
  [[nodiscard]] static KIZAMI_HOST_DEVICE constexpr EcReport from_bits(std::uint32_t bits) {
    EcReport report;
    report.bits_ = bits;
    return report;
  }

 private:
  std::uint32_t bits_ = 0;
};
/// Reports that a decision reads at a time, so that arrays of them are of as many each.
inline constexpr int kEcReportsInQuad = 4;
/// Reports of a split of so many lines at most: one for each block, which has a line or more, in clusters of eight; and as
/// many as fill a quad.
[[nodiscard]] constexpr std::int64_t ec_most_reports(std::int64_t a_lines, std::int64_t b_lines) {
  return (a_lines + b_lines + 32 + kEcReportsInQuad - 1) / kEcReportsInQuad * kEcReportsInQuad;
}

/// Elements of k that are summed inside the tensor core before FP32 additions take over: kShortest is 32 (TF32: 16),
/// kShort twice and kLong four times that.
enum class EcPromotion : std::uint8_t { kShortest, kShort, kLong };
inline constexpr int kNumEcPromotions = 3;
inline constexpr EcPromotion kEcPromotions[kNumEcPromotions] = {EcPromotion::kShortest, EcPromotion::kShort,
                                                                EcPromotion::kLong};
[[nodiscard]] constexpr int ec_promoted_blocks(EcPromotion promotion) { return 1 << static_cast<int>(promotion); }
[[nodiscard]] constexpr std::int64_t ec_promoted_length(EcFormat format, EcPromotion promotion) {
  return ec_promoted_blocks(promotion) * ec_block_length(format);
}

/// Elements of C up to which native SGEMM on an H200 may sum k in pieces, which truncates less (docs/perf/h200_ec.md).
inline constexpr std::int64_t kEcSmallC = std::int64_t{15} << 20;

/// The promotion to take where none is asked for: the longest with which an H200 errs no more than native SGEMM does
/// there, on operands of one sign, where truncation shows. kShort is as fast as kLong but under a power cap (5 %, C of
/// 4096 x 4096 and more); kShortest costs another 5 %.
[[nodiscard]] constexpr EcPromotion ec_promotion_for(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kTinyC = std::int64_t{3} << 18;
  if (m <= kTinyC / n && k <= 8192) return EcPromotion::kShortest;
  return k <= 1024 || m <= kEcSmallC / n ? EcPromotion::kShort : EcPromotion::kLong;
}

/// Whether products of a batch share launches: not where they are so large that each fills the device.
[[nodiscard]] constexpr bool takes_ec_batches(EcPromotion promotion) { return promotion != EcPromotion::kLong; }

/// Whether there is a kernel of one triangle of C. Where C is so large that this is its own promotion, the form that is
/// taken has no sums of blocks of promotions: each of the triangle has the bits that the product of all of C gives it.
/// Not so where a policy asks for this promotion of a small C, whose form may have.
[[nodiscard]] constexpr bool takes_ec_triangles(EcPromotion promotion) { return promotion == EcPromotion::kLong; }

/// The arithmetic of these products, without extents. Both small products by turns, then the large one, over 128 bytes
/// of each plane: a short promotion is one such interval, a long one two, the shortest half a one. A form that has the
/// whole of a long promotion on chip takes it as one interval, and some add sums of promotions in blocks: both have
/// less error.
[[nodiscard]] constexpr FloatProductDesc ec_arithmetic(EcFormat format, EcPromotion promotion) {
  FloatProductDesc desc;
  desc.type = float_type(format);
  desc.core = num::hopper_tensor_core(desc.type);
  desc.k_interval = ec_promoted_length(format, promotion == EcPromotion::kLong ? EcPromotion::kShort : promotion);
  desc.intervals_promoted = promotion == EcPromotion::kLong ? 2 : 1;
  FloatSum& sum = desc.sums[0];
  sum.pairs[0] = {1, 0};
  sum.pairs[1] = {0, 1};
  sum.num_pairs = 3;
  sum.num_interleaved = 2;
  return desc;
}

/// Largest error of a product in units of |A||B|, alpha = 1, operands within range (ec_floor()).
[[nodiscard]] inline double ec_relative_bound(EcFormat format, EcPromotion promotion, std::int64_t k) {
  return num::ec_bound(error_terms(ec_arithmetic(format, promotion), 2), k);
}

/// What lo cannot hold, relative to the largest element of its line: half the spacing of subnormals, 2^-25 of 2^14 for
/// FP16 and 2^-137 of 2^45 for TF32. A 64th more covers what subnormal parts cost in the alignment of sums
/// (num/ec_range.hpp), for TF32 also sums that are subnormal.
[[nodiscard]] constexpr double ec_floor(EcFormat format) {
  return (format == EcFormat::kF16 ? 0x1p-39 : 0x1p-182) * (1.0 + 0x1p-6);
}

}  // namespace kizami::product
