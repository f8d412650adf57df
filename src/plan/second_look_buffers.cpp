// SPDX-License-Identifier: MIT
#include "plan/second_look_buffers.hpp"

#include "base/int_math.hpp"

namespace kizami::plan {

using base::round_up;

SecondLookBuffers carve_second_look(base::Carver& carver, const SecondLookChunk& chunk, std::int64_t length,
                                    int parts) {
  const std::int64_t num_blocks = base::ceil_div(length, num::kDigitBlock);
  const std::int64_t words = round_up(num_blocks * parts, 2);
  SecondLookBuffers buffers;
  buffers.a_digits = carver.take<std::int8_t>(chunk.mc + kSecondLookLines, num_blocks * parts, num::kDigitBlock);
  buffers.b_digits = carver.take<std::int8_t>(chunk.nc + kSecondLookLines, num_blocks * parts, num::kDigitBlock);
  buffers.a_scales = carver.take<float>(num_blocks, round_up(chunk.mc, kSecondLookPad));
  buffers.b_scales = carver.take<float>(num_blocks, round_up(chunk.nc, kSecondLookPad));
  buffers.a_nonzero = carver.take<std::uint64_t>(chunk.mc, words);
  buffers.b_nonzero = carver.take<std::uint64_t>(chunk.nc, words);
  buffers.a_weights = carver.take<num::LineWeight>(chunk.mc);
  buffers.b_weights = carver.take<num::LineWeight>(chunk.nc);
  buffers.rungs = carver.take<std::uint8_t>(chunk.nc, round_up(chunk.mc, kSecondLookPad));
  buffers.gains = carver.take<std::int32_t>(kNumGains);
  return buffers;
}

}  // namespace kizami::plan
