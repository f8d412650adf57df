// SPDX-License-Identifier: MIT
// The sampled certificate on the device: which pairs the lowest rung does not certify.
#pragma once

#include <cstdint>

#include "device/state.hpp"
#include "kizami/status.hpp"
#include "num/rung.hpp"
#include "product/product.hpp"

namespace kizami::certify {

/// Products of sampled digits of a block of pairs, as engines store them: part p, piece q of pair (i, j) at
/// acc[p * part_stride + q * piece_stride + j * col_stride + i].
struct SampledProducts {
  const std::int32_t* acc = nullptr;
  int num_parts = 1;
  std::int64_t num_pieces = 1;
  std::int64_t part_stride = 0;
  std::int64_t piece_stride = 0;
  std::int64_t col_stride = 0;  ///< a multiple of 4, at least round_up(m, 4)
  std::int64_t m = 0;
  std::int64_t n = 0;
};

/// Adds the pairs that num::is_certified() refuses at rung 0, in any part, to state->sampled_failures. Lines weigh what
/// line_weights say, or without them what the ladder makes of their statistics; its lowest rung has the allowance of a
/// sampled sum.
/// @shape a: [m], b: [n]
Status count_sampled_failures_device(const num::Ladder& ladder, const SampledProducts& products,
                                     const device::DeviceLineBuffers& a, const device::DeviceLineBuffers& b,
                                     device::DeviceState* state, product::Queue queue);

}  // namespace kizami::certify
