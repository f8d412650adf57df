// SPDX-License-Identifier: MIT
#include "multi/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "multi/blocks.hpp"

namespace kizami::multi {
namespace {

using Range = std::pair<std::int64_t, std::int64_t>;

/// Carries the steps out: what a place holds is what the step wants, and is not overwritten under a step before.
void expect_sound(const std::vector<Rect>& blocks, int passes, int a_places, int b_places, int c_places,
                  PanelsOfB of_b = PanelsOfB::kOfB) {
  const std::vector<Step> steps = make_steps(blocks, passes, a_places, b_places, c_places, of_b);
  ASSERT_EQ(steps.size(), blocks.size() * static_cast<std::size_t>(passes));
  struct Place {
    Range panel;
    int loaded_by = kNoStep;
    int last_use = kNoStep;
  };
  std::map<int, Place> a;
  std::map<int, Place> b;
  std::map<int, int> c;
  std::map<int, int> times;
  const auto use = [](std::map<int, Place>& places, int count, const PanelUse& panel, const Range& wanted, int step) {
    ASSERT_LT(panel.place, count);
    Place& place = places[panel.place];
    if (panel.is_loaded) {
      EXPECT_EQ(panel.free_after, place.last_use);
      EXPECT_EQ(panel.loaded_by, step);
      place.panel = wanted;
      place.loaded_by = step;
    }
    EXPECT_EQ(place.panel, wanted);
    EXPECT_EQ(panel.loaded_by, place.loaded_by);
    place.last_use = step;
  };
  for (int s = 0; s < static_cast<int>(steps.size()); ++s) {
    const Step& step = steps[static_cast<std::size_t>(s)];
    const Rect& block = blocks[static_cast<std::size_t>(step.block)];
    use(a, a_places, step.a, {block.row, block.rows}, s);
    const bool is_mirrored = of_b == PanelsOfB::kOfA;
    use(is_mirrored ? a : b, is_mirrored ? a_places : b_places, step.b, {block.col, block.cols}, s);
    ASSERT_LT(step.c_place, c_places);
    EXPECT_EQ(step.c_free_after, c.contains(step.c_place) ? c[step.c_place] : kNoStep);
    c[step.c_place] = s;
    ++times[step.block];
  }
  for (const auto& [block, count] : times) EXPECT_EQ(count, passes) << block;
}

[[nodiscard]] int loads(const std::vector<Step>& steps) {
  int count = 0;
  for (const Step& step : steps) count += (step.a.is_loaded ? 1 : 0) + (step.b.is_loaded ? 1 : 0);
  return count;
}

TEST(Schedule, StepsFindTheirPanels) {
  for (const int row_parts : {1, 2, 3}) {
    for (const int col_parts : {1, 2, 5}) {
      const std::vector<Rect> blocks = cut_block({0, 0, 900, 1000}, row_parts, col_parts);
      for (const int passes : {1, 2, 4}) {
        expect_sound(blocks, passes, 1, 1, 1);
        expect_sound(blocks, passes, 1, 2, 2);
        expect_sound(blocks, passes, 2, 2, 2);
        expect_sound(blocks, passes, row_parts, col_parts, static_cast<int>(blocks.size()));
      }
    }
  }
}

TEST(Schedule, PanelsWithAPlaceOfTheirOwnAreLoadedOnce) {
  const std::vector<Rect> blocks = cut_block({0, 0, 900, 1000}, 3, 4);
  const PanelCounts panels = count_panels(blocks);
  EXPECT_EQ(panels.a, 3);
  EXPECT_EQ(panels.b, 4);
  EXPECT_EQ(loads(make_steps(blocks, 4, panels.a, panels.b, 12)), 7);
}

/// Panels of a mirrored A are lines of A, in its places; the one of a block on the diagonal is brought once.
TEST(Schedule, AMirroredAHasNoPlacesOfItsOwn) {
  std::vector<Rect> blocks = {{0, 0, 1000, 1000}};
  for (int times = 0; times < 3; ++times) {
    for (const int passes : {1, 2, 4}) {
      const PanelCounts panels = count_panels(blocks, PanelsOfB::kOfA);
      EXPECT_EQ(panels.b, 0);
      for (const int places : {2, 3, 4, std::max(panels.a, 2)})
        expect_sound(blocks, passes, places, 0, 2, PanelsOfB::kOfA);
      EXPECT_EQ(loads(make_steps(blocks, passes, std::max(panels.a, 2), 0, 2, PanelsOfB::kOfA)), panels.a);
    }
    std::vector<Rect> halves;
    for (const Rect& block : blocks) {
      for (const Rect& half : halve_block(block)) halves.push_back(half);
    }
    blocks = halves;
  }
  EXPECT_EQ(loads(make_steps(std::vector<Rect>{{700, 700, 300, 300}, {700, 0, 300, 700}}, 4, 2, 0, 2, PanelsOfB::kOfA)),
            2);
}

TEST(Schedule, PassesGoToAndFro) {
  // One panel of A that stays, four of B in two places: the second pass begins with the two that are there.
  const std::vector<Rect> blocks = cut_block({0, 0, 900, 1000}, 1, 4);
  EXPECT_EQ(loads(make_steps(blocks, 1, 1, 2, 2)), 5);
  EXPECT_EQ(loads(make_steps(blocks, 2, 1, 2, 2)), 7);
}

}  // namespace
}  // namespace kizami::multi
