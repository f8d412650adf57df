// SPDX-License-Identifier: MIT
// A call's effort in one word, which a device writes and a host reads whole: one store, and no torn read.
//   number 24 | told 1 | second look 1 | equilibrated 1 | rung + 1: 4 | stage + 1: 2 | exceptions 31, the largest for
//   more
#pragma once

#include <cstdint>

#include "device/state.hpp"
#include "kizami/effort.hpp"
#include "kizami/host_device.hpp"
#include "num/rung.hpp"

namespace kizami::device {

inline constexpr int kEffortNumberBits = 24;
inline constexpr std::int64_t kMostExceptions = (std::int64_t{1} << 31) - 1;
static_assert(num::kMaxRungs < 1 << 4);

/// @range rung of -1 .. kMaxRungs - 1, stage of -1 .. 1, num_exceptions >= 0 @return not 0
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint64_t effort_word(std::uint32_t number, const Effort& effort) {
  const std::int64_t exceptions = effort.num_exceptions < kMostExceptions ? effort.num_exceptions : kMostExceptions;
  std::uint64_t word = number & ((1U << kEffortNumberBits) - 1U);
  word = word << 1 | 1U;
  word = word << 1 | (effort.has_second_look ? 1U : 0U);
  word = word << 1 | (effort.is_equilibrated ? 1U : 0U);
  word = word << 4 | static_cast<std::uint64_t>(effort.rung + 1);
  word = word << 2 | static_cast<std::uint64_t>(effort.stage + 1);
  return word << 31 | static_cast<std::uint64_t>(exceptions);
}

[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_told(std::uint64_t word) { return (word >> 39 & 1U) != 0; }

/// @range is_told(word)
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr ToldEffort told_effort(std::uint64_t word) {
  ToldEffort told;
  told.number = static_cast<std::uint32_t>(word >> 40);
  told.effort.has_second_look = (word >> 38 & 1U) != 0;
  told.effort.is_equilibrated = (word >> 37 & 1U) != 0;
  told.effort.rung = static_cast<int>(word >> 33 & 15U) - 1;
  told.effort.stage = static_cast<int>(word >> 31 & 3U) - 1;
  told.effort.num_exceptions = static_cast<std::int64_t>(word & static_cast<std::uint64_t>(kMostExceptions));
  return told;
}

/// That of two products of a batch.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr Effort sum_of(const Effort& x, const Effort& y) {
  return {x.rung > y.rung ? x.rung : y.rung, x.stage > y.stage ? x.stage : y.stage,
          x.has_second_look || y.has_second_look, x.is_equilibrated || y.is_equilibrated,
          x.num_exceptions + y.num_exceptions};
}
/// What adds nothing.
inline constexpr Effort kNoEffort{-1, -1, false, false, 0};

/// Of a product whose C is m x n, whose state is the one that it ends with.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr Effort effort_of(const DeviceState& state, std::int64_t m, std::int64_t n) {
  Effort effort;
  effort.rung = state.selection.rung;
  effort.stage = state.ec_stage;
  effort.has_second_look = state.sampled_failures != 0 || state.has_rungs != 0;
  effort.is_equilibrated = state.selection.equilibrated;
  const std::int64_t finite =
      effort.rung < 0 ? state.selection.num_repaired : static_cast<std::int64_t>(state.num_repairs);
  effort.num_exceptions = finite + static_cast<std::int64_t>(state.nonfinite_rows) * n +
                          static_cast<std::int64_t>(state.nonfinite_cols) * m;
  return effort;
}

/// What a kernel of a call is told to tell.
struct EffortReport {
  EffortNote note;                      ///< word: null, or one that the device can write
  const DeviceState* states = nullptr;  ///< [num_states], in device memory: of all products of the call
  std::int64_t num_states = 0;
};

}  // namespace kizami::device
