// SPDX-License-Identifier: MIT
// The workspace of the second look (certify/device_second_look.hpp), booked and carved by one function.
#pragma once

#include <cstdint>

#include "base/carver.hpp"
#include "num/rung.hpp"

namespace kizami::plan {

/// Lines of A and of B whose digits are held at a time.
struct SecondLookChunk {
  std::int64_t mc = 0;
  std::int64_t nc = 0;
};

/// Lines are padded to this in scales and rungs.
inline constexpr std::int64_t kSecondLookPad = 16;
/// So many lines of digits beyond the last may be read; what they hold is nobody's.
inline constexpr std::int64_t kSecondLookLines = 192;
/// Lines of each operand that equilibration_gain.hpp looks at twice over: the gains of both.
inline constexpr int kNumGains = 64;

/// Digits of one chunk in blocks of 64 elements, B of them a line; `parts` is 2 for complex types, else 1.
struct SecondLookBuffers {
  std::int8_t* a_digits = nullptr;  ///< [mc + lines][B][parts][64]; complex: u8 |re| + |im|, then s8 |re| - |im|
  std::int8_t* b_digits = nullptr;  ///< [nc + lines][B][parts][64]
  float* a_scales = nullptr;        ///< [B][round_up(mc, pad)]
  float* b_scales = nullptr;        ///< [B][round_up(nc, pad)]
  std::uint64_t* a_nonzero =
      nullptr;  ///< [mc][words]: bit t of word b parts + part: that part of element 64 b + t of a
                ///< finite line is not zero; words = B parts, rounded up to even
  std::uint64_t* b_nonzero = nullptr;    ///< [nc][words]
  num::LineWeight* a_weights = nullptr;  ///< [mc], of the statistics in use
  num::LineWeight* b_weights = nullptr;  ///< [nc]
  std::uint8_t* rungs = nullptr;         ///< [nc][round_up(mc, pad)]: the first sufficient rung of each pair
  std::int32_t* gains = nullptr;         ///< [kNumGains], of A's lines, then of B's
};
[[nodiscard]] SecondLookBuffers carve_second_look(base::Carver& carver, const SecondLookChunk& chunk,
                                                  std::int64_t length, int parts);

}  // namespace kizami::plan
