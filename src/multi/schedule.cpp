// SPDX-License-Identifier: MIT
#include "multi/schedule.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

namespace kizami::multi {
namespace {

using Range = std::pair<std::int64_t, std::int64_t>;

/// Places of one operand's panels.
class Places {
 public:
  explicit Places(int count) : places_(static_cast<std::size_t>(count)) {}

  PanelUse take(const Range& panel, int step) {
    auto found = std::find_if(places_.begin(), places_.end(),
                              [&](const Place& place) { return place.last_use != kNoStep && place.panel == panel; });
    PanelUse use;
    if (found == places_.end()) {
      found = std::min_element(places_.begin(), places_.end(),
                               [](const Place& x, const Place& y) { return x.last_use < y.last_use; });
      use.is_loaded = true;
      use.free_after = found->last_use;
      found->panel = panel;
      found->loaded_by = step;
    }
    use.loaded_by = found->loaded_by;
    use.place = static_cast<int>(found - places_.begin());
    found->last_use = step;
    return use;
  }

 private:
  struct Place {
    Range panel;
    int loaded_by = kNoStep;
    int last_use = kNoStep;
  };
  std::vector<Place> places_;
};

}  // namespace

std::vector<Step> make_steps(std::span<const Rect> blocks, int num_passes, int a_places, int b_places, int c_places,
                             PanelsOfB of_b) {
  Places a(a_places);
  Places b(b_places);
  std::vector<Step> steps;
  const auto num_blocks = static_cast<int>(blocks.size());
  for (int pass = 0; pass < num_passes; ++pass) {
    for (int i = 0; i < num_blocks; ++i) {
      Step step;
      step.block = pass % 2 == 0 ? i : num_blocks - 1 - i;
      const Rect& block = blocks[static_cast<std::size_t>(step.block)];
      const auto number = static_cast<int>(steps.size());
      step.a = a.take({block.row, block.rows}, number);
      step.b = (of_b == PanelsOfB::kOfA ? a : b).take({block.col, block.cols}, number);
      step.c_place = c_places >= num_blocks ? step.block : number % c_places;
      steps.push_back(step);
    }
  }
  return steps;
}

void time_arrivals(std::span<Arrival> arrivals, int first_step) {
  int ask_from = first_step;
  for (Arrival& arrival : arrivals) {
    if (arrival.free_after >= first_step)  // what passes before had is enqueued
      ask_from = std::max(ask_from, arrival.free_after + (arrival.what == Coming::kC ? 2 : 1));
    if (arrival.holds_host) ask_from = std::max(ask_from, arrival.step);
    arrival.ask_from = ask_from;
  }
}

PanelCounts count_panels(std::span<const Rect> blocks, PanelsOfB of_b) {
  std::set<Range> rows;
  std::set<Range> cols;
  for (const Rect& block : blocks) {
    rows.insert({block.row, block.rows});
    (of_b == PanelsOfB::kOfA ? rows : cols).insert({block.col, block.cols});
  }
  return {static_cast<int>(rows.size()), static_cast<int>(cols.size())};
}

}  // namespace kizami::multi
