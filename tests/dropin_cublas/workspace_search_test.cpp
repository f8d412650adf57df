// SPDX-License-Identifier: MIT
#include "dropin/cublas/workspace_search.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace kizami::dropin::cublas {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// The workspaces that a call asks for whose plans take all that they may, on a device with so much left.
std::vector<std::size_t> asked(Shortage& shortage, std::size_t wish, std::size_t left, std::size_t total = 0) {
  WorkspaceSearch search(shortage, total);
  std::vector<std::size_t> all;
  for (std::size_t bytes = wish; bytes != 0; bytes = search.next_limit(bytes)) {
    if (!search.may_ask(bytes)) continue;
    all.push_back(bytes);
    if (bytes <= left) {
      search.granted(bytes);
      break;
    }
    search.refused(bytes);
  }
  return all;
}

TEST(WorkspaceSearch, HalvesDownToTheLeastWorkspace) {
  Shortage shortage;
  EXPECT_EQ(asked(shortage, 4842988864, 0), (std::vector<std::size_t>{4842988864, 4096 * kMiB, 2048 * kMiB, 1024 * kMiB,
                                                                      512 * kMiB, 256 * kMiB, 128 * kMiB, 64 * kMiB}));
  Shortage other;
  EXPECT_EQ(asked(other, 4842988864, 2000 * kMiB),
            (std::vector<std::size_t>{4842988864, 4096 * kMiB, 2048 * kMiB, 1024 * kMiB}));
}

TEST(WorkspaceSearch, AskedBytesFallWhateverTheWish) {
  for (std::size_t wish = 1; wish < (std::size_t{1} << 62); wish += wish / 3 + 1) {
    Shortage shortage;
    const std::vector<std::size_t> all = asked(shortage, wish, 0);
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all.front(), wish);
    for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i], all[i - 1]);
    EXPECT_EQ(all.back(), wish <= kLeastWorkspace ? wish : kLeastWorkspace);
  }
}

TEST(WorkspaceSearch, ASmallWishIsTriedOnce) {
  Shortage shortage;
  EXPECT_EQ(asked(shortage, 5000, 0), (std::vector<std::size_t>{5000}));
  Shortage other;
  EXPECT_EQ(asked(other, kLeastWorkspace, 0), (std::vector<std::size_t>{kLeastWorkspace}));
  Shortage third;
  EXPECT_EQ(asked(third, kLeastWorkspace + 1, 0), (std::vector<std::size_t>{kLeastWorkspace + 1, kLeastWorkspace}));
}

TEST(WorkspaceSearch, WhatWasRefusedIsNotAskedAgainButForOneOfSomeCalls) {
  Shortage shortage;
  const std::vector<std::size_t> first = asked(shortage, 3000 * kMiB, 600 * kMiB);
  EXPECT_EQ(first, (std::vector<std::size_t>{3000 * kMiB, 2048 * kMiB, 1024 * kMiB, 512 * kMiB}));
  EXPECT_EQ(shortage.refused(), 1024 * kMiB);
  for (std::uint32_t call = 1; call <= 3 * kRetryPeriod; ++call) {
    EXPECT_EQ(asked(shortage, 3000 * kMiB, 600 * kMiB),
              call % kRetryPeriod == 0 ? first : std::vector<std::size_t>{512 * kMiB})
        << call;
    EXPECT_EQ(asked(shortage, 600 * kMiB, 600 * kMiB), (std::vector<std::size_t>{600 * kMiB})) << "never refused";
  }
}

TEST(WorkspaceSearch, MemoryThatIsFreeAgainIsFound) {
  Shortage shortage;
  static_cast<void>(asked(shortage, 3000 * kMiB, 100 * kMiB));
  EXPECT_EQ(shortage.refused(), 128 * kMiB);
  std::uint32_t calls = 1;
  while (asked(shortage, 3000 * kMiB, 2500 * kMiB).back() != 2048 * kMiB) ++calls;
  EXPECT_EQ(calls, kRetryPeriod);
  EXPECT_EQ(shortage.refused(), 3000 * kMiB) << "what this call was refused, and no less";
  EXPECT_EQ(asked(shortage, 2400 * kMiB, 2500 * kMiB), (std::vector<std::size_t>{2400 * kMiB}));
  calls = 1;
  while (asked(shortage, 3000 * kMiB, 4000 * kMiB) != std::vector<std::size_t>{3000 * kMiB}) ++calls;
  EXPECT_LE(calls, kRetryPeriod);
  EXPECT_EQ(shortage.refused(), 0U);
}

TEST(WorkspaceSearch, AFullDeviceIsAskedRarely) {
  Shortage shortage;
  static_cast<void>(asked(shortage, 3000 * kMiB, 0));
  std::size_t asks = 0;
  for (std::uint32_t call = 0; call < 10 * kRetryPeriod; ++call) asks += asked(shortage, 3000 * kMiB, 0).size();
  EXPECT_EQ(asks, 10U * 7U);
}

TEST(WorkspaceSearch, ALimitForAllComesBeforeTheHalves) {
  Shortage shortage;
  EXPECT_EQ(asked(shortage, 4842988864, 0, 250 * kMiB), (std::vector<std::size_t>{250 * kMiB, 128 * kMiB, 64 * kMiB}));
  Shortage other;
  EXPECT_EQ(asked(other, 4842988864, 4000 * kMiB, 250 * kMiB), (std::vector<std::size_t>{250 * kMiB}));
  EXPECT_EQ(other.refused(), 0U) << "nobody refused what nobody asked for";
  EXPECT_EQ(asked(other, 4842988864, 0, 10 * kMiB), (std::vector<std::size_t>{10 * kMiB}));
  Shortage third;
  EXPECT_EQ(asked(third, 200 * kMiB, 0, 250 * kMiB), (std::vector<std::size_t>{200 * kMiB, 128 * kMiB, 64 * kMiB}));
}

TEST(WorkspaceSearch, ThreadsAlwaysEndWithWhatIsThere) {
  Shortage shortage;
  std::vector<std::thread> crew;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    crew.emplace_back([&, t] {
      for (int i = 0; i < 5000; ++i) {
        const std::vector<std::size_t> all =
            asked(shortage, (500 + 100 * static_cast<std::size_t>(t)) * kMiB, 200 * kMiB);
        if (all.empty() || all.back() != 128 * kMiB) ++wrong;
      }
    });
  }
  for (std::thread& thread : crew) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace kizami::dropin::cublas
