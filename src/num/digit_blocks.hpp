// SPDX-License-Identifier: MIT
// Digits of the certificate, and which blocks of them share a scale (certify/digits.hpp; docs/accuracy/certificate.md).
#pragma once

#include <cstdint>

#include "kizami/host_device.hpp"

namespace kizami::num {

/// Fraction bits of a digit.
inline constexpr int kDigitBits = 6;
/// Blocks further below their line have no digits: products of scales stay normal FP32 numbers.
inline constexpr int kMaxDeficit = 52;

/// Real lines from here on have one scale for two blocks, whose products are one term of the sum: half as many terms,
/// at the price of elements of spread exponents further below the scale. Shorter ones need the finer scales.
inline constexpr std::int64_t kLongLine = 4096;
/// Blocks that share a scale.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int blocks_of_scale(std::int64_t length, std::int64_t terms_of_element) {
  return terms_of_element == 1 && length >= kLongLine ? 2 : 1;
}

}  // namespace kizami::num
