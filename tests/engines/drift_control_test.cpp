// SPDX-License-Identifier: MIT
// Clusters of different speed walk the tiles of a product in the orders of drift_control.hpp, beside each other in
// simulated time: every tile is made once, no wait lasts, the words are zero again, and clusters stay together.
#include "engines/hopper/drift_control.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engines/product_case.hpp"

namespace kizami::engines::hopper {
namespace {

/// As CUDA's atomicInc().
std::uint32_t increase(std::uint32_t& word, std::uint32_t limit) {
  const std::uint32_t old = word;
  word = old >= limit ? 0 : old + 1;
  return old;
}

constexpr double kBlockTime = 1;
constexpr double kPollTime = 0.7;  // of an answer from memory, in blocks of k

/// What a launch looks like.
struct Launch {
  std::uint32_t num_tiles;
  std::uint32_t num_clusters;
  int num_k_blocks;
  std::vector<double> block_times;  ///< of each cluster
  std::vector<double> begins;       ///< of each cluster: when it has its multiprocessors
};
Launch launch_of(std::uint32_t num_tiles, std::uint32_t num_clusters, int num_k_blocks, double spread = 0) {
  Launch launch{num_tiles, num_clusters, num_k_blocks, {}, std::vector<double>(num_clusters)};
  for (std::uint32_t c = 0; c < num_clusters; ++c)
    launch.block_times.push_back(kBlockTime * (1 + spread * (c * 29 % num_clusters) / num_clusters));
  return launch;
}
std::string name_of(const Launch& launch) {
  return std::to_string(launch.num_tiles) + " tiles of " + std::to_string(launch.num_k_blocks) + " blocks, " +
         std::to_string(launch.num_clusters) + " clusters";
}

/// What became of it.
struct Outcome {
  std::vector<int> times_made;         ///< of each tile
  double seconds = 0;                  ///< until the last cluster ended
  double most_blocks_apart = 0;        ///< of clusters under way, in blocks of k that they had begun
  std::uint32_t most_tiles_apart = 0;  ///< of tiles under way
  std::uint32_t num_polls = 0;
};

/// One cluster: each step() is what it does until it looks at, or changes, a word again.
class Cluster {
 public:
  Cluster(const Launch& launch, WalkOrder order, std::uint32_t index)
      : launch_(launch),
        order_(order),
        pace_(Epochs::of(launch.num_tiles, launch.num_clusters, launch.num_k_blocks)),
        tile_(index),
        time_(launch.begins[index]),
        block_time_(launch.block_times[index]) {}

  [[nodiscard]] double time() const { return time_; }
  [[nodiscard]] bool is_done() const { return tile_ >= launch_.num_tiles; }
  [[nodiscard]] std::uint32_t tile() const { return tile_; }
  [[nodiscard]] double blocks() const { return blocks_; }

  void step(DriftWords& words, Outcome& outcome) {
    if (order_ == WalkOrder::kPaced) {
      if (!polls_ && pace_.begin_block()) {
        increase(words.epochs[Epochs::slot_of(pace_.epoch())], pace_.epochs().last_arrival(pace_.epoch()));
        polls_ = pace_.waits();
      } else if (polls_) {
        seen_ = words.epochs[Epochs::slot_of(pace_.awaited())];
      }
      if (polls_) {
        ++outcome.num_polls;
        polls_ = !pace_.may_go_on(seen_);
        if (polls_) {
          time_ += kPollTime;
          return;
        }
      }
      if (pace_.looks_ahead()) seen_ = words.epochs[Epochs::slot_of(pace_.awaited_next())];
    }
    make_block(words, outcome);
  }

 private:
  void make_block(DriftWords& words, Outcome& outcome) {
    if (k_block_ == 0) ++outcome.times_made[tile_];
    const ClaimTimes times = claim_times(launch_.num_k_blocks);
    EXPECT_LE(times.claim_at, times.tell_at);
    EXPECT_LT(times.tell_at, launch_.num_k_blocks);
    if (order_ == WalkOrder::kCounted && k_block_ == times.claim_at)
      claimed_ = tile_of_claim(increase(words.claims, last_claim(launch_.num_tiles)), launch_.num_clusters);
    time_ += block_time_;
    ++blocks_;
    if (++k_block_ < launch_.num_k_blocks) return;
    k_block_ = 0;
    tile_ = order_ == WalkOrder::kCounted ? claimed_ : tile_ + launch_.num_clusters;
  }

