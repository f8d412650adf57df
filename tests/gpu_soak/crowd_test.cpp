// SPDX-License-Identifier: MIT
// Crowds choose the largest cases, have all threads in flight at once, and come back to the rounds that took most.
#include "gpu_soak/crowd.hpp"

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include "gpu_soak/seeds.hpp"

namespace gpu_soak {
namespace {

TEST(CrowdSeeds, AreTheLargestOfEachRoutineTypeAndWay) {
  Limits limits;
  limits.max_size = 512;
  std::vector<std::uint64_t> population;
  for (std::uint64_t seed = 1000; seed < 11000; ++seed) population.push_back(seed);
  const std::vector<std::uint64_t> seeds = crowd_seeds(population, limits);
  EXPECT_EQ(std::set<std::uint64_t>(seeds.begin(), seeds.end()).size(), seeds.size());
  using Family = std::tuple<int, kizami::Scalar, bool>;
  const auto volume_of = [](const Case& x) {
    std::int64_t most = 0;
    for (const Section& s : x.sections) {
      if (s.alpha != 0.0) most = std::max(most, s.m * s.n * s.k);
    }
    return most;
  };
  std::map<Family, std::int64_t> largest;
  for (const std::uint64_t seed : seeds) {
    ASSERT_TRUE(seed >= 1000 && seed < 11000);
    const Case x = draw_case(seed, limits);
    EXPECT_EQ(x.workspace_bytes, 0);
    EXPECT_LE(x.num_products(), kMostProductsOfCrowds);
    EXPECT_GT(volume_of(x), 0);
    std::int64_t& size = largest[{static_cast<int>(x.routine), x.scalar, x.num_replays > 0}];
    size = std::max(size, volume_of(x));
  }
  std::int64_t longest_k = 0, longest_of_seeds = 0;
  for (const std::uint64_t seed : population) {
    const Case x = draw_case(seed, limits);
    if (x.workspace_bytes > 0 || volume_of(x) == 0 || x.num_products() > kMostProductsOfCrowds) continue;
    const auto found = largest.find({static_cast<int>(x.routine), x.scalar, x.num_replays > 0});
    ASSERT_NE(found, largest.end()) << text_of(x);
    EXPECT_LE(volume_of(x), found->second) << text_of(x);
    if (!is_level3(x.routine) && x.routine != Routine::kGrouped) longest_k = std::max(longest_k, x.first().k);
  }
  for (const std::uint64_t seed : seeds) {
    const Case x = draw_case(seed, limits);
    if (!is_level3(x.routine)) longest_of_seeds = std::max(longest_of_seeds, x.first().k);
  }
  EXPECT_GE(longest_of_seeds, longest_k);
  EXPECT_EQ(largest.size(),
            2U * (4 * 10 + 2 + 2 * 2));  // ten routines of all types, groups of real ones, two Hermitian
  EXPECT_LT(seeds.size(), 130U) << seeds.size();
  EXPECT_EQ(crowd_seeds(population, limits), seeds);
  EXPECT_TRUE(crowd_seeds({}, limits).empty());
}

TEST(CrowdSeeds, AreChosenOfAllCasesThatThreadsHave) {
  Seeds seeds;
  seeds.threads = 3;
  seeds.cases = 100;
  const std::vector<std::uint64_t> population = seeds.population(7);
  const std::set<std::uint64_t> all(population.begin(), population.end());
  EXPECT_EQ(all.size(), 3U * 34);
  for (std::size_t thread = 0; thread < 3; ++thread) {
    for (std::uint64_t count = 0; count < 200; ++count)
      EXPECT_EQ(all.count(seeds.of_thread(thread, count)), 1U) << thread << ", " << count;
  }
  seeds.cases = 0;  // always others
  EXPECT_EQ(seeds.population(7).size(), 9U);
  EXPECT_EQ(seeds.population(7).front(), seeds.of_thread(0, 0));
}

Parts parts_of(std::int64_t used_workspaces, std::int64_t workspaces, std::int64_t graphs, std::int64_t rest) {
  Parts parts;
  parts.used_workspaces = used_workspaces;
  parts.workspaces = workspaces;
  parts.graphs = graphs;
  parts.whole = workspaces + graphs + rest;
  return parts;
}

TEST(Rounds, LaterCrowdsHaveThoseThatTookTheMostOfAPart) {
  Rounds rounds({10, 11, 12, 13, 14, 15});
  EXPECT_TRUE(rounds.is_first());
  rounds.note(0, parts_of(5, 60, 100, 7));
  rounds.note(1, parts_of(9, 64, 100, 7));  // the most workspaces in use
  rounds.note(2, parts_of(3, 96, 300, 7));  // the most graphs and workspaces held, which they keep
  rounds.note(3, parts_of(8, 96, 300, 8));  // the most of the rest, and of all
  rounds.note(4, parts_of(7, 96, 300, 8));
  Parts torn = parts_of(1, 0, 0, 1000);
  torn.is_at_once = false;
  torn.whole = 0;
  rounds.note(5, torn);
  EXPECT_EQ(rounds.seeds().size(), 6U);
  rounds.end_crowd();
  EXPECT_FALSE(rounds.is_first());
  EXPECT_EQ(rounds.seeds(), (std::vector<std::uint64_t>{11, 12, 13}));
  EXPECT_EQ(rounds.most_used_workspaces(), 9);
  rounds.note(0, parts_of(90, 900, 900, 900));  // growth is no reason for another choice
  rounds.end_crowd();
  EXPECT_EQ(rounds.seeds(), (std::vector<std::uint64_t>{11, 12, 13}));
  EXPECT_EQ(rounds.most_used_workspaces(), 90);
}

/// Slots of threads, each of which holds bytes by its case from issue to drain.
class Pool {
 public:
  void take(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    used_ += bytes;
    most_ = std::max(most_, used_);
  }
  [[nodiscard]] std::int64_t used() {
    const std::lock_guard lock(mutex_);
    return used_;
  }
  [[nodiscard]] std::int64_t most() {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  std::mutex mutex_;
  std::int64_t used_ = 0, most_ = 0;
};

constexpr int kThreads = 4, kSlots = 2;

class Crowds : public testing::Test {
 protected:
  /// As many crowds as the thread is told.
  void work(Crowd& crowd, int num_crowds) {
    std::int64_t held = 0;
    const auto drain = [&] {
      EXPECT_TRUE(!is_held_back_ || held == 0);
      pool_.take(-held);
      held = 0;
    };
    const auto issue = [&](std::uint64_t seed, bool is_on_all) {
      EXPECT_EQ(is_held_back_, is_on_all);
      const std::int64_t bytes = static_cast<std::int64_t>(seed) * (is_on_all ? kSlots : 1);
      pool_.take(bytes);
      held += bytes;
    };
    for (int i = 0; i < num_crowds; ++i) crowd.run(drain, issue);
    crowd.leave();
  }
  Crowd::Actions actions() {
    Crowd::Actions actions;
    actions.hold_back = [this] {
      EXPECT_EQ(pool_.used(), 0);  // all have drained
      is_held_back_ = true;
    };
    actions.let_go = [this] {
      is_held_back_ = false;
      return num_waits_ <= 0 || --num_waits_ < 0;
    };
    actions.look = [this] {
      looks_.push_back(pool_.used());
      Parts parts;
      parts.used_workspaces = parts.workspaces = parts.whole = pool_.used();
      return parts;
    };
    return actions;
  }
  void run_all(Crowd& crowd, const std::vector<int>& num_crowds) {
    std::vector<std::thread> threads;
    for (const int count : num_crowds) threads.emplace_back([this, &crowd, count] { work(crowd, count); });
    for (std::thread& thread : threads) thread.join();
  }

