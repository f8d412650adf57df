// SPDX-License-Identifier: MIT
// How the last kernel of a call, or one that knows as much before it, tells its effort.
#pragma once

#include "device/effort_word.hpp"

namespace kizami::device {

/// Writes the effort of all products into the report's word, if it has one. C of each is m x n.
/// @range called by all threads of a whole warp; the states are those that products end with. A call with alpha = 0 tells nothing.
__device__ inline void tell_effort(const EffortReport& report, std::int64_t m, std::int64_t n) {
  if (report.note.word == nullptr) return;
  constexpr unsigned kAllLanes = 0xFFFFFFFFU;
  constexpr int kWarpSize = 32;
  const auto lane = static_cast<std::int64_t>(threadIdx.x % kWarpSize);
  Effort sum = kNoEffort;
  for (std::int64_t i = lane; i < report.num_states; i += kWarpSize)
    sum = sum_of(sum, effort_of(report.states[i], m, n));
  unsigned long long word = effort_word(report.note.number, sum);
  for (int step = kWarpSize / 2; step > 0; step /= 2) {
    const unsigned long long other = __shfl_xor_sync(kAllLanes, word, step);
    word = effort_word(report.note.number, sum_of(told_effort(word).effort, told_effort(other).effort));
  }
  // One store of 8 bytes, to memory of the host.
  if (lane == 0) *reinterpret_cast<volatile unsigned long long*>(report.note.word) = word;
}

}  // namespace kizami::device
