// SPDX-License-Identifier: MIT
#include "gpu_soak/crowd.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace gpu_soak {
namespace {

enum class Measure : std::uint8_t { kVolume, kOperands, kResult, kLength };

std::int64_t measured(const Section& s, Measure measure) {
  if (s.alpha == 0.0 || s.m == 0 || s.n == 0) return 0;  // nothing is multiplied
  switch (measure) {
    case Measure::kVolume:
      return s.m * s.n * s.k;
    case Measure::kOperands:
      return (s.m + s.n) * s.k;
    case Measure::kResult:
      return s.k == 0 ? 0 : s.m * s.n;
    default:
      return s.k;
  }
}

}  // namespace

std::vector<std::uint64_t> crowd_seeds(const std::vector<std::uint64_t>& population, const Limits& limits) {
  struct Largest {
    std::int64_t size = 0;
    std::uint64_t seed = 0;
  };
  using Family = std::tuple<Measure, bool, kizami::Scalar, int>;
  std::map<Family, Largest> largest;
  for (const std::uint64_t seed : population) {
    const Case x = draw_case(seed, limits);
    if (x.workspace_bytes > 0 || x.num_products() > kMostProductsOfCrowds) continue;
    const auto enter = [&](Measure measure, int routine) {
      std::int64_t size = 0;
      for (const Section& s : x.sections) size = std::max(size, measured(s, measure));
      if (size == 0) return;
      Largest& known = largest[{measure, x.num_replays > 0, x.scalar, routine}];
      if (size > known.size) known = {size, seed};
    };
    enter(Measure::kVolume, static_cast<int>(x.routine));
    if (is_level3(x.routine)) continue;
    for (const Measure measure : {Measure::kOperands, Measure::kResult, Measure::kLength}) enter(measure, -1);
  }
  std::vector<std::uint64_t> seeds;
  for (const auto& [family, found] : largest) {
    if (std::find(seeds.begin(), seeds.end(), found.seed) == seeds.end()) seeds.push_back(found.seed);
  }
  return seeds;
}

void Rounds::note(std::size_t i, const Parts& parts) {
  most_used_ = std::max(most_used_, parts.used_workspaces);
  if (!is_first_) return;
  const auto enter = [&](std::size_t measure, std::int64_t bytes) {
    if (bytes > most_[measure].bytes) most_[measure] = {bytes, i};
  };
  for (std::size_t p = 0; p < kNumParts; ++p) {
    const auto part = static_cast<Part>(p);
    if (part != Part::kRest || parts.is_at_once) enter(p, parts.of(part));
  }
  enter(kNumParts, parts.used_workspaces);
}

void Rounds::end_crowd() {
  if (!std::exchange(is_first_, false)) return;
  std::vector<std::size_t> kept;
  for (const Most& most : most_) {
    if (most.bytes > 0) kept.push_back(most.round);
  }
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  std::vector<std::uint64_t> seeds;
  for (const std::size_t i : kept) seeds.push_back(seeds_[i]);
  seeds_ = std::move(seeds);
}

Crowd::Crowd(int threads, std::vector<std::uint64_t> seeds, Actions actions)
    : actions_(std::move(actions)),
      is_empty_(seeds.empty()),
      rounds_(std::move(seeds)),
      num_present_(threads),
      drained_(threads, Completion{this, &Crowd::hold_back}),
      issued_(threads, Completion{this, &Crowd::look_and_let_go}),
      ended_(threads, Completion{this, &Crowd::end}) {
  counts_.rounds = static_cast<int>(rounds_.seeds().size());
}

Crowd::Counts Crowd::counts() const {
  Counts counts = counts_;
  counts.crowds = num_crowds_;
  counts.used_workspaces = rounds_.most_used_workspaces();
  return counts;
}

void Crowd::run(const std::function<void()>& drain,
                const std::function<void(std::uint64_t seed, bool is_on_all)>& issue) {
  const std::vector<std::uint64_t> seeds = rounds_.seeds();  // which change when all threads have come to the end
  const bool is_first = rounds_.is_first();
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    if (is_first) {  // a kernel is loaded at its first use, and that may wait for the device
      drain();
      issue(seeds[i], false);
    }
    for (bool is_done = false; !is_done;) {
      drain();
      round_ = i;
      drained_.arrive_and_wait();
      issue(seeds[i], true);
      issued_.arrive_and_wait();
      is_done = was_at_once_ || num_tries_ == 0;
    }
  }
  drain();
  ended_.arrive_and_wait();
}

void Crowd::leave() {
  --num_present_;
  drained_.arrive_and_drop();
  issued_.arrive_and_drop();
  ended_.arrive_and_drop();
}

void Crowd::hold_back() {
  if (num_present_ > 0 && num_vain_rounds_ < kMostVainRounds) actions_.hold_back();
}

void Crowd::look_and_let_go() {
  if (num_present_ == 0) return;
  rounds_.note(round_, actions_.look());
  was_at_once_ = num_vain_rounds_ < kMostVainRounds && actions_.let_go();
  if (was_at_once_) {
    num_tries_ = num_vain_rounds_ = 0;
    return;
  }
  const bool is_given_up = num_vain_rounds_ >= kMostVainRounds;
  if (!is_given_up && ++num_tries_ < kMostTries) return;
  num_tries_ = 0;  // on to the next round
  ++counts_.not_at_once;
  num_vain_rounds_ = std::min(num_vain_rounds_ + 1, kMostVainRounds);
}

void Crowd::end() {
  if (num_present_ == 0) return;
  rounds_.end_crowd();
  counts_.later_rounds = static_cast<int>(rounds_.seeds().size());
  ++num_crowds_;
}

}  // namespace gpu_soak
