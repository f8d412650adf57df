// SPDX-License-Identifier: MIT
// The split of FP32 lines into hi and lo, for products on FP16 or TF32 tensor cores; product/ec_planes.hpp says how
// they lie in memory. With y = x 2^scale, whose largest magnitude in the line is in [2^top, 2^(top + 1)), top =
// ec_top_exponent():
//   FP16  hi = fp16(y), lo = fp16(y - hi), to nearest even. |y - hi - lo| <= max(2^-22 |y|, 2^-25): hi and lo hold 22 bits of
//         what is within 2^17 of the largest, and nothing below 2^-39 of it. (y - hi is exact: a rest of rounding.)
//   TF32  hi = tf32(y), lo = tf32(y - hi), to nearest, ties away from zero. |y - hi - lo| <= max(2^-22 |y|, 2^-137).
// y is FP32; it underflows only where it is below 2^-140 of the largest (TF32: 2^-171).
#pragma once

#include <cstdint>

#include "num/ec_range.hpp"
#include "problem/lines.hpp"
#include "product/ec_planes.hpp"

namespace kizami::ec {

/// Scale of a line from the bits of its largest magnitude: 0 for a line of zeros, num::kSkipLine with NaN or Inf.
[[nodiscard]] std::int32_t ec_scale(std::uint32_t max_bits, product::EcFormat format);

/// The number of a format that is nearest to y, as bits and as FP32.
struct EcNarrow {
  std::uint32_t bits;
  float value;
};
[[nodiscard]] EcNarrow ec_narrow(float y, product::EcFormat format);

/// Splits line i.
/// @shape  row: ec_line_bytes() bytes, all written; zeros for a line with NaN or Inf
/// @exact  to the bit what the device writes
/// @return what num::ec_line_flags() asks of the line; nothing of one with NaN or Inf
num::EcLineSight ec_split_line(const problem::Lines<float>& lines, std::int64_t i, product::EcFormat format,
                               const num::EcRangeLimits& limits, std::int8_t* row, std::int32_t& scale);

/// num::ec_line_flags() of a finite line, given its scale and sight, as the device has them: a line is dense only if each of its parts has its
/// share of elements that are (judged_parts.hpp).
[[nodiscard]] std::uint32_t ec_judged_flags(const problem::Lines<float>& lines, std::int64_t i,
                                            product::EcFormat format, const num::EcRangeLimits& limits,
                                            std::int32_t scale, num::EcLineSight sight);

}  // namespace kizami::ec
