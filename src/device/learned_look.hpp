// SPDX-License-Identifier: MIT
// What a call's split had better make first, by what a call before it with the same plan did: a program multiplies like
// matrices by like plans. It saves a sample in vain, or a scout. Only time hangs on it, no bit:
// docs/accuracy/certificate.md, theorem 2.
#pragma once

#include <cstdint>
#include <optional>

#include "device/state.hpp"
#include "kizami/host_device.hpp"

namespace kizami::device {

/// What a call tells of its look, in one word of host memory that its last kernel writes: one store, and no torn read.
///   number 24 | rung + 1: 4 | repairs 1 | open lines 1 | second look 1 | equilibrated 1 | told 1
struct ToldLook {
  std::uint32_t number = 0;      ///< that the call was given
  int rung = 0;                  ///< that answered; -1: none
  bool has_open_lines = false;   ///< that asked for samples, or for blocks
  bool has_second_look = false;  ///< blocks were looked at
  bool is_equilibrated = false;
  bool has_repairs = false;

  friend constexpr bool operator==(const ToldLook&, const ToldLook&) = default;
};
inline constexpr int kLookNumberBits = 24;
static_assert(num::kMaxRungs < 1 << 4);

/// @range rung of -1 .. kMaxRungs - 1 @return not 0
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint64_t look_word(const ToldLook& told) {
  std::uint64_t word = told.number & ((1U << kLookNumberBits) - 1U);
  word = word << 4 | static_cast<std::uint64_t>(told.rung + 1);
  word = word << 1 | (told.has_repairs ? 1U : 0U);
  word = word << 1 | (told.has_open_lines ? 1U : 0U);
  word = word << 1 | (told.has_second_look ? 1U : 0U);
  word = word << 1 | (told.is_equilibrated ? 1U : 0U);
  return word << 1 | 1U;
}
/// Nothing: no call has told anything.
[[nodiscard]] constexpr std::optional<ToldLook> told_look(std::uint64_t word) {
  if ((word & 1U) == 0) return std::nullopt;
  ToldLook told;
  told.number = static_cast<std::uint32_t>(word >> 9);
  told.rung = static_cast<int>(word >> 5 & 15U) - 1;
  told.has_repairs = (word >> 4 & 1U) != 0;
  told.has_open_lines = (word >> 3 & 1U) != 0;
  told.has_second_look = (word >> 2 & 1U) != 0;
  told.is_equilibrated = (word >> 1 & 1U) != 0;
  return told;
}

/// What the last kernel of a call is told to tell.
struct LookReport {
  std::uint64_t* word = nullptr;  ///< null, or one that the device can write
  std::uint32_t number = 0;
  /// What the word held when the call was enqueued: it is not written again, which would take 3 microseconds.
  std::uint64_t held = 0;
};

/// Words that calls of all plans share; the others of a number tell the plans of a word apart.
inline constexpr std::uint32_t kNumLookWords = 4096;
/// Calls that begin with blocks though the lowest rung is enough: the next one samples, which may be enough by now.
inline constexpr std::uint32_t kCallsOnBlocks = 63;

struct LearnedLook {
  std::optional<Look> look = std::nullopt;  ///< nothing: nobody knows, or it is time to ask again
  int first_rung = 0;                       ///< whose planes the split had better make with kBlocks
  bool has_samples = true;   ///< with kSample; false: lines were enough, and blocks are looked at where they are not
  bool is_lowest = false;    ///< neither another rung nor a repair is expected
  std::uint32_t number = 0;  ///< for the call to tell

  friend constexpr bool operator==(const LearnedLook&, const LearnedLook&) = default;
};

/// @param serial Plan::serial, of which 30 bits tell plans apart: what another plan of the same 30 bits tells counts as
///        its own
/// @param num_rungs of the plan's ladder  @param told by the last call that has told anything in word serial % kNumLookWords
[[nodiscard]] constexpr LearnedLook learned_look(std::uint32_t serial, int num_rungs,
                                                 const std::optional<ToldLook>& told) {
  constexpr std::uint32_t kTag = (1U << 18) - 1;
  constexpr std::uint32_t kCount = kCallsOnBlocks;  // the lower 6 bits
  static_assert((kCount & (kCount + 1)) == 0 && kCount < 1U << 6);
  const std::uint32_t first = (serial / kNumLookWords & kTag) << 6;
  const LearnedLook nobody_knows{.number = first};
  if (!told || (told->number & ~kCount) != first) return nobody_knows;
  const bool is_lowest = told->rung == 0 && !told->is_equilibrated && !told->has_repairs;
  if (!told->has_second_look) return {Look::kSample, 0, told->has_open_lines, is_lowest, first};
  if (told->rung < 0 || told->is_equilibrated) return {.look = Look::kBlocksFirst, .number = first};
  if (told->rung >= num_rungs) return nobody_knows;  // of a plan with a longer ladder
  if (told->rung > 0) return {.look = Look::kBlocks, .first_rung = told->rung, .number = first};
  const std::uint32_t count = (told->number & kCount) + 1;
  if (count > kCount) return nobody_knows;
  return {Look::kBlocks, 0, true, is_lowest, first | count};
}

}  // namespace kizami::device
