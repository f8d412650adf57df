// SPDX-License-Identifier: MIT
#include "device/effort_word.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace kizami::device {
namespace {

TEST(EffortWord, HoldsEveryEffort) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  for (const std::uint32_t number : {0U, 1U, 0x800000U, 0xFFFFFFU}) {
    for (int rung = -1; rung < num::kMaxRungs; ++rung) {
      for (int stage = -1; stage <= 1; ++stage) {
        for (const bool has_second_look : {false, true}) {
          for (const bool is_equilibrated : {false, true}) {
            for (const std::int64_t exceptions : {std::int64_t{0}, std::int64_t{1}, kMostExceptions, huge}) {
              const std::uint64_t word =
                  effort_word(number, {rung, stage, has_second_look, is_equilibrated, exceptions});
              ASSERT_TRUE(is_told(word));
              const ToldEffort told = told_effort(word);
              EXPECT_EQ(told.number, number);
              const Effort want{rung, stage, has_second_look, is_equilibrated, std::min(exceptions, kMostExceptions)};
              EXPECT_EQ(told.effort, want);
            }
          }
        }
      }
    }
  }
}

TEST(EffortWord, NothingIsToldByAFreshWord) { EXPECT_FALSE(is_told(0)); }

TEST(EffortWord, OnlyTheLowerBitsOfANumberAreTold) {
  const ToldEffort told = told_effort(effort_word(0xAB000005U, {}));
  EXPECT_EQ(told.number, 5U);
  EXPECT_EQ(told.effort, Effort{});
}

TEST(EffortWord, OfABatchIsTheLargestRungAndTheSumOfExceptions) {
  const Effort x{2, -1, true, false, 10};
  const Effort y{5, 1, false, true, 7};
  EXPECT_EQ(sum_of(x, y), (Effort{5, 1, true, true, 17}));
  EXPECT_EQ(sum_of(y, x), sum_of(x, y));
  EXPECT_EQ(sum_of(x, kNoEffort), x);
}

TEST(EffortWord, OfAStateCountsWhatIsAnsweredOneByOne) {
  DeviceState state;
  EXPECT_EQ(effort_of(state, 10, 20), Effort{});
  state.selection.rung = 3;
  state.selection.equilibrated = true;
  state.sampled_failures = 9;
  state.num_repairs = 5;
  state.nonfinite_rows = 2;
  state.nonfinite_cols = 1;
  EXPECT_EQ(effort_of(state, 10, 20), (Effort{3, -1, true, true, 5 + 2 * 20 + 1 * 10}));
  state = {};
  state.has_rungs = 1;
  EXPECT_TRUE(effort_of(state, 10, 20).has_second_look);
  state = {};
  state.selection.rung = -1;
  state.selection.num_repaired = 200;
  EXPECT_EQ(effort_of(state, 10, 20), (Effort{-1, -1, false, false, 200}));
}

}  // namespace
}  // namespace kizami::device
