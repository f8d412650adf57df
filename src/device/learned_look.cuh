// SPDX-License-Identifier: MIT
// How the last kernel of a call tells its look.
#pragma once

#include "device/effort_word.hpp"
#include "device/learned_look.hpp"

namespace kizami::device {

/// By one thread, when the last kernel of a call begins. A call with alpha = 0 tells nothing.
__device__ inline void tell_look(const LookReport& report, const DeviceState& state) {
  if (report.word == nullptr) return;
  const Effort effort = effort_of(state, 0, 0);  // without lines of NaN or Inf, whose elements are no repairs
  const std::uint64_t word = look_word({report.number, effort.rung, state.open_lines != 0, effort.has_second_look,
                                        effort.is_equilibrated, effort.num_exceptions != 0});
  if (word != report.held) *reinterpret_cast<volatile unsigned long long*>(report.word) = word;
}

}  // namespace kizami::device
