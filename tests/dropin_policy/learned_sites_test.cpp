// SPDX-License-Identifier: MIT
#include "dropin/policy/learned_sites.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "base/fork_safe.hpp"

namespace kizami::dropin {
namespace {

constexpr std::int64_t kWide = 7;  ///< exceptions of a call that is a loss

Site site_of_rows(std::int64_t m) {
  Site site;
  site.m = m;
  return site;
}

/// A table, and the words that calls tell by.
class LearnedSitesTest : public testing::Test {
 protected:
  LearnedSites::Answer next(const Site& site) {
    return sites.next_call(
        site, [&](std::size_t word) { return words.at(word); },
        [&](const Effort& effort) {
          ++judged;
          return effort.num_exceptions == kWide;
        });
  }
  void tell(const LearnedSites::Answer& answer, std::int64_t exceptions) {
    Effort effort;
    effort.num_exceptions = exceptions;
    words.at(answer.word) = ToldEffort{answer.number, effort};
  }

  LearnedSites sites;
  std::vector<std::optional<ToldEffort>> words = std::vector<std::optional<ToldEffort>>(LearnedSites::kWords);
  int judged = 0;
};

TEST_F(LearnedSitesTest, TheThirdCallIsNative) {
  for (int i = 0; i < 2; ++i) {
    const LearnedSites::Answer answer = next(site_of_rows(1));
    EXPECT_FALSE(answer.is_native);
    tell(answer, kWide);
  }
  EXPECT_TRUE(next(site_of_rows(1)).is_native);
  EXPECT_EQ(judged, 1) << "an effort that is as before is not judged again";
  EXPECT_FALSE(next(site_of_rows(2)).is_native) << "of another shape";
}

TEST_F(LearnedSitesTest, BothOfTheLastTwoCallsAreHeard) {
  for (const bool is_later_first : {false, true}) {
    const Site site = site_of_rows(is_later_first ? 2 : 3);
    const LearnedSites::Answer first = next(site);
    const LearnedSites::Answer second = next(site);
    EXPECT_NE(first.word, second.word);
    tell(is_later_first ? second : first, kWide);
    tell(is_later_first ? first : second, kWide);
    EXPECT_TRUE(next(site).is_native);
  }
}

TEST_F(LearnedSitesTest, TheOrderOfCallsCounts) {
  // Told in any order, a loss before a win is none, and a loss behind it is one.
  const LearnedSites::Answer loss = next(site_of_rows(1));
  const LearnedSites::Answer win = next(site_of_rows(1));
  tell(win, 0);
  tell(loss, kWide);
  const LearnedSites::Answer third = next(site_of_rows(1));
  ASSERT_FALSE(third.is_native);
  tell(third, kWide);
  const LearnedSites::Answer fourth = next(site_of_rows(1));
  ASSERT_FALSE(fourth.is_native);
  tell(fourth, kWide);
  EXPECT_TRUE(next(site_of_rows(1)).is_native);
}

TEST_F(LearnedSitesTest, ACallIsHeardOnce) {
  const LearnedSites::Answer answer = next(site_of_rows(1));
  tell(answer, kWide);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(next(site_of_rows(1)).is_native);
}

TEST_F(LearnedSitesTest, EverythingOfASiteTellsItFromOthers) {
  const Settings settings;
  std::vector<Site> all(12);
  all[1].settings = &settings;
  all[2].caller = &settings;
  all[3].device = 1;
  all[4].scalar = Scalar::kF32;
  all[5].op_a = 'T';
  all[6].op_b = 'T';
  all[7].has_device_arrays = true;
  all[8].m = all[9].n = all[10].k = 5;
  all[11].num_products = 2;
  for (const Site& site : all) {
    for (int i = 0; i < 2; ++i) tell(next(site), kWide);
    EXPECT_TRUE(next(site).is_native);
  }
  Site routine;
  routine.routine = Routine::kGemm3m;
  EXPECT_FALSE(next(routine).is_native);
}

// More sites than there is room for: the table stays whole, words are within it, and a site that is used stays.
TEST_F(LearnedSitesTest, TheLongestUnusedGoes) {
  const Site kept = site_of_rows(0);
  for (int i = 0; i < 2; ++i) tell(next(kept), kWide);
  std::set<std::size_t> used;
  int num_kept = 0;
  constexpr std::int64_t kSites = 4 * LearnedSites::kWords;
  for (std::int64_t m = 1; m <= kSites; ++m) {
    const LearnedSites::Answer answer = next(site_of_rows(m));
    ASSERT_LT(answer.word, LearnedSites::kWords);
    EXPECT_FALSE(answer.is_native);
    used.insert(answer.word);
    if (next(kept).is_native) ++num_kept;
  }
  EXPECT_EQ(num_kept + 9, kSites) << "native but for its trials: after 16, 32, ... 1024, and 1024 calls";
  EXPECT_GT(used.size(), LearnedSites::kWords / 3) << "sites are spread over the table";
  EXPECT_FALSE(next(site_of_rows(1)).is_native);
}

// A call of a site that has gone is not taken for one of the site that has its place now.
TEST_F(LearnedSitesTest, WhatIsToldOfAnotherSiteIsNotHeard) {
  std::vector<LearnedSites::Answer> late;
  constexpr std::int64_t kMany = 4 * LearnedSites::kWords;
  for (std::int64_t m = 0; m < kMany; ++m) {
    late.push_back(next(site_of_rows(m)));
    late.push_back(next(site_of_rows(m)));
  }
  constexpr std::int64_t kFresh = 1 << 20;
  for (std::int64_t m = 0; m < kMany; ++m) EXPECT_FALSE(next(site_of_rows(kFresh + m)).is_native);
  for (const LearnedSites::Answer& answer : late) tell(answer, kWide);
  for (std::int64_t m = kMany - 1; m >= 0; --m) EXPECT_FALSE(next(site_of_rows(kFresh + m)).is_native) << m;
  EXPECT_EQ(judged, 0);
}

TEST(LearnedSitesNumbers, BeginAgainAfterTheLast) {
  LearnedSites sites((1U << 24) - 2);
  std::vector<std::optional<ToldEffort>> words(LearnedSites::kWords);
  const auto told = [&](std::size_t word) { return words[word]; };
  for (const std::uint32_t number : {(1U << 24) - 1, 0U, 1U}) {
    const LearnedSites::Answer answer =
        sites.next_call(site_of_rows(1), told, [](const Effort& effort) { return effort.num_exceptions == kWide; });
    EXPECT_FALSE(answer.is_native);
    EXPECT_EQ(answer.number, number);
    Effort effort;
    effort.num_exceptions = number > 1 ? 0 : kWide;
    words[answer.word] = ToldEffort{number, effort};
  }
  EXPECT_TRUE(sites.next_call(site_of_rows(1), told, [](const Effort&) { return true; }).is_native);
}

TEST_F(LearnedSitesTest, AFailingJudgeLeavesTheTableUsable) {
  tell(next(site_of_rows(1)), kWide);
  const auto told = [&](std::size_t word) { return words.at(word); };
  EXPECT_THROW(static_cast<void>(sites.next_call(site_of_rows(1), told, [](const Effort&) -> bool { throw 1; })), int);
  EXPECT_FALSE(next(site_of_rows(1)).is_native);
}

constinit base::PerProcess<LearnedSites> process_sites;

LearnedSites::Answer next_of_process(std::int64_t m) {
  return process_sites.get().next_call(
      site_of_rows(m), [](std::size_t) { return std::optional<ToldEffort>(); }, [](const Effort&) { return false; });
}

TEST(LearnedSitesThreads, NumbersOfAPlaceAreGivenOnce) {
  constexpr int kThreads = 4;
  constexpr std::uint32_t kCalls = 20000;
  LearnedSites sites;
  std::vector<std::vector<std::uint32_t>> numbers(kThreads);
  std::vector<std::thread> crew;
  for (auto& mine : numbers) {
    crew.emplace_back([&] {
      for (std::uint32_t i = 0; i < kCalls; ++i) {
        mine.push_back(sites
                           .next_call(
                               site_of_rows(1), [](std::size_t) { return std::optional<ToldEffort>(); },
                               [](const Effort&) { return false; })
                           .number);
      }
    });
  }
  for (std::thread& thread : crew) thread.join();
  std::set<std::uint32_t> all;
  for (const auto& mine : numbers) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), kThreads * kCalls);
}

// The child of a fork finds no lock held and nothing learned, whatever threads of the parent were doing.
TEST(LearnedSitesThreads, TheChildOfAForkBeginsAnew) {
  std::atomic<bool> is_over{false};
  std::vector<std::thread> crew;
  for (int t = 0; t < 2; ++t) {
    crew.emplace_back([&] {
      while (!is_over) static_cast<void>(next_of_process(1));
    });
  }
  while (next_of_process(1).number < 100) {
  }
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(30);  // a lock that is held for ever
      _exit(next_of_process(1).number == 1 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  is_over = true;
  for (std::thread& thread : crew) thread.join();
}

}  // namespace
}  // namespace kizami::dropin
