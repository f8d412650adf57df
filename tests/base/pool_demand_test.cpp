// SPDX-License-Identifier: MIT
#include "base/pool_demand.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>

namespace kizami::base {
namespace {

const void* stream(std::uintptr_t i) { return reinterpret_cast<const void*>(i); }

std::size_t kept_for(std::size_t needed) { return 2 * needed + PoolDemand::kSlack; }

TEST(PoolDemand, OneStreamNeedsItsLargestWorkspace) {
  PoolDemand demand;
  PoolDemand::Advice advice = demand.note(stream(1), 1000);
  EXPECT_EQ(advice.keep_bytes, kept_for(1000));
  EXPECT_TRUE(advice.has_changed);
  advice = demand.note(stream(1), 400);
  EXPECT_EQ(advice.keep_bytes, kept_for(1000));
  EXPECT_FALSE(advice.has_changed);
  advice = demand.note(stream(1), 3000);
  EXPECT_EQ(advice.keep_bytes, kept_for(3000));
  EXPECT_TRUE(advice.has_changed) << "what a call needs is kept at once";
}

TEST(PoolDemand, StreamsAddUp) {
  PoolDemand demand;
  static_cast<void>(demand.note(stream(1), 1000));
  static_cast<void>(demand.note(stream(2), 200));
  static_cast<void>(demand.note(nullptr, 30));
  EXPECT_EQ(demand.note(stream(2), 300).keep_bytes, kept_for(1330));
}

TEST(PoolDemand, ABurstIsForgottenAfterTwoWindows) {
  PoolDemand demand;
  static_cast<void>(demand.note(stream(1), std::size_t{1} << 33));
  int calls = 1;
  std::size_t kept = 0;
  int num_ends = 0;
  while (kept != kept_for(10)) {
    const PoolDemand::Advice advice = demand.note(stream(1), 10);
    ASSERT_LE(++calls, 2 * PoolDemand::kWindow + 1);
    kept = advice.keep_bytes;
    if (advice.is_window_over) ++num_ends;
    EXPECT_TRUE(kept == kept_for(10) || kept == kept_for(std::size_t{1} << 33));
    EXPECT_EQ(advice.has_changed, kept == kept_for(10));
  }
  EXPECT_EQ(calls, 2 * PoolDemand::kWindow + 1);
  EXPECT_EQ(num_ends, 2) << "memory is given back when the advice falls";
}

TEST(PoolDemand, WhatCallsRepeatIsKept) {
  PoolDemand demand;
  for (int i = 0; i < 10 * PoolDemand::kWindow; ++i) {
    const std::size_t bytes = i % PoolDemand::kWindow == 7 ? 5000 : 10;  // once a window
    const PoolDemand::Advice advice = demand.note(stream(1), bytes);
    ASSERT_EQ(advice.keep_bytes, kept_for(i < 7 ? 10 : 5000)) << i;
  }
}

TEST(PoolDemand, StreamsThatEndAreForgotten) {
  PoolDemand demand;
  for (std::uintptr_t i = 0; i < 100000; ++i) {
    const PoolDemand::Advice advice = demand.note(stream(i), 10);
    ASSERT_LE(advice.keep_bytes, kept_for(std::size_t{2} * PoolDemand::kWindow * 10));
    ASSERT_LE(demand.num_streams(), std::size_t{2} * PoolDemand::kWindow);
  }
}

TEST(PoolDemand, IsTheSumOfTheLargestOfTwoWindows) {
  PoolDemand demand;
  std::mt19937 random(20);
  std::size_t before[5] = {};
  std::size_t now[5] = {};
  for (int i = 0; i < 5000; ++i) {
    if (i % PoolDemand::kWindow == 0) {
      std::copy(std::begin(now), std::end(now), std::begin(before));
      std::fill(std::begin(now), std::end(now), 0);
    }
    const std::size_t s = random() % 5;
    const std::size_t bytes = random() % 1000;
    now[s] = std::max(now[s], bytes);
    std::size_t needed = 0;
    for (int t = 0; t < 5; ++t) needed += std::max(before[t], now[t]);
    ASSERT_EQ(demand.note(stream(s), bytes).keep_bytes, kept_for(needed)) << i;
  }
}

}  // namespace
}  // namespace kizami::base