  Pool pool_;
  std::atomic<bool> is_held_back_ = false;
  int num_waits_ = 0;  ///< times that somebody waits for the device
  std::vector<std::int64_t> looks_;
};

TEST_F(Crowds, HaveAllSlotsOfAllThreadsInFlight) {
  Crowd crowd(kThreads, {3, 50, 7}, actions());
  run_all(crowd, std::vector<int>(kThreads, 3));
  const std::int64_t most = 50 * kThreads * kSlots;
  EXPECT_EQ(looks_, (std::vector<std::int64_t>{3 * kThreads * kSlots, most, 7 * kThreads * kSlots, most, most}));
  EXPECT_EQ(pool_.most(), most);
  const Crowd::Counts counts = crowd.counts();
  EXPECT_EQ(counts.crowds, 3);
  EXPECT_EQ(counts.rounds, 3);
  EXPECT_EQ(counts.later_rounds, 1);
  EXPECT_EQ(counts.not_at_once, 0);
  EXPECT_EQ(counts.used_workspaces, most);
}

TEST_F(Crowds, RepeatARoundInWhichSomebodyWaited) {
  num_waits_ = 2;
  Crowd crowd(kThreads, {5, 6}, actions());
  run_all(crowd, std::vector<int>(kThreads, 1));
  EXPECT_EQ(looks_.size(), 4U);
  EXPECT_EQ(crowd.counts().not_at_once, 0);
}

TEST_F(Crowds, AreOverEvenIfSomebodyAlwaysWaits) {
  num_waits_ = 1 << 20;
  Crowd crowd(kThreads, {1, 2, 3, 4}, actions());
  run_all(crowd, std::vector<int>(kThreads, 1));
  EXPECT_EQ(looks_.size(), 4U * Crowd::kMostTries);
  EXPECT_EQ(crowd.counts().not_at_once, 4);
  EXPECT_EQ((1 << 20) - num_waits_, 4 * Crowd::kMostTries);
}

TEST_F(Crowds, HoldNothingBackAfterVainRounds) {
  num_waits_ = 1 << 20;
  std::vector<std::uint64_t> seeds;
  for (int i = 0; i < Crowd::kMostVainRounds + 2; ++i) seeds.push_back(static_cast<std::uint64_t>(i + 1));
  Crowd crowd(1, seeds, actions());
  int num_held_back = 0, num_issued = 0;
  crowd.run([] {},
            [&](std::uint64_t, bool is_on_all) {
              num_issued += is_on_all;
              num_held_back += is_on_all && is_held_back_;
            });
  EXPECT_EQ(num_held_back, Crowd::kMostVainRounds * Crowd::kMostTries);
  EXPECT_EQ(num_issued, num_held_back + 2);
  EXPECT_EQ(crowd.counts().not_at_once, Crowd::kMostVainRounds + 2);
  crowd.leave();
}

TEST_F(Crowds, DoNotWaitForThoseThatHaveLeft) {
  Crowd crowd(kThreads, {5, 6}, actions());
  run_all(crowd, {1, 4, 2, 4});
  EXPECT_EQ(crowd.num_crowds(), 4);
  EXPECT_EQ(looks_, (std::vector<std::int64_t>{5 * kThreads * kSlots, 6 * kThreads * kSlots, 6 * 3 * kSlots,
                                               6 * 2 * kSlots, 6 * 2 * kSlots}));
}

}  // namespace
}  // namespace gpu_soak
