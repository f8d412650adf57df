// SPDX-License-Identifier: MIT
// The workspace of the second look (certify/device_second_look.hpp), booked and carved by one function.
#pragma once

#include <cstdint>

#include "base/carver.hpp"
#include "num/rung.hpp"

namespace kizami::certify {

/// Lines of A and of B whose digits are held at a time.
struct SecondLookChunk {
  std::int64_t mc = 0;
  std::int64_t nc = 0;
};

/// Lines are padded to this in rungs.
inline constexpr std::int64_t kSecondLookPad = 16;
/// Lines of digits and scales beyond the last that tiles may read; what they hold is nobody's.
inline constexpr std::int64_t kSecondLookLines = 192;
/// Lines of a plane of digits, one step of 128 bytes of each.
[[nodiscard]] constexpr std::int64_t second_look_lines(std::int64_t lines) {
  return (lines + kSecondLookLines + kSecondLookPad - 1) / kSecondLookPad * kSecondLookPad;
}
/// Steps of 128 bytes: two blocks of real elements, or one of complex elements.
[[nodiscard]] constexpr std::int64_t second_look_steps(std::int64_t length, int parts) {
  const std::int64_t blocks = (length + num::kDigitBlock - 1) / num::kDigitBlock;
  return parts == 2 ? blocks : (blocks + 1) / 2;
}

/// Lines of each operand that equilibration_gain.hpp looks at twice over: the gains of both.
inline constexpr int kNumGains = 64;

/// Digits of one chunk in blocks of 64 elements, step by step of all lines, so that a tile's part of a step is one
/// piece of memory. `parts` is 2 for complex types, else 1; B is the number of blocks, rounded up to whole steps.
struct SecondLookBuffers {
  /// [steps][second_look_lines(mc)][128], the 16 bytes at 16 c of line i at 16 (c ^ (i % 8)): real: [2][64]; complex:
  /// u8 |re| + |im|, then s8 |re| - |im|, [2][64]
  std::int8_t* a_digits = nullptr;
  std::int8_t* b_digits = nullptr;  ///< [steps][second_look_lines(nc)][128]
  float* a_scales = nullptr;        ///< [B][second_look_lines(mc)]
  float* b_scales = nullptr;        ///< [B][second_look_lines(nc)]
  /// [mc][words], words = B parts, rounded up to even: the bits of word b parts + part tell which elements of block b
  /// of a finite line have that part not zero, in an order that both operands have from the kernel that makes them.
  std::uint64_t* a_nonzero = nullptr;
  std::uint64_t* b_nonzero = nullptr;    ///< [nc][words]
  num::LineWeight* a_weights = nullptr;  ///< [mc], of the statistics in use
  num::LineWeight* b_weights = nullptr;  ///< [nc]
  std::uint8_t* rungs = nullptr;         ///< [nc][round_up(mc, pad)]: the first sufficient rung of each pair
  std::int32_t* gains = nullptr;         ///< [kNumGains], of A's lines, then of B's
};
[[nodiscard]] SecondLookBuffers carve_second_look(base::Carver& carver, const SecondLookChunk& chunk,
                                                  std::int64_t length, int parts);

}  // namespace kizami::certify
