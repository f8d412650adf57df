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
/// @shape  line i: ec_line_bytes() bytes at data + i * row_stride, zeros beyond its length; scales: [num_lines], readable up
///         to the next even number
/// @range  data begins on 128 bytes; row_stride a multiple of 128
struct EcPlanes {
  const std::int8_t* data = nullptr;
  std::int64_t row_stride = 0;           ///< bytes
  const std::int32_t* scales = nullptr;  ///< x 2^scale is what hi + lo holds; num::kSkipLine for lines with NaN or Inf
};

}  // namespace kizami::product
