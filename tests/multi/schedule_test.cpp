// SPDX-License-Identifier: MIT
#include "multi/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
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

// A step that does not use its place, for its C lies where the device has it, must not hide who used it before: C came to a place that had not been
// left.
TEST(Schedule, PlacesOfCAreFreeBehindTheLastThatLeavesThem) {
  const std::vector<Rect> blocks = cut_block({0, 0, 900, 1000}, 3, 5);
  for (const int c_places : {2, 3, 15}) {
    const std::vector<Step> steps = make_steps(blocks, 3, 2, 2, c_places);
    for (unsigned pattern = 0; pattern < 200; ++pattern) {
      PlacesOfC places(c_places);
      std::map<int, int> in_place;  // whose C lies there last, and leaves
      for (int s = 0; s < static_cast<int>(steps.size()); ++s) {
        const Step& step = steps[static_cast<std::size_t>(s)];
        const auto last = in_place.find(step.c_place);
        EXPECT_EQ(places.free_after(step.c_place), last == in_place.end() ? kNoStep : last->second) << s;
        // Of some blocks C is in place, in all passes; and some passes leave all of them, others a part.
        const bool is_staged = (0x9E3779B9U * (pattern + 1) >> step.block % 31 & 1U) != 0;
        const bool leaves = is_staged && (s * 7 + static_cast<int>(pattern)) % 3 != 0;
        if (!leaves) continue;
        places.leaves(step.c_place, s);
        in_place[step.c_place] = s;
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

/// Arrivals of one pass over blocks, A before B before C, whose places all steps use.
[[nodiscard]] std::vector<Arrival> arrivals_of(const std::vector<Step>& steps, std::size_t first, std::size_t count,
                                               bool brings_c, bool holds_host) {
  std::vector<Arrival> arrivals;
  PlacesOfC places(static_cast<int>(steps.size()));
  for (std::size_t s = 0; s < first; ++s) places.leaves(steps[s].c_place, static_cast<int>(s));
  for (std::size_t s = first; s < first + count; ++s) {
    const Step& step = steps[s];
    const auto add = [&](Coming what, int free_after) {
      arrivals.push_back(
          {.step = static_cast<int>(s), .what = what, .free_after = free_after, .holds_host = holds_host});
    };
    if (step.a.is_loaded) add(Coming::kA, step.a.free_after);
    if (step.b.is_loaded) add(Coming::kB, step.b.free_after);
    if (brings_c) add(Coming::kC, places.free_after(step.c_place));
    places.leaves(step.c_place, static_cast<int>(s));
  }
  time_arrivals(arrivals, static_cast<int>(first));
  return arrivals;
}

/// What is asked for waits for events that others have recorded by then: kernels of step s are asked for at stage s, and C
/// of step s leaves at stage s + 1, behind the kernels there.
TEST(Schedule, WhatComesIsAskedForBehindWhatItWaitsFor) {
  for (const auto& [row_parts, col_parts, a_places, b_places, c_places] :
       {std::array{1, 4, 1, 2, 2}, {3, 5, 2, 2, 2}, {3, 5, 3, 5, 15}, {1, 1, 1, 1, 1}, {5, 1, 1, 1, 2}}) {
    const std::vector<Rect> blocks = cut_block({0, 0, 900, 1000}, row_parts, col_parts);
    const std::vector<Step> steps = make_steps(blocks, 3, a_places, b_places, c_places);
    const bool is_resident = c_places == static_cast<int>(blocks.size());
    for (std::size_t pass = 0; pass < 3; ++pass) {
      const auto first = static_cast<int>(pass * blocks.size());
      for (const bool holds_host : {false, true}) {
        int before = first;
        for (const Arrival& arrival :
             arrivals_of(steps, pass * blocks.size(), blocks.size(), /*brings_c=*/true, holds_host)) {
          EXPECT_GE(arrival.ask_from, before) << "what comes first is asked for first";
          EXPECT_LE(arrival.ask_from, arrival.step) << "kernels of the step wait for it";
          if (arrival.free_after >= first) {
            EXPECT_GT(arrival.ask_from, arrival.free_after + (arrival.what == Coming::kC ? 1 : 0));
          }
          if (holds_host) {
            EXPECT_EQ(arrival.ask_from, arrival.step);
          } else if (is_resident) {
            EXPECT_EQ(arrival.ask_from, first) << "nothing is in the way";
          }
          before = arrival.ask_from;
        }
      }
    }
  }
}

/// In two places the panel of the next step comes beside the products of this one.
TEST(Schedule, WhatComesIsAskedForAStepAhead) {
  const std::vector<Rect> blocks = cut_block({0, 0, 900, 1000}, 1, 4);
  const std::vector<Arrival> arrivals = arrivals_of(make_steps(blocks, 1, 1, 2, 2), 0, 4, false, false);
  ASSERT_EQ(arrivals.size(), 5U);
  const int ask_from[] = {0, 0, 0, 1, 2};
  for (std::size_t i = 0; i < arrivals.size(); ++i) EXPECT_EQ(arrivals[i].ask_from, ask_from[i]) << i;
}

}  // namespace
}  // namespace kizami::multi
