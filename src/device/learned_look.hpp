// SPDX-License-Identifier: MIT
// What a call's split had better make first, by what a call before it with the same plan did: a program multiplies like
// matrices by like plans. Where no scout asks the elements it saves a sample in vain. Only time hangs on it, no bit:
// docs/accuracy/certificate.md, theorem 2.
#pragma once

#include <cstdint>
#include <optional>

#include "device/state.hpp"
#include "kizami/effort.hpp"

namespace kizami::device {

/// Words that calls of all plans share; the others of a number tell the plans of a word apart.
inline constexpr std::uint32_t kNumLookWords = 4096;
/// Calls that begin with blocks though the lowest rung is enough: the next one samples, which may be enough by now.
inline constexpr std::uint32_t kCallsOnBlocks = 63;

struct LearnedLook {
  std::optional<Look> look;  ///< nothing: nobody knows, or a sample is enough
  int first_rung = 0;        ///< whose planes the split had better make with kBlocks
  std::uint32_t number = 0;  ///< for the call to tell with its effort

  friend constexpr bool operator==(const LearnedLook&, const LearnedLook&) = default;
};

/// @param serial Plan::serial, of which 30 bits tell plans apart: what another plan of the same 30 bits tells counts as
///        its own
/// @param num_rungs of the plan's ladder  @param told by the last call that has told anything in word serial % kNumLookWords
[[nodiscard]] constexpr LearnedLook learned_look(std::uint32_t serial, int num_rungs,
                                                 const std::optional<ToldEffort>& told) {
  constexpr std::uint32_t kTag = (1U << 18) - 1;
  constexpr std::uint32_t kCount = kCallsOnBlocks;  // the lower 6 bits
  static_assert((kCount & (kCount + 1)) == 0 && kCount < 1U << 6);
  const std::uint32_t first = (serial / kNumLookWords & kTag) << 6;
  if (!told || (told->number & ~kCount) != first || !told->effort.has_second_look) return {std::nullopt, 0, first};
  const Effort& effort = told->effort;
  if (effort.rung < 0 || effort.is_equilibrated) return {Look::kBlocksFirst, 0, first};
  if (effort.rung >= num_rungs) return {std::nullopt, 0, first};  // of a plan with a longer ladder
  if (effort.rung > 0) return {Look::kBlocks, effort.rung, first};
  const std::uint32_t count = (told->number & kCount) + 1;
  if (count > kCount) return {std::nullopt, 0, first};
  return {Look::kBlocks, 0, first | count};
}

}  // namespace kizami::device
