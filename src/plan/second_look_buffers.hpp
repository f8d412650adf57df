// SPDX-License-Identifier: MIT
// The workspace of the second look (exec/device_second_look.hpp), booked and carved by one function.
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

/// Digits of one chunk; K is the number of real terms of a line.
struct SecondLookBuffers {
  std::int8_t* a_digits = nullptr;       ///< [mc][round_up(K, 64)]
  std::int8_t* b_digits = nullptr;       ///< [nc][round_up(K, 64)]
  std::uint8_t* a_deficits = nullptr;    ///< [ceil(K / 64)][round_up(mc, 16)]
  std::uint8_t* b_deficits = nullptr;    ///< [ceil(K / 64)][round_up(nc, 16)]
  std::uint64_t* a_nonzero = nullptr;    ///< [mc][words]: bit t of word w: term 64 w + t of a finite line is not zero;
                                         ///< words = ceil(K / 64), rounded up to even
  std::uint64_t* b_nonzero = nullptr;    ///< [nc][words]
  num::LineWeight* a_weights = nullptr;  ///< [mc], of the statistics in use
  num::LineWeight* b_weights = nullptr;  ///< [nc]
};
[[nodiscard]] SecondLookBuffers carve_second_look(base::Carver& carver, const SecondLookChunk& chunk,
                                                  std::int64_t num_terms);

}  // namespace kizami::plan
