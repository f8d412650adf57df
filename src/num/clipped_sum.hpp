// SPDX-License-Identifier: MIT
// A certificate of the lowest rung that needs no product, by one number of each line: docs/accuracy/certificate.md, theorem 4.
#pragma once

#include <cstdint>

#include "kizami/host_device.hpp"
#include "num/digit_blocks.hpp"
#include "num/rung.hpp"

namespace kizami::num {

/// Where digits are clipped, in means of a line: at 0.6 ordinary lines need a third more spread, at 1 wide ones stay open sooner
/// (docs/accuracy/clipped_spread.py).
inline constexpr double kClip = 0.8;
/// The largest sampled digit.
inline constexpr double kMostDigit = (2 << kDigitBits) - 1;

/// A clip for the digits floor(|x| 2^(kDigitBits - exponent)) of a line: kClip of their mean, rounded up.
/// @param mean  about that of |x| 2^(kDigitBits - exponent); whatever it is, is_certified_by_clipped_sum() holds
[[nodiscard]] KIZAMI_HOST_DEVICE inline std::uint32_t digit_clip(double mean) {
  const double clip = kClip * mean;
  return clip > 0.0 && clip < kMostDigit ? static_cast<std::uint32_t>(clip) + 1 : 1;
}

/// Whether this line and any other of which it is true too are certified as a pair by the lowest rung.
/// @param allowance  sampled_allowance() of the lowest rung     @param line  rung_weight() there
/// @param num_terms  K, of which `sum` is the sum of min(digit, clip)   @range 1 <= clip; num_terms > 0
/// @exact a pair that passes passes by its sums of blocks, too: docs/accuracy/certificate.md, theorem 4
[[nodiscard]] KIZAMI_HOST_DEVICE inline bool is_certified_by_clipped_sum(float allowance, const RungWeight& line,
                                                                         std::int64_t num_terms, std::uint32_t clip,
                                                                         std::uint64_t sum) {
  if (line.norm1 == 0.0F) return true;  // a line of zeros: every product is exact
  const auto terms = static_cast<double>(num_terms);
  const double norm1 = line.norm1;
  const double level = kClip * norm1 * (1 << kDigitBits) / terms;  // that all lines share, in means
  // The sum clipped at `level`, from below: it grows with the level, and less than the level does.
  const double clipped = static_cast<double>(sum) * (level < clip ? level / clip : 1.0);
  constexpr double kDown =
      1.0 - 0x1p-40;  // for the roundings of FP64 numbers here, so that no share is positive for them alone
  const double share = clipped / (terms * level) * kDown - 0.5;
  return static_cast<double>(line.error) * terms <=
         static_cast<double>(allowance) * kDown * (kClip * kClip) * norm1 * share;
}

}  // namespace kizami::num
