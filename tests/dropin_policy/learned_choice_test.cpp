// SPDX-License-Identifier: MIT
#include "dropin/policy/learned_choice.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace kizami::dropin {
namespace {

/// Who answers so many calls, K or N, where each call of Kizami is told of before the next: a loss, or a win.
std::string answers(LearnedChoice& choice, int calls, bool is_loss) {
  std::string who;
  for (int i = 0; i < calls; ++i) {
    const bool is_kizami = choice.takes_next();
    who += is_kizami ? 'K' : 'N';
    if (is_kizami) choice.tell(is_loss);
  }
  return who;
}
std::string natives(int count) { return std::string(static_cast<std::size_t>(count), 'N'); }

TEST(LearnedChoice, CallsAreKizamisUntilTwoWereLost) {
  LearnedChoice choice;
  EXPECT_EQ(answers(choice, 100, false), std::string(100, 'K'));
  EXPECT_EQ(answers(choice, 4, true), "KKNN");
}

TEST(LearnedChoice, TrialsComeAfterTwiceAsManyCallsEach) {
  LearnedChoice choice;
  std::string expected = "KK";
  int calls = 2;
  for (const int count : {16, 32, 64, 128, 256, 512, 1024, 1024, 1024}) {
    expected += natives(count) + "K";
    calls += count + 1;
  }
  EXPECT_EQ(answers(choice, calls, true), expected);
}

TEST(LearnedChoice, AWinMakesAllAsNew) {
  LearnedChoice choice;
  EXPECT_EQ(answers(choice, 2 + 16 + 1 + 32, true), "KK" + natives(16) + "K" + natives(32));
  EXPECT_EQ(answers(choice, 5, false), "KKKKK");
  EXPECT_EQ(choice, LearnedChoice());
  EXPECT_EQ(answers(choice, 2 + 16 + 1, true), "KK" + natives(16) + "K");
}

// The state machine against its words, for all sequences of 12 calls, each of which is told of as a loss, as a win, or
// not at all.
TEST(LearnedChoice, EverySequenceGoesByTheRule) {
  constexpr int kCalls = 12;
  int num_sequences = 0;
  for (int sequence = 0; sequence < 531441; ++sequence) {  // 3^12
    LearnedChoice choice;
    int losses = 0;
    for (int i = 0, rest = sequence; i < kCalls; ++i, rest /= 3) {
      const bool is_native = losses >= kLossesToNative;  // 12 calls see no trial
      ASSERT_EQ(choice.takes_next(), !is_native) << sequence << " at " << i;
      if (rest % 3 == 0) continue;
      const bool is_win = rest % 3 == 1;
      choice.tell(!is_win);  // also while calls are native: one that was under way
      losses = is_win ? 0 : losses + 1;
    }
    ++num_sequences;
  }
  EXPECT_EQ(num_sequences, 531441);
}

TEST(LearnedChoice, LossesOfCallsUnderWayDoNotPutOffTheTrial) {
  LearnedChoice choice;
  EXPECT_EQ(answers(choice, 2 + 10, true), "KK" + natives(10));
  for (int i = 0; i < 50; ++i) choice.tell(true);
  EXPECT_EQ(answers(choice, 7, true), natives(6) + "K");
}

// A trial that is never told of, as one that is captured into a graph, is a loss.
TEST(LearnedChoice, ATrialThatIsNotToldOfIsFollowedByTheNext) {
  LearnedChoice choice;
  EXPECT_EQ(answers(choice, 2 + 16, true), "KK" + natives(16));
  EXPECT_TRUE(choice.takes_next());
  EXPECT_EQ(answers(choice, 33, true), natives(32) + "K");
}

TEST(LearnedChoice, OnlyWhatWasNotPlannedIsALoss) {
  EXPECT_FALSE(is_loss(1.0, 1.0, 1.001)) << "the planner has decided with that";
  EXPECT_FALSE(is_loss(1.1, 1.0, 2.0));
  EXPECT_FALSE(is_loss(std::nextafter(kWinningShare * 2, 0.0), 1.0, 2.0));
  EXPECT_TRUE(is_loss(kWinningShare * 2, 1.0, 2.0));
  EXPECT_TRUE(is_loss(3.0, 1.0, 2.0));
  EXPECT_TRUE(is_loss(std::numeric_limits<double>::infinity(), 1.0, 2.0));
}

}  // namespace
}  // namespace kizami::dropin
