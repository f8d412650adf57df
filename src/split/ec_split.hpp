// SPDX-License-Identifier: MIT
// The split of FP32 lines into hi and lo, for products on FP16 or TF32 tensor cores; product/ec_planes.hpp says how they lie
// in memory. With y = x 2^scale, whose largest magnitude in the line is in [2^14, 2^15):
//   FP16  hi = fp16(y), lo = fp16(y - hi), to nearest even. |y - hi - lo| <= max(2^-22 |y|, 2^-25): hi and lo hold 22 bits of
//         what is within 2^17 of the largest, and nothing below 2^-39 of it. (y - hi is exact: a rest of rounding.)
//   TF32  hi = tf32(y), lo = tf32(y - hi), to nearest, ties away from zero. |y - hi - lo| <= max(2^-22 |y|, 2^-137).
// y is FP32; it underflows only where it is below 2^-140 of the largest.
// The scale serves both: TF32 has FP32's range, but not its subnormals' bits.
#pragma once

#include <cstdint>

#include "problem/lines.hpp"
#include "product/ec_planes.hpp"

namespace kizami::split {

/// What a line's elements did to the split.
struct EcLineCount {
  std::uint32_t nonzero = 0;  ///< elements with y != 0
  std::uint32_t coarse = 0;  ///< elements with |y - hi - lo| > 2^-22 |y|: those of FP16 that the floor of 2^-25 has cut
};

/// A line is coarse if more than 1 in kEcCoarseShare of its nonzero elements are: 1 in 10^5 are of normal data, 2 in 5 of
/// data spread over 30 binades. Another format should be chosen, or the other operand may weigh them.
inline constexpr std::uint32_t kEcCoarseShare = 64;
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_coarse(const EcLineCount& count) {
  return std::uint64_t{count.coarse} * kEcCoarseShare > count.nonzero;
}

/// Scale of a line from the bits of its largest magnitude: 0 for a line of zeros, num::kSkipLine with NaN or Inf.
[[nodiscard]] std::int32_t ec_scale(std::uint32_t max_bits);

/// Splits line i.
/// @shape  row: ec_line_bytes() bytes, all written; zeros for a line with NaN or Inf
/// @exact  to the bit what the device writes
[[nodiscard]] EcLineCount ec_split_line(const problem::Lines<float>& lines, std::int64_t i, product::EcFormat format,
                                        std::int8_t* row, std::int32_t& scale);

}  // namespace kizami::split
