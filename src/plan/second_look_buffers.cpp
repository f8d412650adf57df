// SPDX-License-Identifier: MIT
#include "plan/second_look_buffers.hpp"

#include "base/int_math.hpp"
#include "product/product.hpp"

namespace kizami::plan {

SecondLookBuffers carve_second_look(base::Carver& carver, const SecondLookChunk& chunk, std::int64_t num_terms) {
  const std::int64_t num_blocks = base::ceil_div(num_terms, product::kPadBytes);
  const std::int64_t words = base::round_up(num_blocks, 2);
  SecondLookBuffers buffers;
  buffers.a_digits = carver.take<std::int8_t>(chunk.mc, num_blocks, product::kPadBytes);
  buffers.b_digits = carver.take<std::int8_t>(chunk.nc, num_blocks, product::kPadBytes);
  buffers.a_deficits = carver.take<std::uint8_t>(num_blocks, base::round_up(chunk.mc, 16));
  buffers.b_deficits = carver.take<std::uint8_t>(num_blocks, base::round_up(chunk.nc, 16));
  buffers.a_nonzero = carver.take<std::uint64_t>(chunk.mc, words);
  buffers.b_nonzero = carver.take<std::uint64_t>(chunk.nc, words);
  buffers.a_weights = carver.take<num::LineWeight>(chunk.mc);
  buffers.b_weights = carver.take<num::LineWeight>(chunk.nc);
  return buffers;
}

}  // namespace kizami::plan
