// SPDX-License-Identifier: MIT
#include "gpu_soak/parts.hpp"

#include <gtest/gtest.h>

namespace gpu_soak {
namespace {

constexpr std::int64_t kMega = 1 << 20;

Parts parts_of(std::int64_t workspaces, std::int64_t graphs, std::int64_t rest) {
  Parts parts;
  parts.workspaces = workspaces * kMega;
  parts.graphs = graphs * kMega;
  parts.whole = parts.workspaces + parts.graphs + rest * kMega;
  return parts;
}

/// Mode ec of lab/results/h200/soak.jsonl at commit 9b330c9: pieces of 32 MiB, in which the whole grew by 7.1 %.
PartLevels mode_ec() {
  PartLevels levels;
  for (int t = 0; t <= 300; ++t) levels.add(t, parts_of(t < 150 ? 64 : 96, t < 70 ? 224 : t < 200 ? 256 : 288, 1062));
  return levels;
}

TEST(Parts, SumToTheWhole) {
  Parts parts = parts_of(3, 4, 5);
  parts.default_pool = kMega;
  EXPECT_EQ(parts.of(Part::kWhole), 12 * kMega);
  EXPECT_EQ(parts.of(Part::kRest), 4 * kMega);
}

TEST(Parts, ThatGrewAreNamedLargestFirst) {
  const PartLevels levels = mode_ec();
  EXPECT_NEAR(levels.of(Part::kWhole).after(60).peak_percent, 7.1, 0.05);
  EXPECT_EQ(levels.grown_after(60), "graphs by 64.0 MiB, workspaces by 32.0 MiB");
  EXPECT_EQ(levels.grown_after(160), "graphs by 32.0 MiB");
  EXPECT_EQ(levels.grown_after(200), "nothing");
}

TEST(Parts, ThatGrowFromNothingAreNamedAndHaveGrown) {
  PartLevels levels;
  for (int t = 0; t <= 300; ++t) levels.add(t, parts_of(0, t < 100 ? 0 : 1, 1000));
  EXPECT_EQ(levels.grown_after(60), "graphs by 1.0 MiB");
  EXPECT_FALSE(levels.of(Part::kGraphs).after(60).peak_percent <= 1);
  EXPECT_EQ(levels.of(Part::kDefaultPool).after(60).peak_percent, 0);
}

TEST(Parts, RestIsNotKnownWherePoolsChangeMeanwhile) {
  PartLevels levels;
  levels.add(0, parts_of(1, 1, 10));
  Parts torn = parts_of(1, 1, 42);
  torn.is_at_once = false;
  levels.add(1, torn);
  EXPECT_EQ(levels.of(Part::kRest).after(0).peak, 10 * kMega);
  EXPECT_EQ(levels.of(Part::kWhole).after(0).peak, 44 * kMega);
}

/// Crowds come again: whatever is kept between two of them stands above the peak of those before.
TEST(Parts, ALeakUnderTheCrowdsPeakShowsAtTheNextCrowd) {
  PartLevels levels;
  for (int t = 0; t <= 300; ++t) levels.add(t, parts_of(t % 15 == 0 ? 1200 : 100, 1000, 1000 + t / 5));
  EXPECT_GT(levels.of(Part::kWhole).after(60).peak_percent, 1);
  EXPECT_EQ(levels.grown_after(60), "rest by 48.0 MiB");
}

}  // namespace
}  // namespace gpu_soak
