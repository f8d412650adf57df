// SPDX-License-Identifier: MIT
// Choices that threads share: a shape is planned once, whoever asks for it again, and what is found is what was kept.
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "dropin/policy/answer.hpp"

namespace kizami::dropin {
namespace {

struct Size {
  std::int64_t m, n, k;
  std::int64_t answer;
};

/// Asks for the shapes of a blocked factorization of that order, and counts those that had to be made.
int num_made(std::int64_t order, std::int64_t block) {
  int made = 0;
  for (std::int64_t left = order - block; left > 0; left -= block) {
    for (const std::int64_t n : {left, block, left + block}) {
      const Size& size = remembered<Size>(
          left, n, block, 0, [&](const Size& x) { return x.m == left && x.n == n && x.k == block; },
          [&] {
            ++made;
            return Size{left, n, block, left * 7 + n};
          });
      EXPECT_EQ(size.answer, left * 7 + n);
      EXPECT_EQ(size.k, block);
    }
  }
  return made;
}

TEST(SharedChoices, AFactorizationPlansItsShapesOnce) {
  constexpr int kShapes = 3 * 499 - 1;  // at the last step two are the same
  EXPECT_EQ(num_made(64000, 128), kShapes);
  // Of the places of a set a few are wanted by more than four of them.
  EXPECT_LT(num_made(64000, 128), kShapes / 20);
  int made = kShapes;
  std::thread([&] { made = num_made(64000, 128); }).join();  // which remembers nothing itself
  EXPECT_LT(made, kShapes / 20);
}

TEST(SharedChoices, ThreadsThatMeetAtASetHaveTheirAnswers) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] { static_cast<void>(num_made(64000, 256)); });  // which looks at each
  for (std::thread& thread : threads) thread.join();
}

TEST(SharedChoices, TheOldestOfASetGoesFirst) {
  SharedChoices<Size> choices;
  const auto is = [](std::int64_t m) { return [m](const Size& x) { return x.m == m; }; };
  Size found{};
  for (std::int64_t m = 1; m <= 4; ++m) choices.keep(0, {m, 0, 0, 10 * m});
  for (std::int64_t m = 1; m <= 4; ++m) {
    ASSERT_TRUE(choices.find(0, is(m), found));
    EXPECT_EQ(found.answer, 10 * m);
  }
  choices.keep(0, {5, 0, 0, 50});
  EXPECT_FALSE(choices.find(0, is(1), found));
  EXPECT_TRUE(choices.find(0, is(2), found));
  EXPECT_TRUE(choices.find(0, is(5), found));
  EXPECT_FALSE(choices.find(std::uint64_t{1} << 40, is(5), found)) << "another set";
}

}  // namespace
}  // namespace kizami::dropin
