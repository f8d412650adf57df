// SPDX-License-Identifier: MIT
#include "certify/second_look_buffers.hpp"

#include "base/int_math.hpp"

namespace kizami::certify {

using base::round_up;

SecondLookBuffers carve_second_look(base::Carver& carver, const SecondLookChunk& chunk, std::int64_t length,
                                    int parts) {
  const std::int64_t steps = second_look_steps(length, parts);
  const std::int64_t num_blocks = parts == 2 ? steps : 2 * steps;
  const std::int64_t words = round_up(base::ceil_div(length, num::kDigitBlock) * parts, 2);
  SecondLookBuffers buffers;
  buffers.a_digits = carver.take<std::int8_t>(steps, second_look_lines(chunk.mc), 128);
  buffers.b_digits = carver.take<std::int8_t>(steps, second_look_lines(chunk.nc), 128);
  buffers.a_scales = carver.take<float>(num_blocks, second_look_lines(chunk.mc));
  buffers.b_scales = carver.take<float>(num_blocks, second_look_lines(chunk.nc));
  buffers.a_nonzero = carver.take<std::uint64_t>(chunk.mc, words);
  buffers.b_nonzero = carver.take<std::uint64_t>(chunk.nc, words);
  buffers.a_weights = carver.take<num::LineWeight>(chunk.mc);
  buffers.b_weights = carver.take<num::LineWeight>(chunk.nc);
  buffers.rungs = carver.take<std::uint8_t>(chunk.nc, round_up(chunk.mc, kSecondLookPad));
  buffers.gains = carver.take<std::int32_t>(kNumGains);
  return buffers;
}

}  // namespace kizami::certify
