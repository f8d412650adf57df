// SPDX-License-Identifier: MIT
// What follows from options and a report alone.
#include <algorithm>
#include <cstdio>
#include <numeric>

#include "gpu_soak/soak.hpp"

namespace gpu_soak {

std::int64_t Report::num_calls() const { return std::accumulate(calls.begin(), calls.end(), std::int64_t{0}); }

std::string options_of_cases(const Options& options) {
  const Wishes& w = options.wishes;
  const Limits standard;
  std::string text;
  char number[32];
  std::snprintf(number, sizeof number, "%g", w.limits.phi_max);
  if (w.limits.types != standard.types) text += " --types " + w.limits.types;
  if (w.limits.max_size != standard.max_size) text += " --max-size " + std::to_string(w.limits.max_size);
  if (w.limits.phi_max != standard.phi_max) text += std::string(" --phi-max ") + number;
  if (w.limits.large_every != 0) text += " --large " + std::to_string(w.limits.large_every);
  if (!(w.limits.features == standard.features)) text += " --features " + w.limits.features.text();
  if (w.standard.bits != 0) text += " --accuracy-bits " + std::to_string(w.standard.bits);
  if (w.standard.is_emulated) text += " --emulated";
  if (w.wants_same_bits) text += " --same-bits";
  return text;
}

double settled_after(const Options& options, const Report& report) {
  return std::min(std::max(options.settled_after, report.all_met), report.seconds / 2);
}

}  // namespace gpu_soak