  const Launch& launch_;
  WalkOrder order_;
  Pace pace_;
  std::uint32_t tile_;
  double time_;
  double block_time_;
  int k_block_ = 0;
  double blocks_ = 0;
  std::uint32_t claimed_ = 0;
  bool polls_ = false;
  std::uint32_t seen_ = 0;
};

Outcome walk(const Launch& launch, WalkOrder order, DriftWords& words) {
  Outcome outcome;
  outcome.times_made.resize(launch.num_tiles);
  std::vector<Cluster> clusters;
  for (std::uint32_t c = 0; c < launch.num_clusters; ++c) clusters.emplace_back(launch, order, c);
  std::uint64_t num_steps = 0;
  for (;;) {
    Cluster* next = nullptr;
    double least = 1e300;
    double most = 0;
    std::uint32_t first_tile = launch.num_tiles;
    std::uint32_t last_tile = 0;
    for (Cluster& c : clusters) {
      if (c.is_done()) continue;
      if (next == nullptr || c.time() < next->time()) next = &c;
      least = std::min(least, c.blocks());
      most = std::max(most, c.blocks());
      first_tile = std::min(first_tile, c.tile());
      last_tile = std::max(last_tile, c.tile());
    }
    if (next == nullptr) return outcome;
    outcome.most_blocks_apart = std::max(outcome.most_blocks_apart, most - least);
    outcome.most_tiles_apart = std::max(outcome.most_tiles_apart, last_tile - first_tile);
    next->step(words, outcome);
    outcome.seconds = std::max(outcome.seconds, next->time());
    if (++num_steps > 100'000'000) {
      ADD_FAILURE() << "no end: " << name_of(launch);
      return outcome;
    }
  }
}

bool are_zero(const DriftWords& words) {
  return words.claims == 0 &&
         std::all_of(std::begin(words.epochs), std::end(words.epochs), [](auto x) { return x == 0; });
}

constexpr WalkOrder kOrders[] = {WalkOrder::kStatic, WalkOrder::kCounted, WalkOrder::kPaced};

// Launch after launch in the same words, of all shapes: fewer tiles than clusters, none, a last round of some clusters,
// blocks of k that epochs do not divide, more epochs than slots and fewer than are waited for.
TEST(DriftControl, MakesEveryTileOnceAndLeavesTheWordsZero) {
  DriftWords words{};
  for (const std::uint32_t num_clusters : {1U, 2U, 7U, 66U}) {
    for (const std::uint32_t num_tiles : {0U, 1U, 6U, 7U, 8U, 65U, 66U, 67U, 132U, 400U}) {
      for (const int num_k_blocks : {1, 2, 3, 4, 5, 15, 16, 17, 64}) {
        if (num_tiles == 400 && num_k_blocks > 17) continue;  // takes long and tells nothing more
        for (const double spread : {0.0, 0.02, 3.0}) {
          const Launch launch = launch_of(num_tiles, num_clusters, num_k_blocks, spread);
          for (const WalkOrder order : kOrders) {
            const Outcome outcome = walk(launch, order, words);
            ASSERT_TRUE(std::all_of(outcome.times_made.begin(), outcome.times_made.end(), [](int x) { return x == 1; }))
                << name_of(launch) << ", order " << static_cast<int>(order);
            ASSERT_TRUE(are_zero(words)) << name_of(launch) << ", order " << static_cast<int>(order);
          }
        }
      }
    }
  }
}

// The second half begins only when the first has ended: nobody's wait is for it.
TEST(DriftControl, EndsThoughClustersHaveNoMultiprocessors) {
  Launch launch = launch_of(10 * 66, 66, 64);
  const double alone = 10 * 64 * kBlockTime;
  for (std::uint32_t c = 33; c < 66; ++c) launch.begins[c] = 1.5 * alone;
  DriftWords words{};
  for (const WalkOrder order : kOrders) {
    const Outcome outcome = walk(launch, order, words);
    EXPECT_TRUE(are_zero(words));
    // A cluster waits in vain kMostMisses times and no more; then it is as fast as without.
    const double vain = kMostMisses * kMostPolls * kPollTime;
    EXPECT_LE(outcome.seconds, 2.5 * alone + vain + 40 * kPollTime) << static_cast<int>(order);
  }
}

/// Whatever a counter holds, a wait ends.
TEST(DriftControl, NoWaitLasts) {
  const Epochs epochs = Epochs::of(1000, 66, 64);
  for (const std::uint32_t count : {0U, 1U, 65U, 66U, 0xFFFFFFFFU}) {
    Pace pace(epochs);
    std::uint32_t num_polls = 0;
    std::uint32_t num_epochs = 0;
    for (int block = 0; block < 15 * 64; ++block) {
      if (!pace.begin_block()) continue;
      EXPECT_EQ(pace.epoch(), num_epochs);
      ++num_epochs;
      if (!pace.waits()) continue;
      std::uint32_t polls = 1;
      while (polls < 100 && !pace.may_go_on(count)) ++polls;
      ASSERT_LE(polls, kMostPolls);
      num_polls += polls;
    }
    EXPECT_EQ(num_epochs, epochs.num);
    EXPECT_LE(num_polls, count == 1 ? kMostMisses * kMostPolls : epochs.num * kMostPolls);
  }
}

// What drift is, and what is left of it: n = 8192 on an H200, 14 planes, clusters that differ by 1 %.
TEST(DriftControl, KeepsClustersTogether) {
  constexpr std::uint32_t kClusters = 66;
  constexpr std::uint32_t kTiles = 43 * 16 * 14;
  const Launch launch = launch_of(kTiles, kClusters, 64, 0.01);
  DriftWords words{};
  const Outcome drifting = walk(launch, WalkOrder::kStatic, words);
  const Outcome counted = walk(launch, WalkOrder::kCounted, words);
  const Outcome paced = walk(launch, WalkOrder::kPaced, words);
  // Static: the fastest is 1 % of its 145 tiles ahead, so that tiles under way are of three rounds.
  EXPECT_GT(drifting.most_blocks_apart, 0.009 * 145 * 64);
  EXPECT_GT(drifting.most_tiles_apart, 2 * kClusters);
  // Counted: while a tile is made, every other cluster begins one, and claims one more when that is nearly done.
  EXPECT_LT(counted.most_tiles_apart, 2 * kClusters);
  // Paced: a cluster begins epoch e when all have begun e - kEpochsAhead, so it has at most that and an epoch more.
  EXPECT_LE(paced.most_blocks_apart, (kEpochsAhead + 1) * kEpochBlocks);
  // The slowest cluster decides when all wait for it, as without. By a counter a tile more or less.
  EXPECT_LE(paced.seconds, 1.001 * drifting.seconds);
  EXPECT_LE(counted.seconds, drifting.seconds + 1.01 * 64 * kBlockTime);
}

// Rank 0 tells of claims while the other producer and the consumers of both CTAs are as late as the ring of stages lets
// them be, in any order: no message is written over before it is read, each is read in its own phase, and all come to
// the end.
TEST(DriftControl, MessagesAreReadBeforeTheirSlotIsUsedAgain) {
  constexpr std::uint32_t kRounds = 40;
  for (const int num_stages : {1, 2, 4, 6}) {
    for (const int num_k_blocks : {1, 2, 3, 5, 9}) {
      for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const ClaimTimes times = claim_times(num_k_blocks);
        const std::int64_t end = std::int64_t{kRounds} * num_k_blocks;
        std::int64_t copied[2] = {0, 0};    // blocks of k, by the producer of each rank
        std::int64_t consumed[2] = {0, 0};  // by the consumers of each rank
        std::uint32_t told = 0;
        std::uint32_t read = 0;
        std::vector<std::uint32_t> messages(kMessages);
        for (std::uint64_t step = 0; consumed[0] < end || consumed[1] < end; ++step) {
          ASSERT_LT(step, 100'000U) << "no end";
          // Some seeds rarely let one of the four go on.
          std::uint64_t who = testing::hash(seed * 1'000'003 + step) % 4;
          if (who == seed % 5 && testing::hash(step + seed * 77) % 16 != 0) who = (who + 1) % 4;
          const std::size_t rank = who % 2;
          if (who >= 2) {  // consumers, whose stage has parts from both producers
            if (consumed[rank] < std::min(copied[0], copied[1])) ++consumed[rank];
            continue;
          }
          if (copied[rank] == end || copied[rank] >= std::min(consumed[0], consumed[1]) + num_stages) continue;
          const auto round = static_cast<std::uint32_t>(copied[rank] / num_k_blocks) + 1;
          if (rank == 1 && copied[1] % num_k_blocks == 0 && round > 1) {  // which tile is it?
            if (told < round - 1) continue;
            ASSERT_EQ(messages[message_slot(round - 1)], round - 1);
            ASSERT_EQ(message_parity(round - 1), (round - 2) / kMessages % 2);
            read = round - 1;
          }
          if (rank == 0 && copied[0] % num_k_blocks == times.tell_at) {
            told = round;
            ASSERT_LE(told - read, static_cast<std::uint32_t>(num_stages) + 2);
            ASSERT_LE(told - read, kMessages);
            messages[message_slot(round)] = round;
          }
          ++copied[rank];
        }
      }
    }
  }
  // The uses of a slot are of phases in turn, of which the first has parity 0.
  for (std::uint32_t round = 1; round < 100; ++round) {
    EXPECT_EQ(message_parity(round), round <= kMessages ? 0 : 1 - message_parity(round - kMessages));
    EXPECT_EQ(message_slot(round), message_slot(round + kMessages));
  }
}

}  // namespace
}  // namespace kizami::engines::hopper
