// SPDX-License-Identifier: MIT
// An operand split once: what the main pass and the sampled certificate need of it, at the lowest rung of its numerics.
#pragma once

#include <cstdint>

#include "base/aligned_buffer.hpp"
#include "kizami/types.hpp"
#include "num/line_stats.hpp"

namespace kizami::schemes {

struct Prepared {
  Scalar scalar = Scalar::kF64;
  Side side = Side::kA;
  std::int64_t num_lines = 0;
  std::int64_t length = 0;
  std::uint64_t numerics_hash = 0;  ///< of the plans that may use it
  std::int64_t row_stride = 0;      ///< round_up(length, 64); ozaki1: of one slice
  int num_slices = 0;               ///< ozaki1; fewer are a part of them
  std::int64_t digit_stride = 0;    ///< round_up(real terms, 64)
  base::AlignedBuffer memory;
  num::LineStats* stats = nullptr;  ///< [num_lines]
  std::int8_t* planes = nullptr;    ///< [planes of the lowest rung][num_lines][row_stride]; ozaki1: [parts][num_lines]
                                    ///< [num_slices][row_stride], slices of B in reverse order
  std::int8_t* digits = nullptr;    ///< [num_lines][digit_stride], sampled; null without certificate
};

}  // namespace kizami::schemes
