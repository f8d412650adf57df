// SPDX-License-Identifier: MIT
#include "device/learned_look.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace kizami::device {
namespace {

constexpr std::uint32_t kSerial = 3 * kNumLookWords + 17;
constexpr int kNumRungs = 6;

/// What a call tells that was given `number`.
[[nodiscard]] ToldLook told(std::uint32_t number, int rung, bool has_second_look, bool is_equilibrated = false) {
  return {number, rung, has_second_look, has_second_look, is_equilibrated};
}

TEST(LearnedLook, AWordHoldsWhatIsTold) {
  EXPECT_EQ(told_look(0), std::nullopt);
  for (const int rung : {-1, 0, num::kMaxRungs - 1}) {
    for (int flags = 0; flags < 16; ++flags) {
      const ToldLook look{(1U << kLookNumberBits) - 1 - 5U * static_cast<unsigned>(flags),
                          rung,
                          (flags & 1) != 0,
                          (flags & 2) != 0,
                          (flags & 4) != 0,
                          (flags & 8) != 0};
      EXPECT_EQ(told_look(look_word(look)), look);
    }
  }
}

TEST(LearnedLook, TheLowestRungIsLookedAtAgainWhereItWasEnough) {
  const LearnedLook first = learned_look(kSerial, kNumRungs, std::nullopt);
  EXPECT_EQ(first, (LearnedLook{std::nullopt, 0, true, false, first.number}));
  EXPECT_EQ(learned_look(kSerial, kNumRungs, ToldLook{first.number, 0, /*has_open_lines=*/true}),
            (LearnedLook{Look::kSample, 0, /*has_samples=*/true, /*is_lowest=*/true, first.number}));
  EXPECT_EQ(learned_look(kSerial, kNumRungs, ToldLook{first.number, 0, /*has_open_lines=*/false}),
            (LearnedLook{Look::kSample, 0, /*has_samples=*/false, /*is_lowest=*/true, first.number}))
      << "lines were enough";
}

TEST(LearnedLook, NothingElseIsExpectedWhereTheLowestRungAnsweredWithoutRepairs) {
  const std::uint32_t number = learned_look(kSerial, kNumRungs, std::nullopt).number;
  ToldLook last = told(number, 0, true);
  EXPECT_TRUE(learned_look(kSerial, kNumRungs, last).is_lowest);
  last.has_repairs = true;
  EXPECT_FALSE(learned_look(kSerial, kNumRungs, last).is_lowest);
  EXPECT_FALSE(learned_look(kSerial, kNumRungs, told(number, 1, true)).is_lowest);
  EXPECT_FALSE(learned_look(kSerial, kNumRungs, told(number, 0, true, /*is_equilibrated=*/true)).is_lowest);
}

TEST(LearnedLook, ARungAboveNeedsNoPlanesOfTheLowest) {
  const std::uint32_t number = learned_look(kSerial, kNumRungs, std::nullopt).number;
  EXPECT_EQ(learned_look(kSerial, kNumRungs, told(number, 3, true)),
            (LearnedLook{Look::kBlocks, 3, true, false, number}));
  EXPECT_EQ(learned_look(kSerial, kNumRungs, told(number, -1, true)).look, Look::kBlocksFirst);
  EXPECT_EQ(learned_look(kSerial, kNumRungs, told(number, 0, true, true)).look, Look::kBlocksFirst)
      << "planes of the balanced operands";
}

TEST(LearnedLook, TheLowestRungIsSampledAgainNowAndThen) {
  LearnedLook next = learned_look(kSerial, kNumRungs, std::nullopt);
  int samples = 0;
  int blocks = 0;
  for (int call = 0; call < 10 * 64; ++call) {  // a sample never is enough, blocks always are
    EXPECT_TRUE(next.has_samples);
    if (next.look) {
      EXPECT_EQ(next.look, Look::kBlocks);
    }
    ++(next.look ? blocks : samples);
    next = learned_look(kSerial, kNumRungs, told(next.number, 0, true));
  }
  EXPECT_EQ(samples, 10);
  EXPECT_EQ(blocks, 630);
  // Elements that have become tame: the next sample is enough, and so are those behind it.
  int calls = 0;
  for (; next.look; ++calls) next = learned_look(kSerial, kNumRungs, told(next.number, 0, true));
  EXPECT_LE(calls, 63);
  EXPECT_EQ(learned_look(kSerial, kNumRungs, told(next.number, 0, false)).look, Look::kSample);
}

// After 2^30 plans a serial has the word and the tag of an earlier one, whose ladder may be longer.
TEST(LearnedLook, ARungThatThePlanHasNotIsNotLearned) {
  const LearnedLook first = learned_look(kSerial, kNumRungs, std::nullopt);
  ASSERT_EQ(learned_look(kSerial + (1U << 30), kNumRungs, std::nullopt), first);
  EXPECT_EQ(learned_look(kSerial, kNumRungs, told(first.number, kNumRungs - 1, true)).first_rung, kNumRungs - 1);
  EXPECT_EQ(learned_look(kSerial, kNumRungs, told(first.number, kNumRungs, true)), first);
  EXPECT_EQ(learned_look(kSerial, 1, told(first.number, 3, true)), first);
}

TEST(LearnedLook, WordsOfOtherPlansTellNothing) {
  const std::uint32_t other = learned_look(kSerial + kNumLookWords, kNumRungs, std::nullopt).number;
  const LearnedLook first = learned_look(kSerial, kNumRungs, std::nullopt);
  EXPECT_NE(other, first.number);
  EXPECT_EQ(learned_look(kSerial, kNumRungs, told(other, 3, true)), first);
  EXPECT_EQ(learned_look(kSerial, kNumRungs, told(first.number, 3, true)).first_rung, 3);
  EXPECT_LT(learned_look(~0U, kNumRungs, std::nullopt).number, 1U << kLookNumberBits) << "more bits than are told";
}

}  // namespace
}  // namespace kizami::device
