// SPDX-License-Identifier: MIT
#include "base/recently_used.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace kizami::base {
namespace {

TEST(RecentlyUsed, KnowsWhatWasPutIn) {
  RecentlyUsed<int, int, 4> known;
  EXPECT_EQ(known.find(1), nullptr);
  known.insert(1, 10);
  known.insert(2, 20);
  ASSERT_NE(known.find(1), nullptr);
  EXPECT_EQ(*known.find(1), 10);
  EXPECT_EQ(*known.find(2), 20);
  EXPECT_EQ(known.size(), 2U);
}

TEST(RecentlyUsed, ForgetsTheLeastRecentlyUsed) {
  RecentlyUsed<int, int, 3> known;
  for (int key = 1; key <= 3; ++key) known.insert(key, key);
  static_cast<void>(known.find(1));
  known.insert(4, 4);
  EXPECT_NE(known.find(1), nullptr);
  EXPECT_EQ(known.find(2), nullptr);
  EXPECT_NE(known.find(3), nullptr);
  EXPECT_NE(known.find(4), nullptr);
}

template <class Known>
void expect_never_more(std::size_t most) {
  Known known;
  std::minstd_rand random(1);
  std::vector<unsigned> order;  // by the definition: the last most keys that differ
  for (int i = 0; i < 10000; ++i) {
    const auto key = static_cast<unsigned>(random() % 40);
    const auto place = std::find(order.begin(), order.end(), key);
    const unsigned* const value = known.find(key);
    ASSERT_EQ(value != nullptr, place != order.end());
    if (value != nullptr) {
      ASSERT_EQ(*value, 3 * key);
      order.erase(place);
    } else {
      known.insert(key, 3 * key);
    }
    order.insert(order.begin(), key);
    if (order.size() > most) order.pop_back();
    ASSERT_EQ(known.size(), order.size());
  }
  EXPECT_EQ(known.size(), most);
}

TEST(RecentlyUsed, NeverHoldsMoreThanItMay) { expect_never_more<RecentlyUsed<unsigned, unsigned, 16>>(16); }

TEST(RecentlyUsed, TellsKeysOfOneHashApart) {
  struct Few {
    std::size_t operator()(unsigned key) const { return key % 3; }
  };
  expect_never_more<RecentlyUsed<unsigned, unsigned, 16, Few>>(16);
}

}  // namespace
}  // namespace kizami::base
